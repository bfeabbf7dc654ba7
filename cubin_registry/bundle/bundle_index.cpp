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

// Returns the entries of keys or names, each once.
std::vector<TableEntry> pairs_in_order(const std::set<std::pair<std::uint64_t, std::uint64_t>>& pairs) {
  std::vector<TableEntry> entries;
  entries.reserve(pairs.size());
  for (const auto& [number, kernel_hash] : pairs)
    entries.push_back(encode_pair(number, kernel_hash));
  return entries;
}

// Returns the image that a record's entry leads to.
BundleImage image_of(const CubinRecord& record, const std::vector<BundleImage>& images) {
  const auto found = std::lower_bound(
      images.begin(), images.end(), record.digest,
      [](const BundleImage& image, const Sha256Digest& digest) { return image.digest < digest; });
  return found != images.end() && found->digest == record.digest ? *found : BundleImage();
}

// Returns the branches to pages, filled up to this many bytes.
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

Error too_much(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "a bundle cannot hold " + what, "make several"};
}

// Returns the part of a root that takes most of its bytes.
std::string what_fills(const BundleRoot& root) {
  const auto bytes_of = [](const std::vector<std::string>& names) {
    std::size_t bytes = 0;
    for (const std::string& name : names)
      bytes += name.size();
    return bytes;
  };
  const std::size_t tools = bytes_of(root.toolchain);
  const std::size_t names = tools + bytes_of(root.targets) + root.options.channel.size();
  if (names < kMaximumRootBytes / 2) return "so many records";
  if (tools < names / 2) return "so long a channel";
  return "kernels of " + std::to_string(root.toolchain.size()) + " compilers: its root names them in " +
         std::to_string(tools) + " bytes and has at most " + std::to_string(kMaximumRootBytes);
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

void describe_content(BundleRoot& root, const CubinRecords& records, const std::vector<BundleImage>& images,
                      const std::string& packer) {
  std::set<std::string> targets;
  std::set<std::string> tools;
  if (root.options.profile != BundleProfile::plain) tools.insert(packer);
  for (const auto& record : records) {
    targets.insert(record->target_name());
    if (!record->compiler.empty()) tools.insert(record->compiler);
  }
  root.targets = in_order(targets);
  root.toolchain = in_order(tools);
  root.records = records.size();
  root.images = images.size();
  root.image_bytes = 0;
  for (const BundleImage& image : images)
    root.image_bytes += image.size;
}

Result<BundleIndex> index_pages(BundleMap map, const TablePages& tables) {
  BundleIndex index{std::move(map), {}, {}};
  // The larger the branches, the fewer entries the root has.
  for (std::uint32_t branch_bytes = kBranchBytes; branch_bytes <= kMaximumBranchBytes; branch_bytes *= 2) {
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
    if (index.root.size() <= kMaximumRootBytes) return index;
  }
  return too_much(what_fills(index.map.root));
}

Result<BundleIndex> make_index(const BundleOptions& options, const CubinRecords& records,
                               const std::vector<BundleImage>& images, ByteView dictionary, ByteView tuning,
                               std::uint64_t frames_bytes) {
  BundleMap map;
  map.root.options = options;
  describe_content(map.root, records, images, zstd_release());
  map.dictionary_bytes = dictionary.size();
  if (!dictionary.empty()) map.dictionary = sha256(dictionary);
  map.tuning_bytes = tuning.size();
  if (!tuning.empty()) map.tuning = sha256(tuning);
  map.frames_bytes = frames_bytes;
  if (!map.images_fit()) {
    return Error{ErrorCode::invalid_argument,
                 "a bundle cannot hold images of " + std::to_string(map.root.image_bytes) +
                     " bytes in frames of " + std::to_string(frames_bytes),
                 "write it with the profile plain"};
  }

  TablePages tables;
  std::vector<Bytes> pages;
  for (const BundleTable table : kTablesInOrder) {
    for (FilledPage& filled : fill_pages(table, table_entries(table, records, images), kPageBytes)) {
      if (filled.bytes.size() > kMaximumPageBytes) return too_much("so large a record");
      Bytes stored =
          is_packed(table, options.profile) ? pack_page(std::move(filled.bytes)) : std::move(filled.bytes);
      tables[static_cast<std::size_t>(table)].push_back(
          {filled.first, static_cast<std::uint32_t>(stored.size()), sha256(stored), map.pages_bytes});
      map.pages_bytes += stored.size();
      pages.push_back(std::move(stored));
    }
  }
  CUBINET_TRY_ASSIGN(BundleIndex index, index_pages(std::move(map), tables));
  std::move(pages.begin(), pages.end(), std::back_inserter(index.pages));
  if (index.map.root.file_bytes > kMaximumBundleBytes) return too_much("more than 64 GiB");
  return index;
}

}  // namespace cubinet
