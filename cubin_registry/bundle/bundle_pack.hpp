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

// A record as a bundle has it, and where its image lies.
struct BundleEntry {
  std::shared_ptr<const CubinRecord> record;
  BundleImage image;
};

// A bundle's bytes, read in the parts that are asked for, each checked against the digest that leads to it
// before anything in it is looked at. Errors name the part and the place. Thread-safe.
class BundlePack {
 public:
  // Reads the root and nothing else; `check`, where there is one, sees its bytes before anything in them is
  // looked at.
  using RootCheck = Callback<Result<void>(ByteView root)>;
  static Result<std::shared_ptr<const BundlePack>> open(std::shared_ptr<const ByteSource> source,
                                                        const RootCheck& check = {});
  BundlePack(std::shared_ptr<const ByteSource> source, BundleMap map, Bytes root)
      : source_(std::move(source)), map_(std::move(map)), root_(std::move(root)) {}

  const BundleMap& map() const { return map_; }
  ByteView root_bytes() const { return root_; }
  const ByteSource& source() const { return *source_; }

  using Page = std::shared_ptr<const Bytes>;
  // Where the pages lie that a branch of a table leads to.
  Result<std::vector<BundlePage>> pages_of(BundleTable table, const BundlePage& branch) const;
  // Unpacked; check_page() has passed.
  Result<Page> read_page(BundleTable table, const BundlePage& page) const;
  // Returns the page, from the pages that were read last if it is among them, else by read_page().
  Result<Page> page(BundleTable table, const BundlePage& page) const;
  // Gives every page of records, in order. corruption unless they are stored one behind the other, from where
  // pages begin.
  Result<void> each_page_of_records(const Callback<Result<void>(ByteView page)>& give) const;

  // Where a frame lies.
  BytePart part_of(const BundleImage& image) const;

  // Of an entry of records.
  Result<BundleEntry> decode(ByteView entry) const;
  Result<BundleImage> place_in(ByteView entry) const;
  // Of this record or another of its kernel; nullopt: it is not in this bundle.
  Result<std::optional<BundleImage>> find_image(const CubinRecord& record) const;
  Result<Bytes> read_image(const BundleImage& image) const;
  // What is stored of it, whatever it is worth; and its content, which read_image() takes a part of.
  Result<Bytes> read_stored(const BundleImage& image) const;
  Result<Bytes> unpack(const BundleImage& image, ByteView stored) const;
  // Verified; empty where there is none.
  Result<Bytes> read_dictionary() const;
  Result<TuningTable> read_tuning() const;  // empty where there is none
  // Returns all images, each once, ascending by digest. Returns an error (corruption) if their frames unpack
  // to more bytes than the root states.
  Result<std::vector<BundleImage>> images() const;

  // `error` with the place, and a remedy where it has none.
  Error at_place(Error error) const;

 private:
  // Its digest is right.
  Result<Bytes> read_whole(const BundlePage& page) const;
  Result<Bytes> read_exactly(const BytePart& part) const;
  Result<std::shared_ptr<const ZstdDictionary>> dictionary() const;
  Result<Bytes> read_frame(const BundleImage& image) const;
  Result<std::shared_ptr<const Bytes>> read_group(const BundleImage& image) const;

  const std::shared_ptr<const ByteSource> source_;
  const BundleMap map_;
  const Bytes root_;
  mutable PageCache pages_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<const ZstdDictionary> dictionary_;
  // The last frame of several images: whoever reads its images one after the other unpacks it once.
  mutable std::shared_ptr<const Bytes> last_group_;
  mutable Sha256Digest last_group_digest_;
};

}  // namespace cubinet
