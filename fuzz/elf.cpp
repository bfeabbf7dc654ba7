// SPDX-License-Identifier: Apache-2.0
// Reads an ELF file for the driver: sections, symbols, attributes, notes.
#include "fuzz.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_code.hpp>
#include <cubinet/spec/cubin_elf.hpp>
#include <cubinet/spec/image_check.hpp>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  const auto inspected = inspect_cubin(bytes);
  if (!inspected) return;
  static_cast<void>(release_of_cubin(bytes));
  static_cast<void>(read_cubin_code(bytes));
  for (const std::string& kernel : inspected->kernels)
    static_cast<void>(check_cubin(
        bytes, {inspected->capability.major, inspected->capability.minor, TargetKind::baseline}, {kernel}));
}

}  // namespace cubinet::fuzz
