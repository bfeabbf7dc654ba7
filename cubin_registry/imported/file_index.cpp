// SPDX-License-Identifier: Apache-2.0
#include "imported/file_index.hpp"

#include <bit>
#include <cstring>

namespace cubinet {

FileIndex::FileIndex(std::span<const ArtifactFile> files)
    : files_(files), slots_(std::bit_ceil(2 * files.size() + 1)) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::uint32_t& slot = slots_[slot_of(files[i].digest)];
    if (slot == 0) slot = static_cast<std::uint32_t>(i + 1);
  }
}

const ArtifactFile* FileIndex::find(const Sha256Digest& digest) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t slot = slots_[slot_of(digest)];
  return slot == 0 ? nullptr : &files_[slot - 1];
}

// Any eight bytes of a SHA-256 are a hash. Ends: at most half of the slots are taken.
std::size_t FileIndex::slot_of(const Sha256Digest& digest) const {
  std::size_t slot = 0;
  std::memcpy(&slot, digest.bytes.data(), sizeof(slot));
  for (slot &= slots_.size() - 1;; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0 || files_[slots_[slot] - 1].digest == digest) return slot;
  }
}

}  // namespace cubinet
