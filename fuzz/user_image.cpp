// SPDX-License-Identifier: Apache-2.0
// Reads a cubin, PTX or fatbinary that a user adds, including parts compressed by LZ4 or zstd.
#include "fuzz.hpp"

#include <cubinet/spec/user_image.hpp>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  const auto spec = spec_of_user_image("kernel", bytes);
  if (spec) static_cast<void>(builds_of_user_image(*spec, bytes));
}

}  // namespace cubinet::fuzz
