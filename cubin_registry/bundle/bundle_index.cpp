// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_index.hpp"

#include "bundle/zstd_frame.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace cubinet {
namespace {

constexpr BundleTable kTablesInOrder[] = {BundleTable::records, BundleTable::keys, BundleTable::names,
                                          BundleTable::images};

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

Error too_much(const char* what) {
  return Error{ErrorCode::invalid_argument, std::string("a bundle cannot hold ") + what, "make several"};
}

}  // namespace

std::vector<TableEntry> table_entries(BundleTable table, const CubinRecords& records,
                                      const std::vector<BundleImage>& images) {
  std::vector<TableEntry> entries;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  if (table == BundleTable::images) {
    for (const BundleImage& image : images)
      entries.push_back(encode_image(image));
    return entries;
  }
  for (const auto& record : records) {
    const std::uint64_t kernel_hash = record->identity.kernel_hash();
    if (table == BundleTable::records) {
      entries.push_back({kernel_hash, encode_record(*record)});
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
                               const std::vector<BundleImage>& images, ByteView dictionary,
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
  index.map.frames_bytes = frames_bytes;

  std::vector<std::vector<TableEntry>> tables;
  for (const BundleTable table : kTablesInOrder) {
    tables.push_back(table_entries(table, records, images));
    for (const TableEntry& entry : tables.back()) {
      while (index.map.page_bytes < page_bytes_for(table, entry))
        index.map.page_bytes *= 2;
    }
  }
  // The larger the pages, the fewer the root has to name.
  for (;; index.map.page_bytes *= 2) {
    if (index.map.page_bytes > kMaximumPageBytes) return too_much("so many targets, compilers or records");
    index.pages.clear();
    for (const BundleTable table : kTablesInOrder) {
      const auto position = static_cast<std::size_t>(table);
      auto& pages = index.map.tables[position];
      pages.clear();
      for (FilledPage& filled : fill_pages(table, tables[position], index.map.page_bytes)) {
        Bytes stored = is_packed(table, options.profile) ? pack_zstd(filled.bytes) : std::move(filled.bytes);
        pages.push_back({filled.first, static_cast<std::uint32_t>(stored.size()), sha256(stored)});
        index.pages.push_back(std::move(stored));
      }
    }
    index.root = encode_root(index.map);
    if (index.root.size() <= kMaximumRootBytes) break;
  }
  if (root.file_bytes > kMaximumBundleBytes) return too_much("more than 64 GiB");
  return index;
}

}  // namespace cubinet
