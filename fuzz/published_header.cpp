// SPDX-License-Identifier: Apache-2.0
// Reads a published folder: the header that lists its kernels, and the list of its files.
#include "fuzz.hpp"

#include <cubinet/artifacts/checksums.hpp>
#include <cubinet/kernel_table/metadata_header.hpp>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  static_cast<void>(read_metadata_header(as_text(bytes)));
  static_cast<void>(read_checksums(as_text(bytes)));
}

}  // namespace cubinet::fuzz
