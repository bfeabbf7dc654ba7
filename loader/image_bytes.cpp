// SPDX-License-Identifier: Apache-2.0
#include "image_bytes.hpp"

#include <cubinet/base/elf.hpp>

#include <elf.h>

namespace cubinet {

std::uint64_t device_bytes(const CubinRecord& record, ByteView image) {
  if (record.kind != ImageKind::cubin) return image.size();
  const auto elf = ElfImage::parse(image);
  if (!elf) return image.size();
  std::uint64_t bytes = 0;
  for (const ElfSection& section : elf->sections()) {
    if ((section.flags & SHF_ALLOC) == 0 || section.name.starts_with(".nv.shared")) continue;
    const std::uint64_t alignment = section.alignment == 0 ? 1 : section.alignment;
    bytes += (section.size + alignment - 1) / alignment * alignment;
  }
  return bytes;
}

}  // namespace cubinet
