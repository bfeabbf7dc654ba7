// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>

#include <vector>

namespace cubinet {

// One image of a fatbinary, as it was before it was packed.
struct FatbinElement {
  ImageKind kind = ImageKind::cubin;
  Bytes image;  // of PTX without trailing NULs
};

// Whether the bytes begin as a fatbinary does.
bool is_fatbin(ByteView file);

// The cubins and PTX of a fatbinary (`nvcc --fatbin`, `fatbinary`), unpacked: stored as they are, by LZ4 or
// by zstd. Any bytes give elements or an error, in memory of at most 256 MiB beside them: corruption for what
// is not well formed, unsupported for a container or a packing that is not known here, invalid_argument where
// there is neither cubin nor PTX, which names what there is.
Result<std::vector<FatbinElement>> read_fatbin(ByteView file);

}  // namespace cubinet
