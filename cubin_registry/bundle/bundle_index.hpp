// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// All of a bundle that stands before its frames, as it is written.
struct BundleIndex {
  BundleMap map;
  Bytes root;
  std::vector<Bytes> pages;  // the branches in the order of the tables, and the pages behind them
};

// The entries of a table, in order. `images` is what the table of images is made of.
std::vector<TableEntry> table_entries(BundleTable table, const CubinRecords& records,
                                      const std::vector<BundleImage>& images);

// Sets the fields of a root that follow from its content: targets, tools and counts. `packer` is the release
// of libzstd that packed the bundle. It is ignored for the profile `plain`.
void describe_content(BundleRoot& root, const CubinRecords& records, const std::vector<BundleImage>& images,
                      const std::string& packer);

// The pages of each table. Offsets count from the first page.
using TablePages = std::array<std::vector<BundlePage>, kBundleTables>;
// Encodes the branches to these pages and the root. Uses the smallest branches that keep the root within its
// limit, and returns invalid_argument if there are none. `pages` of the result has the branches alone.
Result<BundleIndex> index_pages(BundleMap map, const TablePages& tables);

// REQUIRES: records in bundle_order, marked as this bundle's; images ascending by digest, those that the
// records name. invalid_argument for what is above the limits.
Result<BundleIndex> make_index(const BundleOptions& options, const CubinRecords& records,
                               const std::vector<BundleImage>& images, ByteView dictionary, ByteView tuning,
                               std::uint64_t frames_bytes);

}  // namespace cubinet
