// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/imports.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {

// The files of an import by digest. Refers to the files, which must not move.
class FileIndex {
 public:
  FileIndex() = default;
  explicit FileIndex(std::span<const ArtifactFile> files);

  // Returns the first file with this digest, or nullptr.
  const ArtifactFile* find(const Sha256Digest& digest) const;

 private:
  // Returns the slot of this digest's file, or the free slot for it. REQUIRES: there are slots.
  std::size_t slot_of(const Sha256Digest& digest) const;

  std::span<const ArtifactFile> files_;
  // Open addressing, a power of two of slots. A slot is a file's index + 1; 0 is free.
  std::vector<std::uint32_t> slots_;
};

}  // namespace cubinet
