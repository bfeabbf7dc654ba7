// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>

#include <vector>

namespace cubinet {

// An unpacked image of a fatbinary.
struct FatbinElement {
  ImageKind kind = ImageKind::cubin;
  Bytes image;  // PTX has no trailing NULs
};

// Returns whether the bytes begin like a fatbinary.
bool is_fatbin(ByteView file);

// Returns the unpacked cubins and PTX of a fatbinary (`nvcc --fatbin`, `fatbinary`). They may be
// stored plainly or packed by LZ4 or zstd. Any bytes give elements or an error, in at most 256 MiB
// of memory in addition to the elements. Errors: corruption for malformed bytes; unsupported for an
// unknown container or packing; invalid_argument, which names the existing elements, if there is
// neither a cubin nor PTX.
Result<std::vector<FatbinElement>> read_fatbin(ByteView file);

}  // namespace cubinet
