// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_index.hpp"

#include "bundle/page_packing.hpp"
#include "bundle/zstd_frame.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <string>

namespace cubinet {
namespace {

constexpr BundleTable kTablesInOrder[] = {BundleTable::records, BundleTable::keys, BundleTable::names};

std::vector<std::string> in_order(const std::set<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

// Entries of keys or names: each once.
std::vector<TableEntry> pairs_in_order(const std::set<std::pair<std::uint64_t, std::uint64_t>>& pairs) {
  std::vector<TableEntry> entries;
  entries.reserve(pairs.size());
  for (const auto& [number, kernel_hash] : pairs)
    entries.push_back(encode_pair(number, kernel_hash));
  return entries;
}

// What a record's entry leads to.
BundleImage image_of(const CubinRecord& record, const std::vector<BundleImage>& images) {
  const auto found = std::lower_bound(
      images.begin(), images.end(), record.digest,
      [](const BundleImage& image, const Sha256Digest& digest) { return image.digest < digest; });
  return found != images.end() && found->digest == record.digest ? *found : BundleImage();
}

// The branches to pages, as full as so many bytes allow.
std::vector<FilledPage> fill_branches(std::span<const BundlePage> pages, std::uint32_t branch_bytes) {
  std::vector<SizedEntry> sizes;
  sizes.reserve(pages.size());
  for (const BundlePage& page : pages)
    sizes.push_back({page.first, kPageEntryBytes});
  std::vector<FilledPage> branches;
  std::size_t from = 0;
  for (const std::size_t to : cut_pages(sizes, branch_bytes - sizeof(std::uint64_t))) {
    branches.push_back({pages[from].first, encode_branch(pages.subspan(from, to - from))});
    from = to;
  }
  return branches;
}

Error too_much(const char* what) {
  return Error{ErrorCode::invalid_argument, std::string("a bundle cannot hold ") + what, "make several"};
}

}  // namespace

std::vector<TableEntry> table_entries(BundleTable table, const CubinRecords& records,
                                      const std::vector<BundleImage>& images) {
  std::vector<TableEntry> entries;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const auto& record : records) {
    const std::uint64_t kernel_hash = record->identity.kernel_hash();
    if (table == BundleTable::records) {
      entries.push_back(encode_entry(*record, image_of(*record, images)));
    } else if (table == BundleTable::keys) {
      pairs.emplace(record->identity.key().value, kernel_hash);
    } else {
      for (const std::string& name : names_of(*record))
        pairs.emplace(hash_of_name(name), kernel_hash);
    }
  }
  return table == BundleTable::records ? entries : pairs_in_order(pairs);
}

std::vector<std::string> targets_of(const CubinRecords& records) {
  std::set<std::string> targets;
  for (const auto& record : records)
    targets.insert(record->target_name());
  return in_order(targets);
}

std::vector<std::string> toolchain_of(const CubinRecords& records, BundleProfile profile) {
  std::set<std::string> tools;
  for (const auto& record : records) {
    if (!record->compiler.empty()) tools.insert(record->compiler);
  }
  if (profile != BundleProfile::plain) tools.insert(zstd_release());
  return in_order(tools);
}

Result<BundleIndex> make_index(const BundleOptions& options, const CubinRecords& records,
                               const std::vector<BundleImage>& images, ByteView dictionary, ByteView tuning,
                               std::uint64_t frames_bytes) {
  BundleIndex index;
  BundleRoot& root = index.map.root;
  root.options = options;
  root.targets = targets_of(records);
  root.toolchain = toolchain_of(records, options.profile);
  root.records = records.size();
  root.images = images.size();
  for (const BundleImage& image : images)
    root.image_bytes += image.size;
  index.map.dictionary_bytes = dictionary.size();
  if (!dictionary.empty()) index.map.dictionary = sha256(dictionary);
  index.map.tuning_bytes = tuning.size();
  if (!tuning.empty()) index.map.tuning = sha256(tuning);
  index.map.frames_bytes = frames_bytes;
  if (!index.map.images_fit()) {
    return Error{ErrorCode::invalid_argument,
                 "a bundle cannot hold images of " + std::to_string(root.image_bytes) +
                     " bytes in frames of " + std::to_string(frames_bytes),
                 "write it with the profile plain"};
  }

  std::array<std::vector<BundlePage>, kBundleTables> tables;
  std::vector<Bytes> pages;
  for (const BundleTable table : kTablesInOrder) {
    for (FilledPage& filled : fill_pages(table, table_entries(table, records, images), kPageBytes)) {
      if (filled.bytes.size() > kMaximumPageBytes) return too_much("so large a record");
      Bytes stored =
          is_packed(table, options.profile) ? pack_page(std::move(filled.bytes)) : std::move(filled.bytes);
      tables[static_cast<std::size_t>(table)].push_back(
          {filled.first, static_cast<std::uint32_t>(stored.size()), sha256(stored), index.map.pages_bytes});
      index.map.pages_bytes += stored.size();
      pages.push_back(std::move(stored));
    }
  }
  // The larger the branches, the fewer the root has to name.
  for (std::uint32_t branch_bytes = kBranchBytes;; branch_bytes *= 2) {
    if (branch_bytes > kMaximumBranchBytes) return too_much("so many targets, compilers or records");
    index.pages.clear();
    for (std::size_t table = 0; table < kBundleTables; ++table) {
      auto& branches = index.map.branches[table];
      branches.clear();
      for (FilledPage& filled : fill_branches(tables[table], branch_bytes)) {
        branches.push_back(
            {filled.first, static_cast<std::uint32_t>(filled.bytes.size()), sha256(filled.bytes)});
        index.pages.push_back(std::move(filled.bytes));
      }
    }
    index.root = encode_root(index.map);
    if (index.root.size() <= kMaximumRootBytes) break;
  }
  std::move(pages.begin(), pages.end(), std::back_inserter(index.pages));
  if (root.file_bytes > kMaximumBundleBytes) return too_much("more than 64 GiB");
  return index;
}

}  // namespace cubinet
