// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_lock.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/sources/source_catalogs.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaximumStoredBytes = std::uint64_t{64} << 20;
constexpr std::string_view kCatalogEnding = ".json";
constexpr const char* kFilesFolder = "files";

// Returns the names of the files that the catalogs of these names list, or nullopt if one of them
// cannot be read.
std::optional<std::set<std::string>> listed_digests(FileSystem& files, const fs::path& folder,
                                                    const std::vector<std::string>& names) {
  std::set<std::string> digests;
  for (const std::string& name : names) {
    if (!name.ends_with(kCatalogEnding)) continue;
    const auto text = files.read(folder / name, kMaximumStoredBytes);
    if (!text) return std::nullopt;
    const auto manifest = parse_source_manifest(as_text(*text), name);
    if (!manifest) return std::nullopt;
    for (const std::vector<SourceFile>* list : {&manifest->files, &manifest->licences}) {
      for (const SourceFile& file : *list)
        digests.insert(file.digest.to_hex());
    }
  }
  return digests;
}

Result<std::unique_ptr<FileLock>> lock_catalogs(FileSystem& files, const fs::path& folder,
                                                std::chrono::milliseconds patience) {
  CUBINET_TRY(files.create_directories(folder / kFilesFolder, FileSystem::Mode::shared));
  return lock_within(files, folder / "lock", FileSystem::Sharing::exclusive, patience, {});
}

// Returns invalid_argument if a kernel has the name of one in another catalog.
Result<void> check_names(const SourceManifest& manifest, const std::vector<SourceManifest>& known) {
  std::map<std::string_view, std::string_view> owners;
  for (const SourceManifest& other : known) {
    if (other.name == manifest.name) continue;
    for (const SourceKernel& kernel : other.kernels)
      owners.emplace(kernel.name, other.name);
  }
  for (const SourceKernel& kernel : manifest.kernels) {
    const auto owner = owners.find(kernel.name);
    if (owner == owners.end()) continue;
    return Error{
        ErrorCode::invalid_argument,
        "its kernel '" + kernel.name + "' is also in the catalog '" + std::string(owner->second) + "'",
        "remove one of the catalogs"};
  }
  return {};
}

}  // namespace

SourceCatalogs::SourceCatalogs(const fs::path& home, std::shared_ptr<FileSystem> files,
                               std::chrono::milliseconds patience)
    : files_(files == nullptr ? posix_file_system() : std::move(files)),
      folder_(home.empty() ? fs::path() : home / "sources"),
      patience_(patience) {}

Result<std::vector<SourceManifest>> SourceCatalogs::list(const LogSink& log) const {
  std::vector<SourceManifest> catalogs;
  if (folder_.empty()) return catalogs;
  CUBINET_TRY_ASSIGN(const auto status, files_->status(folder_));
  if (!status) return catalogs;
  CUBINET_TRY_ASSIGN(const Listing listing, files_->list(folder_));
  for (const std::string& name : listing.names) {
    const fs::path path = folder_ / name;
    if (!name.ends_with(kCatalogEnding) || is_temporary_path(path)) continue;
    const auto own = files_->read_own(path, kMaximumStoredBytes);
    auto manifest = own ? parse_source_manifest(as_text(own->content), "'" + printable(path.string()) + "'")
                        : Result<SourceManifest>(own.error());
    if (manifest) {
      catalogs.push_back(*std::move(manifest));
    } else {
      cubinet::log(log, LogLevel::warning, "a catalog of sources is skipped: " + manifest.error().to_line());
    }
  }
  return catalogs;
}

Result<void> SourceCatalogs::save(const SourceManifest& manifest,
                                  const std::map<std::string, Bytes>& contents) const {
  CUBINET_TRY_ASSIGN(const auto lock, lock_catalogs(*files_, folder_, patience_));
  CUBINET_TRY_ASSIGN(const auto known, list());
  CUBINET_TRY(check_names(manifest, known));
  for (const std::vector<SourceFile>* list : {&manifest.files, &manifest.licences}) {
    for (const SourceFile& file : *list) {
      if (read(file)) continue;  // an undamaged file is not written again
      CUBINET_TRY(write_file_atomically(*files_, folder_ / kFilesFolder / file.digest.to_hex(),
                                        contents.at(file.path)));
    }
  }
  CUBINET_TRY(write_file_atomically(*files_, folder_ / (manifest.name + std::string(kCatalogEnding)),
                                    as_bytes(to_json(manifest))));
  return sweep();
}

Result<void> SourceCatalogs::remove(const std::string& name) const {
  CUBINET_TRY_ASSIGN(const auto known, list());
  std::vector<std::string> names;
  for (const SourceManifest& each : known)
    names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return Error{ErrorCode::not_found,
                 "the home has no catalog of sources '" + printable(name, kQuotedBytes) + "'",
                 names.empty() ? "" : "it has " + join(names)};
  CUBINET_TRY_ASSIGN(const auto lock, lock_catalogs(*files_, folder_, patience_));
  CUBINET_TRY(files_->remove(folder_ / (name + std::string(kCatalogEnding))));
  return sweep();
}

// Removes the files that no catalog lists. REQUIRES: the lock is held.
Result<void> SourceCatalogs::sweep() const {
  CUBINET_TRY_ASSIGN(const Listing listing, files_->list(folder_));
  const auto listed = listed_digests(*files_, folder_, listing.names);
  if (!listed) return {};
  CUBINET_TRY_ASSIGN(const Listing stored, files_->list(folder_ / kFilesFolder));
  for (const std::string& name : stored.names) {
    if (!listed->contains(name)) CUBINET_TRY(files_->remove(folder_ / kFilesFolder / name));
  }
  return {};
}

Result<Bytes> SourceCatalogs::read(const SourceFile& file) const {
  CUBINET_TRY_ASSIGN(OwnFile own,
                     files_->read_own(folder_ / kFilesFolder / file.digest.to_hex(), kMaximumStoredBytes));
  if (sha256(own.content) == file.digest) return std::move(own.content);
  return Error{ErrorCode::corruption, "the home's copy of '" + file.path + "' is damaged",
               "import its catalog again"};
}

}  // namespace cubinet
