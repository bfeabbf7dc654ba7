// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet {

// The contents of an image, which is machine code or PTX.
struct ImageReport {
  ImageKind kind = ImageKind::cubin;
  std::string target;       // "sm_90a", "compute_90a", or "sm_100?" if the suffix is unknown
  std::string ptx_version;  // of PTX
  CubinReport content;
  bool relocatable = false;  // if true, the cubin must be linked before a driver can load it
};

// Returns corruption for a damaged image, and invalid_argument for a file that is no image.
Result<ImageReport> report_image(const Bytes& image);

// In the following functions, `record` may be null.

// Returns the entry point with a symbol of the image; nullptr if the record has none.
const EntryPoint* entry_of(const CubinRecord* record, const std::string& symbol);
// Returns the C++ name under which a variable was requested; empty if it was not requested.
std::string declared_name(const ImageGlobal& global, const CubinRecord* record);
// Returns the texts of at least four characters in the bytes of a note. ptxas writes its name,
// version and options as such texts.
std::string texts_in(ByteView bytes);

// The record adds facts that the image does not state: the specification and the dynamic shared
// memory.
nlohmann::json describe(const ImageReport& report, const CubinRecord* record);

}  // namespace cubinet
