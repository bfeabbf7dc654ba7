// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"
#include "bundle/page_cache.hpp"
#include "bundle/zstd_frame.hpp"

#include <cubinet/base/callback.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cubinet {

// A record of a bundle and the location of its image.
struct BundleEntry {
  std::shared_ptr<const CubinRecord> record;
  BundleImage image;
};

// The bytes of a bundle, read in parts on demand. Each part is compared with the digest that leads
// to it before it is parsed. Errors name the part and the location. Thread-safe.
class BundlePack {
 public:
  // Opens a bundle by reading only its root. `check`, if set, gets the root's bytes before they are
  // parsed.
  using RootCheck = Callback<Result<void>(ByteView root)>;
  static Result<std::shared_ptr<const BundlePack>> open(std::shared_ptr<const ByteSource> source,
                                                        const RootCheck& check = {});
  BundlePack(std::shared_ptr<const ByteSource> source, BundleMap map, Bytes root)
      : source_(std::move(source)), map_(std::move(map)), root_(std::move(root)) {}

  const BundleMap& map() const { return map_; }
  ByteView root_bytes() const { return root_; }
  const ByteSource& source() const { return *source_; }

  using Page = std::shared_ptr<const Bytes>;
  // Returns the pages of a branch of a table.
  Result<std::vector<BundlePage>> pages_of(BundleTable table, const BundlePage& branch) const;
  // Reads and unpacks a page. The result has passed check_page().
  Result<Page> read_page(BundleTable table, const BundlePage& page) const;
  // Returns the page from the cache of recently read pages, or else by read_page().
  Result<Page> page(BundleTable table, const BundlePage& page) const;
  // Calls `give` with every page of records, in order. Returns an error (corruption) unless they
  // are contiguous from the beginning of the pages.
  Result<void> each_page_of_records(const Callback<Result<void>(ByteView page)>& give) const;

  // Returns the location of a frame.
  BytePart part_of(const BundleImage& image) const;

  // Decode an entry of records.
  Result<BundleEntry> decode(ByteView entry) const;
  Result<BundleImage> place_in(ByteView entry) const;
  // Find the image of this record or another of its kernel. nullopt: it is not in this bundle.
  Result<std::optional<BundleImage>> find_image(const CubinRecord& record) const;
  Result<Bytes> read_image(const BundleImage& image) const;
  // Return the stored bytes, unverified, and their content, a part of which read_image() returns.
  Result<Bytes> read_stored(const BundleImage& image) const;
  Result<Bytes> unpack(const BundleImage& image, ByteView stored) const;
  // Reads and verifies the dictionary. Empty if there is none.
  Result<Bytes> read_dictionary() const;
  Result<TuningTable> read_tuning() const;  // empty if there is none
  // Returns all images, each once, ascending by digest. Returns an error (corruption) if their
  // frames unpack to more bytes than the root states.
  Result<std::vector<BundleImage>> images() const;

  // Returns `error` with the bundle's location, and a remedy if it has none.
  Error at_place(Error error) const;

 private:
  // Reads a page with the right digest.
  Result<Bytes> read_whole(const BundlePage& page) const;
  Result<Bytes> read_exactly(const BytePart& part) const;
  Result<std::shared_ptr<const ZstdDictionary>> dictionary() const;
  Result<Bytes> read_frame(const BundleImage& image) const;
  Result<std::shared_ptr<const Bytes>> read_group(const BundleImage& image) const;

  const std::shared_ptr<const ByteSource> source_;
  const BundleMap map_;
  const Bytes root_;
  mutable PageCache pages_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::shared_ptr<const ZstdDictionary> dictionary_;
  // The last frame with several images, so that reading its images in turn unpacks it once.
  mutable std::shared_ptr<const Bytes> last_group_;
  mutable Sha256Digest last_group_digest_;
};

}  // namespace cubinet
