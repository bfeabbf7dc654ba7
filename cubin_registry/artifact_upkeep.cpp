// SPDX-License-Identifier: Apache-2.0
// What is done to imported folders as a whole: checking, tidying.
#include "import_format.hpp"
#include "left_overs.hpp"
#include "local_artifacts.hpp"

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Kind = RegistryFinding::Kind;

// A home that was copied has other times; its imports are the same, and who opens it to write sees to the
// rest.
bool is_of(const IndexedImport& import, const ImportStamp& stamp) {
  return import.stamp.number == stamp.number && import.stamp.size == stamp.size;
}

}  // namespace

// What is in artifacts/ then is yet to be named. Creates nothing: the home may be one to read.
Result<bool> LocalArtifacts::somebody_brings_images() const {
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(bring_lock_path()));
  if (!status) return false;
  const auto alone =
      store_.files().lock(bring_lock_path(), FileSystem::Wait::try_once, FileSystem::Sharing::exclusive);
  return alone && *alone == nullptr;
}

Result<void> LocalArtifacts::set_damaged_aside() {
  CUBINET_TRY_ASSIGN(const auto imports, imports_.summaries());
  for (const ImportFiles::SummaryOrError& entry : imports) {
    auto failure = entry.summary ? std::optional<Error>() : entry.summary.error();
    if (!failure) {
      // The checksums hold, so what fails here was written wrongly.
      if (const auto import = imports_.read(entry.stamp); !import) failure = import.error();
    }
    if (failure && names_nothing(*failure)) {
      store_.set_aside(store_.home().import(entry.stamp.number), failure->message);
    }
  }
  return {};
}

// Every image that an import in force uses from the home; nullopt while some import cannot be read.
Result<std::optional<std::set<Sha256Digest>>> LocalArtifacts::named_images() const {
  std::set<Sha256Digest> named;
  bool complete = true;
  CUBINET_TRY(imports_.for_each([&](const ImportStamp&, Result<StoredImport> import) -> Result<void> {
    complete = complete && import;
    if (!import || import->content.placement == ArtifactPlacement::in_place) return {};
    for (const ArtifactFile& file : import->content.files)
      named.insert(file.digest);
    return {};
  }));
  if (!complete) return std::optional<std::set<Sha256Digest>>();
  return std::optional<std::set<Sha256Digest>>(std::move(named));
}

// While it is held nobody brings images in; nullptr while somebody does.
std::unique_ptr<FileLock> LocalArtifacts::lock_out_bringers() {
  auto alone =
      store_.files().lock(bring_lock_path(), FileSystem::Wait::try_once, FileSystem::Sharing::exclusive);
  if (alone && *alone) return *std::move(alone);
  log(store_.log_sink(), LogLevel::info, "no imported image is removed while a folder is being imported");
  return nullptr;
}

// REQUIRES: nobody brings images in.
Result<void> LocalArtifacts::remove_unnamed_images(const std::vector<Sha256Digest>& candidates,
                                                   FileSweep& sweep) {
  if (candidates.empty()) return {};
  CUBINET_TRY_ASSIGN(const auto named, named_images());
  if (!named) {
    log(store_.log_sink(), LogLevel::warning,
        "no imported image is removed while there are imports that cannot be read");
    return {};
  }
  for (const Sha256Digest& digest : candidates) {
    if (named->count(digest) != 0) continue;
    const fs::path path = store_.home().artifact(digest);
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(path));
    if (!status) continue;
    // The bytes of a file with another name stay.
    CUBINET_TRY(sweep.remove(path, status->links <= 1 ? status->size : 0));
  }
  return {};
}

Result<void> LocalArtifacts::sweep(FileSweep& sweep) {
  CUBINET_TRY(remove_left_overs(sweep, store_.home().imports()));
  CUBINET_TRY_ASSIGN(const auto folder, store_.files().status(store_.home().artifacts()));
  if (!folder) return {};
  // A temporary file that is a link has the age of the file that it is a link to: nobody may be at work on
  // it.
  const auto alone = sweep.only_counts() ? nullptr : lock_out_bringers();
  if (alone == nullptr && !sweep.only_counts()) return {};
  CUBINET_TRY(remove_left_overs(sweep, store_.home().artifacts()));
  CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(store_.home().artifacts()));
  std::vector<Sha256Digest> images;
  for (const fs::path& path : paths) {
    if (const auto digest = store_.home().artifact_digest(path)) images.push_back(*digest);
  }
  return remove_unnamed_images(images, sweep);
}

Result<void> LocalArtifacts::verify(VerifyReport& report) {
  const auto add = [&](Kind kind, const fs::path& file, std::string reason) {
    report.findings.push_back({kind, file, std::move(reason)});
  };
  const Home& home = store_.home();
  std::set<Sha256Digest> named;
  std::vector<ImportStamp> good;
  CUBINET_TRY(imports_.for_each([&](const ImportStamp& stamp, Result<StoredImport> import) -> Result<void> {
    if (!import) {
      add(Kind::damaged_import, home.relative(home.import(stamp.number)), import.error().message);
      return {};
    }
    good.push_back(stamp);
    const ArtifactImport& content = import->content;
    const bool in_place = content.placement == ArtifactPlacement::in_place;
    for (const ArtifactFile& file : content.files) {
      if (!in_place && !named.insert(file.digest).second) continue;
      const auto image = in_place ? imports_.read_in_place(content.folder, file)
                                  : imports_.read_image(file.digest, file.size);
      if (image) {
        report.bytes += file.size;
        continue;
      }
      const bool missing = image.error().code == ErrorCode::not_found;
      add(missing ? Kind::missing_artifact : Kind::damaged_artifact,
          in_place ? content.folder / file.name : home.relative(home.artifact(file.digest)),
          missing ? "import " + std::to_string(stamp.number) + " lacks it" : image.error().message);
    }
    return {};
  }));
  CUBINET_TRY_ASSIGN(const bool growing, somebody_brings_images());
  std::vector<fs::path> images;
  if (!growing) {
    CUBINET_TRY_ASSIGN(images, store_.files_below(home.artifacts()));
  }
  for (const fs::path& path : images) {
    const auto digest = home.artifact_digest(path);
    if (digest && named.count(*digest) != 0) continue;
    CUBINET_TRY_ASSIGN(const bool stray, is_stray(store_, path));
    if (stray) add(Kind::stray_file, home.relative(path), "no import names it");
  }
  const auto indexed = index_.look([](Index& index) { return index.imports(); });
  if (!indexed) return {};  // said of the index as a whole
  for (const ImportStamp& stamp : good) {
    const bool there = std::any_of(indexed->begin(), indexed->end(),
                                   [&](const IndexedImport& import) { return is_of(import, stamp); });
    if (!there) add(Kind::unindexed_import, home.relative(home.import(stamp.number)), "the index lacks it");
  }
  return {};
}

}  // namespace cubinet
