// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Result<void> visit_folders(const CacheTool& tool, const CacheFolder& entries, const VisitEntry& visit) {
  CUBINET_TRY_ASSIGN(const auto names, entries.list());
  for (const std::string& name : names) {
    if (tool.is_entry(name)) CUBINET_TRY(visit(entries, name, name));
  }
  return {};
}

Result<void> visit_files(const CacheTool& tool, const CacheFolder& entries, const VisitEntry& visit) {
  CUBINET_TRY_ASSIGN(const auto digits, entries.list());
  for (const std::string& first : digits) {
    if (!is_lower_hex(first, 2)) continue;
    auto folder = entries.folder(first);
    if (!folder) continue;
    CUBINET_TRY_ASSIGN(const auto names, folder->list());
    for (const std::string& name : names) {
      if (tool.is_entry(first + name)) CUBINET_TRY(visit(*folder, name, first + name));
    }
  }
  return {};
}

// Returns whether the name is a temporary file or a lock of the tool, and not a file of the entry.
bool is_temporary(std::string_view name) {
  return name.starts_with("tmp.") || name == "lock";
}

}  // namespace

Result<void> visit_entries(const CacheTool& tool, const CacheFolder& cache, const VisitEntry& visit) {
  const bool files = tool.shape == CacheTool::Shape::file;
  if (tool.entries.empty())
    return files ? visit_files(tool, cache, visit) : visit_folders(tool, cache, visit);
  auto entries = cache.folder(std::string(tool.entries));
  if (!entries) return {};  // not a cache of this tool
  return files ? visit_files(tool, *entries, visit) : visit_folders(tool, *entries, visit);
}

Result<std::vector<CacheFile>> read_entry(const CacheTool& tool, const CacheFolder& folder,
                                          const std::string& name) {
  std::vector<CacheFile> files;
  std::uint64_t room = kMaximumImageBytes / 2;
  const auto add = [&](const CacheFolder& from, const std::string& file) -> Result<void> {
    if (!is_cache_file_name(file)) return not_taken("it has a file of the name '" + printable(file) + "'");
    CUBINET_TRY_ASSIGN(Bytes content, from.read(file, room));
    room -= content.size();
    files.push_back({file, std::move(content)});
    return {};
  };
  if (tool.shape == CacheTool::Shape::file) {
    CUBINET_TRY(add(folder, name));
    return files;
  }
  CUBINET_TRY_ASSIGN(const CacheFolder entry, folder.folder(name));
  CUBINET_TRY_ASSIGN(const auto names, entry.list());
  for (const std::string& file : names) {
    if (is_temporary(file)) continue;
    if (files.size() == kMaximumCacheFiles) return not_taken("it has more files than any entry has");
    CUBINET_TRY(add(entry, file));
  }
  return files;
}

Result<Cubin> image_of_entry(const CacheTool& tool, const std::string& entry,
                             const std::vector<CacheFile>& files, const EntryFacts& facts,
                             const std::string& version) {
  if (facts.version.empty() && version.empty())
    return not_taken("its files do not say which version of the tool made it");
  if (!facts.version.empty() && !version.empty() && facts.version != version)
    return not_taken("it was made by version " + printable(facts.version));
  KernelSpec spec{std::string(tool.name), {}, KernelMaker::tool};
  spec.set("entry", entry).set("version", facts.version.empty() ? version : facts.version);
  if (!facts.kernel.empty()) spec.set("kernel", facts.kernel);
  if (facts.host_code) spec.set("host", true);
  Bytes image = encode_cache_entry(files);
  CubinRecord record;
  record.identity = identify(spec, facts.target);
  record.target = facts.target;
  record.kind = ImageKind::cache_entry;
  record.digest = sha256(image);
  // The tool's name identifies the inputs of the build, but two builds of them may differ in their
  // bytes.
  record.fingerprint.digest = record.digest;
  record.size = image.size();
  record.compiler = facts.toolchain;
  CUBINET_TRY(check_storable(record));
  return Cubin{std::make_shared<const CubinRecord>(std::move(record)),
               std::make_shared<const Bytes>(std::move(image))};
}

Result<bool> keep_entry(WritableStore& store, const Cubin& cubin) {
  // Without the lock, two processes that keep other bytes of an entry at once would leave both.
  CUBINET_TRY_ASSIGN(const auto lock, store.lock_for_build(cubin.record->identity, {}));
  CUBINET_TRY_ASSIGN(CubinRecords before, store.find(cubin.record->identity.kernel()));
  std::erase_if(before, [&](const auto& other) {
    return other->identity != cubin.record->identity || other->kind != ImageKind::cache_entry;
  });
  const bool present = std::any_of(before.begin(), before.end(),
                                   [&](const auto& other) { return other->digest == cubin.record->digest; });
  // Publishes an existing build again, because the stored one may be damaged.
  CUBINET_TRY(store.publish(cubin));
  std::erase_if(before, [&](const auto& other) {
    return other->digest == cubin.record->digest || other->origin != CubinOrigin::compiled;
  });
  if (!before.empty()) CUBINET_TRY(store.remove(before));
  return !present;
}

Result<std::optional<KernelSpec>> entry_of(const CubinRecord& record, std::string_view tool) {
  if (record.kind != ImageKind::cache_entry) return std::optional<KernelSpec>();
  CUBINET_TRY_ASSIGN(KernelSpec spec, decode_kernel(record.identity.kernel_encoding()));
  if (spec.maker != KernelMaker::tool || spec.name != tool) return std::optional<KernelSpec>();
  return std::optional<KernelSpec>(std::move(spec));
}

std::string parameter_text(const KernelSpec& spec, std::string_view parameter) {
  const auto found = spec.parameters.find(parameter);
  const auto* text = found == spec.parameters.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

Result<std::set<std::string>> versions_in(Store& store, std::string_view tool) {
  CUBINET_TRY_ASSIGN(const CubinRecords records, store.list());
  std::set<std::string> versions;
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(const auto spec, entry_of(*record, tool));
    if (spec) versions.insert(parameter_text(*spec, "version"));
  }
  return versions;
}

}  // namespace cubinet
