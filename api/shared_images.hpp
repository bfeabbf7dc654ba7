// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "single_flight.hpp"

#include <cubinet/spec/cubin.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace cubinet {

// The verified images that one device has loaded and another may load, by digest, so that an image
// is read and checked once for all devices. An image is kept until it is loaded on each device of
// its kind, within a limit of bytes: the least recently loaded go first. Thread-safe.
class SharedImages {
 public:
  explicit SharedImages(std::uint64_t limit = std::uint64_t{32} << 20) : limit_(limit) {}

  // Returns the record's image from those in use or kept, or else the result of `read`, which
  // returns Result<std::optional<Cubin>>. Concurrent reads of one image from one store are merged.
  template <class Read>
  Result<std::optional<Cubin>> get(const std::shared_ptr<const CubinRecord>& record, std::size_t store,
                                   const Read& read) {
    CUBINET_TRY_ASSIGN(auto image, reads_.run({record->digest, store}, [&]() -> Result<Image> {
      if (auto known = find(record->digest)) return known;
      CUBINET_TRY_ASSIGN(auto cubin, read());
      if (!cubin) return Image();
      note_read(record->digest, cubin->image);
      return cubin->image;
    }));
    if (image == nullptr) return std::optional<Cubin>();
    return std::optional(Cubin{record, std::move(image)});
  }
  // Notes that a device has loaded the image, which is kept if fewer than `devices` have done so.
  void note_loaded(const Cubin& cubin, int device, std::size_t devices);
  // Drops all images that are kept.
  void clear();
  std::uint64_t bytes() const;  // of the images that are kept

 private:
  using Image = std::shared_ptr<const Bytes>;

  struct Entry {
    std::weak_ptr<const Bytes> image;  // also of one that is being loaded
    Image kept;
    std::set<int> loaded;  // the devices
    std::uint64_t loaded_at = 0;
  };

  Image find(const Sha256Digest& digest) const;
  void note_read(const Sha256Digest& digest, const Image& image);
  void evict();  // REQUIRES: the mutex is held

  const std::uint64_t limit_;
  SingleFlight<std::pair<Sha256Digest, std::size_t>, Image> reads_;
  mutable std::mutex mutex_;
  std::map<Sha256Digest, Entry> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t loads_ = 0;
};

}  // namespace cubinet
