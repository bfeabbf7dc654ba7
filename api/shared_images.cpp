// SPDX-License-Identifier: Apache-2.0
#include "shared_images.hpp"

#include <algorithm>

namespace cubinet {

SharedImages::Image SharedImages::find(const Sha256Digest& digest) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(digest);
  return entry == entries_.end() ? nullptr : entry->second.image.lock();
}

void SharedImages::note_read(const Sha256Digest& digest, const Image& image) {
  const std::lock_guard lock(mutex_);
  entries_[digest].image = image;
}

void SharedImages::note_loaded(const Cubin& cubin, int device, std::size_t devices) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[cubin.record->digest];
  entry.loaded.insert(device);
  entry.loaded_at = ++loads_;
  if (entry.loaded.size() < devices && entry.kept == nullptr) {
    entry.kept = cubin.image;
    entry.image = cubin.image;
    bytes_ += cubin.image->size();
  } else if (entry.loaded.size() >= devices) {
    if (entry.kept != nullptr) bytes_ -= entry.kept->size();
    entries_.erase(cubin.record->digest);
  }
  evict();
}

void SharedImages::evict() {
  // Images that were read, and then not loaded.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.image.expired(); });
  while (bytes_ > limit_) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.kept == nullptr) continue;
      if (oldest == entries_.end() || entry->second.loaded_at < oldest->second.loaded_at) oldest = entry;
    }
    bytes_ -= oldest->second.kept->size();
    entries_.erase(oldest);
  }
}

void SharedImages::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  bytes_ = 0;
}

std::uint64_t SharedImages::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace cubinet
