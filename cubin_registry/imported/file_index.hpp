// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/imports.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {

// The files of an import by their digests. Refers to them, and they must stay where they are.
class FileIndex {
 public:
  FileIndex() = default;
  explicit FileIndex(std::span<const ArtifactFile> files);

  // nullptr where no file has this digest; of several the first.
  const ArtifactFile* find(const Sha256Digest& digest) const;

 private:
  // The slot of this digest's file, or the free one where it would be. REQUIRES: there are slots.
  std::size_t slot_of(const Sha256Digest& digest) const;

  std::span<const ArtifactFile> files_;
  std::vector<std::uint32_t> slots_;  // a power of two, open addressing: a file's number and 1; 0 is free
};

}  // namespace cubinet
