// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet::cli {

// What the bytes of an image say: machine code or PTX.
struct ImageReport {
  ImageKind kind = ImageKind::cubin;
  std::string target;       // "sm_90a", "compute_90a", or "sm_100?" where the suffix cannot be told
  std::string ptx_version;  // of PTX
  CubinReport content;
  bool relocatable = false;  // a cubin that is yet to be linked, which no driver loads
};

// corruption for what is damaged, invalid_argument for what is another kind of file, which is
// named.
Result<ImageReport> report_image(const Bytes& image);

// `record`, where there is one, adds what an image does not state: the specification, dynamic
// shared memory.
nlohmann::json describe(const ImageReport& report, const CubinRecord* record);
std::string to_text(const ImageReport& report, const CubinRecord* record);

}  // namespace cubinet::cli
