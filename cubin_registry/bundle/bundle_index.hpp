// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// The parts of a bundle before its frames, encoded.
struct BundleIndex {
  BundleMap map;
  Bytes root;
  std::vector<Bytes> pages;  // the branches in the order of the tables, then the pages
};

// Returns the entries of a table, in order. The table of images is made of `images`.
std::vector<TableEntry> table_entries(BundleTable table, const CubinRecords& records,
                                      const std::vector<BundleImage>& images);

// Sets the fields of a root that follow from its content: targets, tools and counts. `packer` is
// the release of libzstd that packed the bundle; it is ignored for the profile `plain`.
void describe_content(BundleRoot& root, const CubinRecords& records, const std::vector<BundleImage>& images,
                      const std::string& packer);

// The pages of each table. Offsets count from the first page.
using TablePages = std::array<std::vector<BundlePage>, kBundleTables>;
// Encodes the branches to these pages and the root. Uses the smallest branches that keep the root
// within its limit, and returns an error (invalid_argument) if there are none. `pages` of the
// result contains only the branches.
Result<BundleIndex> index_pages(BundleMap map, const TablePages& tables);

// Encodes the whole index. Returns an error (invalid_argument) if a limit is exceeded. REQUIRES:
// records in bundle_order, marked as this bundle's; images ascending by digest, exactly those that
// the records name.
Result<BundleIndex> make_index(const BundleOptions& options, const CubinRecords& records,
                               const std::vector<BundleImage>& images, ByteView dictionary, ByteView tuning,
                               std::uint64_t frames_bytes);

}  // namespace cubinet
