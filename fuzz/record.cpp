// SPDX-License-Identifier: Apache-2.0
// Reads a record of a home or bundle, and the encoding of a kernel's identity. Encodes the result
// and compares it.
#include "fuzz.hpp"

#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <cstdlib>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  const auto record = decode_record(bytes);
  if (record && !decode_record(encode_record(*record))) std::abort();
  static_cast<void>(decode_kernel(bytes));
}

}  // namespace cubinet::fuzz
