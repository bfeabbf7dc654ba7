// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"

#include <cstdint>
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

// What a root says of these records: targets and compilers, ascending.
std::vector<std::string> targets_of(const CubinRecords& records);
std::vector<std::string> toolchain_of(const CubinRecords& records, BundleProfile profile);

// REQUIRES: records in bundle_order, marked as this bundle's; images ascending by digest, those that the
// records name. invalid_argument for what is above the limits.
Result<BundleIndex> make_index(const BundleOptions& options, const CubinRecords& records,
                               const std::vector<BundleImage>& images, ByteView dictionary, ByteView tuning,
                               std::uint64_t frames_bytes);

}  // namespace cubinet
