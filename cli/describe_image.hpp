// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet::cli {

// The contents of an image, which is machine code or PTX.
struct ImageReport {
  ImageKind kind = ImageKind::cubin;
  std::string target;       // "sm_90a", "compute_90a", or "sm_100?" if the suffix is unknown
  std::string ptx_version;  // of PTX
  CubinReport content;
  bool relocatable = false;  // if true, the cubin must be linked before a driver can load it
};

// Returns corruption for a damaged image, and invalid_argument, with the kind of file, for other
// files.
Result<ImageReport> report_image(const Bytes& image);

// Each describes the image. `record` may be null. It adds facts that the image does not state: the
// specification and the dynamic shared memory.
nlohmann::json describe(const ImageReport& report, const CubinRecord* record);
std::string to_text(const ImageReport& report, const CubinRecord* record);

}  // namespace cubinet::cli
