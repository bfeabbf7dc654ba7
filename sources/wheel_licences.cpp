// SPDX-License-Identifier: Apache-2.0
#include "wheel_licences.hpp"

#include "listed_files.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWheelEnding = ".dist-info";
constexpr int kMaximumLicenceDepth = 4;

bool is_licence(const std::string& name) {
  constexpr std::array<std::string_view, 4> kNames = {"license", "licence", "copying", "notice"};
  const std::string lower = lower_case(name);
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view begin) { return lower.starts_with(begin); });
}

// Adds the licences of a folder, and of folders below it down to `depth` levels.
Result<void> add_licences(FileSystem& files, const fs::path& folder, const fs::path& root, int depth,
                          std::map<std::string, Bytes>& texts) {
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  for (const std::string& name : listing.names) {
    const fs::path path = folder / name;
    if (!is_licence(name)) continue;
    CUBINET_TRY_ASSIGN(const auto status, files.status(path));
    if (!status || status->type != FileStatus::Type::regular) continue;
    CUBINET_TRY_ASSIGN(texts[path.lexically_relative(root).generic_string()],
                       files.read(path, kMaximumListedBytes));
  }
  for (const std::string& name : listing.folders) {
    if (depth > 0) CUBINET_TRY(add_licences(files, folder / name, root, depth - 1, texts));
  }
  return {};
}

// Returns whether the wheel's list of files has the file.
bool has_file(FileSystem& files, const fs::path& wheel, const fs::path& file) {
  const auto record = files.read(wheel / "RECORD", kMaximumListedBytes);
  if (!record) return false;
  const std::string line = file.lexically_relative(wheel.parent_path()).generic_string() + ",";
  const std::string_view list = as_text(*record);
  return list.starts_with(line) || list.find("\n" + line) != std::string_view::npos;
}

// Returns "NAME VERSION" of a wheel's folder "name-version.dist-info".
std::string wheel_name(const std::string& folder) {
  std::string name = folder.substr(0, folder.size() - kWheelEnding.size());
  const std::size_t dash = std::min(name.find('-'), name.size());
  std::replace(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dash), '_', '-');
  if (dash < name.size()) name[dash] = ' ';
  return printable(name, kQuotedBytes);
}

}  // namespace

Result<FoundLicences> find_licences(FileSystem& files, const fs::path& manifest_file,
                                    const fs::path& folder) {
  FoundLicences found;
  for (fs::path place = manifest_file.parent_path();; place = place.parent_path()) {
    CUBINET_TRY(add_licences(files, place, folder, 0, found.texts));
    CUBINET_TRY_ASSIGN(const Listing listing, files.list(place));
    for (const std::string& name : listing.folders) {
      if (!name.ends_with(kWheelEnding) || !has_file(files, place / name, manifest_file)) continue;
      found.library = wheel_name(name);
      CUBINET_TRY(add_licences(files, place / name, folder, kMaximumLicenceDepth, found.texts));
    }
    if (place == folder || place == place.parent_path()) return found;
  }
}

}  // namespace cubinet
