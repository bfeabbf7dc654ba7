// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/image_report.hpp>

#include <string>

namespace cubinet::cli {

// Returns the report of an image. The error for a bundle, a record or a cache entry names the kind
// of file and the command that reads it.
Result<ImageReport> inspect_image(const Bytes& image);

// Returns the report as text. `record` may be null.
std::string to_text(const ImageReport& report, const CubinRecord* record);

}  // namespace cubinet::cli
