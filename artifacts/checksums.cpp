// SPDX-License-Identifier: Apache-2.0
#include <cubinet/artifacts/checksums.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cubinet {
namespace {

constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kMaximumNameBytes = 4095;  // PATH_MAX without the terminator
constexpr std::ptrdiff_t kMaximumListedDepth = 32;
constexpr std::size_t kMaximumListedFolders = 10'000;

Error bad_line(ErrorCode code, std::size_t line, std::string reason) {
  return Error{code, "line " + std::to_string(line) + " of the list of digests " + std::move(reason),
               "fetch the list again; a line is 64 hexadecimal digits, two spaces and a relative file name"};
}

Result<ChecksumEntry> read_line(std::string_view text, std::size_t line) {
  if (text.size() < kDigestDigits + 2 || text[kDigestDigits] != ' ' ||
      (text[kDigestDigits + 1] != ' ' && text[kDigestDigits + 1] != '*')) {
    return bad_line(ErrorCode::corruption, line, "is no digest and file name");
  }
  const auto digest = Sha256Digest::parse(text.substr(0, kDigestDigits));
  if (!digest) return bad_line(ErrorCode::corruption, line, "does not begin with a SHA-256 digest");
  std::string_view name = text.substr(kDigestDigits + 2);
  while (name.starts_with("./"))
    name.remove_prefix(2);
  if (const std::string_view reason = why_not_within(name); !reason.empty()) {
    return bad_line(ErrorCode::untrusted, line, "names a file that " + std::string(reason));
  }
  return ChecksumEntry{std::string(name), *digest, line};
}

// The folders of the names in a list. Their number limits the memory and the inodes that a list can
// cost.
class NamedFolders {
 public:
  // Adds the folders of a name. Returns false if there are too many.
  bool add(std::string_view name) {
    for (std::size_t end = name.rfind('/'); end != std::string_view::npos; end = name.rfind('/', end - 1)) {
      if (!folders_.emplace(name.substr(0, end)).second) return true;  // and those above it
      if (folders_.size() > kMaximumListedFolders) return false;
    }
    return true;
  }

 private:
  std::unordered_set<std::string> folders_;
};

}  // namespace

std::string_view why_not_within(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name.size() > kMaximumNameBytes) return "has a name longer than a path may be";
  if (name.front() == '/') return "is named absolutely";
  if (std::count(name.begin(), name.end(), '/') > kMaximumListedDepth) return "is more than 32 folders deep";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) return "has a control character in its name";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "..") return "is outside the folder";
    if (part.empty() || part == ".") return "has an empty part in its name";
    begin = end + 1;
  }
  return {};
}

Result<std::vector<ChecksumEntry>> read_checksums(std::string_view text) {
  std::vector<ChecksumEntry> entries;
  NamedFolders folders;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.find_first_not_of(" \t") == std::string_view::npos) continue;
    CUBINET_TRY_ASSIGN(ChecksumEntry entry, read_line(content, line));
    const auto [place, is_new] = seen.emplace(entry.name, entries.size());
    if (is_new) {
      if (!folders.add(entry.name))
        return bad_line(ErrorCode::untrusted, line, "names the folder after the first 10,000");
      entries.push_back(std::move(entry));
    } else if (const ChecksumEntry& earlier = entries[place->second]; earlier.digest != entry.digest) {
      return bad_line(ErrorCode::corruption, line,
                      "gives '" + entry.name + "' another digest than line " + std::to_string(earlier.line));
    }
  }
  return entries;
}

}  // namespace cubinet
