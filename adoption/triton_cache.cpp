// SPDX-License-Identifier: Apache-2.0
#include "cache_tool.hpp"

#include <cubinet/base/json_value.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <algorithm>
#include <iterator>

namespace cubinet {
namespace {

constexpr std::string_view kGroupBefore = "__grp__";
constexpr std::string_view kMetadataEnd = ".json";
constexpr std::string_view kLibraryEnd = ".so";
// The files of a compilation for NVIDIA devices: its stages and its metadata.
constexpr std::string_view kStages[] = {".source", ".ttir", ".ttgir", ".glir",
                                        ".llir",   ".ptx",  ".cubin", kMetadataEnd};

constexpr std::size_t kDigestDigits = 52;  // 32 bytes at five bits a digit
int base32_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

// Returns the digest in hexadecimal, or an empty string if the name is not one of Triton's. The
// last digit must encode a single bit, so that each digest has exactly one name.
std::string digest_of(std::string_view name) {
  if (name.size() != kDigestDigits) return {};
  Bytes bytes;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char c : name) {
    const int digit = base32_digit(c);
    if (digit < 0) return {};
    bits = (bits << 5U) | static_cast<unsigned>(digit);
    held += 5;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> held));
    bits &= (1U << held) - 1;
  }
  return bits == 0 ? to_hex(bytes) : std::string();
}

bool is_triton_entry(std::string_view name) {
  return !digest_of(name).empty();
}

bool is_group(const CacheFile& file) {
  return file.name.starts_with(kGroupBefore) && file.name.ends_with(kMetadataEnd);
}

// Returns the names of a group's files, ascending.
Result<std::vector<std::string>> read_group(const CacheFile& group) {
  CUBINET_TRY_ASSIGN(const JsonValue said, parse_json(as_text(group.content)));
  const JsonValue* paths = said.find("child_paths");
  if (paths == nullptr || !paths->is_object())
    return not_taken("'" + printable(group.name) + "' lists no files");
  std::vector<std::string> names;
  for (const auto& [name, path] : paths->members()) {
    const std::string text = path.is_text() ? path.text() : "";
    if (!is_cache_file_name(name) || text.substr(text.rfind('/') + 1) != name)
      return not_taken("'" + printable(group.name) + "' lists a file that is not the entry's");
    names.push_back(name);
  }
  return names;
}

// Returns the text of a group of these files in a folder. If `folder` is empty, only the names are
// stored.
std::string group_text(const std::vector<std::string>& names, const std::string& folder) {
  std::vector<std::string> members;
  for (const std::string& name : names)
    members.push_back(quoted_json(name) + ":" + quoted_json(folder.empty() ? name : folder + "/" + name));
  return R"({"child_paths":{)" + join(members, ",") + "}}";
}

// Keeps only the group's files: Triton reads no others.
Result<void> keep_members(const CacheFile& group, const std::vector<std::string>& members,
                          std::vector<CacheFile>& files) {
  const std::string_view kernel =
      std::string_view(group.name)
          .substr(kGroupBefore.size(), group.name.size() - kGroupBefore.size() - kMetadataEnd.size());
  std::vector<CacheFile> kept;
  for (const std::string& name : members) {
    const bool known = std::any_of(std::begin(kStages), std::end(kStages), [&](std::string_view stage) {
      return name == std::string(kernel) + std::string(stage);
    });
    if (!known) return not_taken("'" + printable(name) + "' is no stage of a compilation");
    const CacheFile* file = find_file(files, name);
    if (file == nullptr) return not_taken("'" + printable(name) + "' is missing");
    kept.push_back(*file);
  }
  const std::string stored = group_text(members, {});
  kept.push_back({group.name, Bytes(as_bytes(stored).begin(), as_bytes(stored).end())});
  std::sort(kept.begin(), kept.end(), [](const CacheFile& a, const CacheFile& b) { return a.name < b.name; });
  files = std::move(kept);
  return {};
}

// Returns "PTX 8.7", for example. ptxas stores its own version in machine code only if line
// information was requested.
std::string toolchain_of(const CacheFile* ptx) {
  if (ptx == nullptr) return {};
  constexpr std::string_view kBefore = ".version ";
  std::string_view text = as_text(ptx->content);
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kBefore.size());
  return "PTX " +
         std::string(text.substr(0, std::min<std::size_t>(text.find_first_not_of("0123456789."), 8)));
}

// Checks that the metadata belongs to this entry and this machine code.
Result<EntryFacts> read_metadata(std::string_view entry, const CacheFile& metadata, const CacheFile& cubin) {
  CUBINET_TRY_ASSIGN(const JsonValue said, parse_json(as_text(metadata.content)));
  if (said.text_of("hash") != digest_of(entry))
    return not_taken("'" + printable(metadata.name) + "' is of another entry");
  const JsonValue* target = said.find("target");
  if (target == nullptr || target->text_of("backend") != "cuda")
    return not_taken("it is for no device of NVIDIA's");
  CUBINET_TRY_ASSIGN(EntryFacts facts, read_cubin(cubin.content));
  const JsonValue* arch = target->find("arch");
  const int capability = facts.target.major * 10 + facts.target.minor;
  if (arch == nullptr || arch->integer() != capability)
    return not_taken("its machine code is not for the device that it states");
  facts.kernel = said.text_of("name");
  CUBINET_TRY(check_cubin(cubin.content, facts.target, {facts.kernel}));
  facts.version = said.text_of("triton_version");
  if (facts.version.empty()) return not_taken("it does not say which Triton made it");
  return facts;
}

Result<EntryFacts> read_triton_entry(std::string_view entry, std::vector<CacheFile>& files) {
  // Triton's helper and the launcher of a kernel are entries with a single file.
  if (files.size() == 1 && files.front().name.ends_with(kLibraryEnd)) {
    EntryFacts facts;
    facts.target = known_targets().front();
    facts.host_code = true;
    return facts;
  }
  const auto group = std::find_if(files.begin(), files.end(), is_group);
  if (group == files.end()) return not_taken("it is no finished compilation: there is no __grp__ file");
  if (std::count_if(files.begin(), files.end(), is_group) > 1) return not_taken("it has two __grp__ files");
  CUBINET_TRY_ASSIGN(const std::vector<std::string> members, read_group(*group));
  const CacheFile list = *group;
  CUBINET_TRY(keep_members(list, members, files));
  const std::string metadata = list.name.substr(kGroupBefore.size());
  const std::string kernel = metadata.substr(0, metadata.size() - kMetadataEnd.size());
  const CacheFile* said = find_file(files, metadata);
  const CacheFile* cubin = find_file(files, kernel + ".cubin");
  if (said == nullptr || cubin == nullptr) return not_taken("it has no metadata or no machine code");
  CUBINET_TRY_ASSIGN(EntryFacts facts, read_metadata(entry, *said, *cubin));
  if (facts.toolchain.empty()) facts.toolchain = toolchain_of(find_file(files, kernel + ".ptx"));
  return facts;
}

// Rewrites the paths of the group. Triton opens the files at these paths, anywhere.
Result<void> place_triton_entry(std::vector<CacheFile>& files, const std::string& folder) {
  const auto group = std::find_if(files.begin(), files.end(), is_group);
  if (group == files.end()) return {};
  std::vector<std::string> names;
  for (const CacheFile& file : files) {
    if (!is_group(file)) names.push_back(file.name);
  }
  std::sort(names.begin(), names.end());
  const auto written = parse_json(quoted_json(folder));
  if (!written || written->text() != folder)
    return Error{ErrorCode::invalid_argument, "the name of folder '" + printable(folder) + "' is not UTF-8",
                 "name another folder for Triton's cache"};
  const std::string text = group_text(names, folder);
  group->content.assign(as_bytes(text).begin(), as_bytes(text).end());
  return {};
}

}  // namespace

const CacheTool kTritonCache{.name = "triton",
                             .entries = {},
                             .own_device_only = true,
                             .is_entry = is_triton_entry,
                             .read = read_triton_entry,
                             .place = place_triton_entry};

}  // namespace cubinet
