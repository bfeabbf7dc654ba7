// SPDX-License-Identifier: Apache-2.0
#include "local_artifacts.hpp"

#include "import_format.hpp"
#include "record_row.hpp"

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// Whoever holds the lock removes images for as long as this takes.
constexpr std::chrono::milliseconds kBringLockLimit{10'000};

bool has_stamp(const std::vector<IndexedImport>& indexed, const ImportStamp& stamp) {
  return std::any_of(indexed.begin(), indexed.end(),
                     [&](const IndexedImport& import) { return import.stamp == stamp; });
}

bool same_imports(const std::vector<IndexedImport>& indexed, const std::vector<ImportStamp>& stamps) {
  return indexed.size() == stamps.size() &&
         std::all_of(stamps.begin(), stamps.end(),
                     [&](const ImportStamp& stamp) { return has_stamp(indexed, stamp); });
}

}  // namespace

Result<std::vector<StoredImport>> LocalArtifacts::good_imports() const {
  std::vector<StoredImport> imports;
  CUBINET_TRY(imports_.for_each([&](const ImportStamp&, Result<StoredImport> import) -> Result<void> {
    if (import) {
      imports.push_back(*std::move(import));
    } else {
      log(store_.log_sink(), LogLevel::warning, "import passed over: " + import.error().to_line());
    }
    return {};
  }));
  return imports;
}

bool LocalArtifacts::index_is_current(StoreLock& lock) {
  const auto stamps = imports_.stamps();
  if (!stamps) return false;
  const auto indexed = index_.use(lock, [](Index& index) { return index.imports(); });
  if (!indexed) return false;
  if (same_imports(*indexed, *stamps)) return true;
  {
    const std::lock_guard guard(mutex_);
    if (settled_stamps_ == *stamps) return true;
  }
  if (!access_.writable()) return false;
  const bool was_exclusive = lock.exclusive();
  const bool current = lock.exclude() && bring_up_to_date(lock);
  if (!was_exclusive) lock.release();
  return current;
}

// REQUIRES: the exclusive lock. What was interrupted between two steps is finished here.
bool LocalArtifacts::bring_up_to_date(StoreLock& lock) {
  if (!set_damaged_aside()) return false;
  const auto indexed = index_.use(lock, [](Index& index) { return index.imports(); });
  if (!indexed) return false;
  std::set<std::uint64_t> in_force;
  const auto added = imports_.for_each([&](const ImportStamp& stamp,
                                           Result<StoredImport> import) -> Result<void> {
    in_force.insert(stamp.number);
    if (!import) {
      log(store_.log_sink(), LogLevel::warning, "import left out of the index: " + import.error().to_line());
      return {};
    }
    if (has_stamp(*indexed, stamp)) return {};
    if (index_.run(lock, [&](Index& index) { return index.put_import(*import); })) return {};
    return Error{ErrorCode::busy, "the index cannot be written"};
  });
  if (!added) return false;
  for (const IndexedImport& import : *indexed) {
    const std::uint64_t number = import.stamp.number;
    if (in_force.count(number) != 0) continue;
    if (!index_.run(lock, [&](Index& index) { return index.erase_import(number); })) return false;
  }
  const auto stamps = imports_.stamps();
  if (!stamps) return false;
  for (const ImportStamp& stamp : *stamps) {
    if (in_force.count(stamp.number) == 0 && !imports_.remove(stamp.number)) return false;
  }
  const auto settled = imports_.stamps();
  if (!settled) return false;
  const std::lock_guard guard(mutex_);
  settled_stamps_ = *settled;
  return true;
}

Result<std::uint64_t> LocalArtifacts::count_record_files() const {
  CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(store_.home().records()));
  return static_cast<std::uint64_t>(std::count_if(paths.begin(), paths.end(), [](const fs::path& path) {
    return path.extension() == ".record" && path.filename().native().front() != '.';
  }));
}

// An entry that was published while the index was locked has no row, and nobody asks for it by its key here.
bool LocalArtifacts::records_are_indexed(StoreLock& lock) {
  const auto files = count_record_files();
  if (!files) return false;
  const auto indexed = index_.use(lock, [](Index& index) { return index.entry_count(); });
  if (!indexed) return false;
  if (*indexed == *files) return true;
  {
    const std::lock_guard guard(mutex_);
    if (settled_records_ == *files) return true;
  }
  if (!access_.writable() || !lock.share()) return false;
  const auto added =
      store_.for_each_record([&](const std::string&, Result<StoredRecord> record) -> Result<void> {
        if (!record || index_.run(lock, [&](Index& index) { return index.put(*record); })) return {};
        return Error{ErrorCode::busy, "the index cannot be written"};
      });
  lock.release();
  if (!added) return false;
  const std::lock_guard guard(mutex_);
  settled_records_ = *files;
  return true;
}

Result<std::vector<KernelRow>> LocalArtifacts::rows_from_files() {
  std::vector<KernelRow> rows;
  CUBINET_TRY(store_.for_each_record([&](const std::string&, Result<StoredRecord> record) -> Result<void> {
    if (!record) {
      log(store_.log_sink(), LogLevel::warning, "record passed over: " + record.error().to_line());
    } else if (auto row = row_of(*record->record)) {
      rows.push_back(*std::move(row));
    }
    return {};
  }));
  CUBINET_TRY_ASSIGN(auto imports, good_imports());
  for (StoredImport& import : imports) {
    std::move(import.content.rows.begin(), import.content.rows.end(), std::back_inserter(rows));
  }
  return rows;
}

Result<std::vector<KernelRow>> LocalArtifacts::kernel_rows() {
  StoreLock lock = access_.store_lock();
  if (index_is_current(lock) && records_are_indexed(lock)) {
    auto rows = index_.use(lock, [](Index& index) { return index.kernel_rows(); });
    if (rows) return *std::move(rows);
  }
  return rows_from_files();
}

Result<std::vector<ArtifactSummary>> LocalArtifacts::list() {
  CUBINET_TRY(access_.check_process());
  StoreLock lock = access_.store_lock();
  std::vector<ArtifactSummary> summaries;
  if (index_is_current(lock)) {
    if (auto indexed = index_.use(lock, [](Index& index) { return index.imports(); })) {
      for (IndexedImport& import : *indexed)
        summaries.push_back(std::move(import.summary));
      return summaries;
    }
  }
  CUBINET_TRY_ASSIGN(auto imports, imports_.in_force());
  for (ImportFiles::SummaryOrError& import : imports) {
    if (import.summary) {
      summaries.push_back(*std::move(import.summary));
    } else {
      log(store_.log_sink(), LogLevel::warning, "import passed over: " + import.summary.error().to_line());
    }
  }
  return summaries;
}

Result<void> LocalArtifacts::check_images(const ArtifactImport& import) const {
  if (import.placement == ArtifactPlacement::in_place) return {};
  for (const ArtifactFile& file : import.files) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().artifact(file.digest)));
    if (status) continue;
    return Error{ErrorCode::invalid_argument,
                 "an import cannot be kept: '" + file.name + "' was not brought into the registry",
                 "import its folder again"};
  }
  return {};
}

Result<std::uint64_t> LocalArtifacts::publish(const ArtifactImport& import) {
  CUBINET_TRY(access_.check_writable());
  CUBINET_TRY(check_import(import));
  CUBINET_TRY_ASSIGN(const Bytes encoded, encode_import(import));
  StoreLock lock = access_.store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY(check_images(import));
  CUBINET_TRY_ASSIGN(const auto existing, imports_.in_force());
  std::optional<ImportStamp> replaced;
  for (const ImportFiles::SummaryOrError& other : existing) {
    if (other.summary && other.summary->folder == import.folder) replaced = other.stamp;
  }
  if (replaced && imports_.holds(*replaced, encoded)) {
    static_cast<void>(index_is_current(lock));
    end_bringing();
    return replaced->number;
  }
  CUBINET_TRY_ASSIGN(const auto stamps, imports_.stamps());
  if (!stamps.empty() && stamps.back().number == kMaximumImportNumber) {
    return Error{ErrorCode::invalid_argument,
                 "no import can follow '" + store_.home().import(stamps.back().number).string() + "'",
                 "remove that file, and import its folder again"};
  }
  const std::uint64_t number = stamps.empty() ? 1 : stamps.back().number + 1;
  CUBINET_TRY_ASSIGN(const ImportStamp stamp, imports_.write(number, encoded));
  // From here on the import is there, whatever becomes of its rows and of the one that it replaces: who looks
  // next sees that the index was made from other files.
  end_bringing();
  if (replaced) {
    if (auto removed = imports_.remove(replaced->number); !removed) {
      log(store_.log_sink(), LogLevel::warning, "a replaced import stays: " + removed.error().to_line());
    }
  }
  StoredImport stored{stamp, import};
  for (KernelRow& row : stored.content.rows)
    row.provenance = {RowOrigin::imported, false, number, import.folder.native(), {}};
  index_.run(lock, [&](Index& index) { return index.put_import(stored); });
  return number;
}

Result<bool> LocalArtifacts::remove(std::uint64_t number) {
  CUBINET_TRY(access_.check_writable());
  StoreLock lock = access_.store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY_ASSIGN(const auto stamps, imports_.stamps());
  const auto found = std::find_if(stamps.begin(), stamps.end(),
                                  [&](const ImportStamp& stamp) { return stamp.number == number; });
  if (found == stamps.end()) return false;
  const auto import = imports_.read(*found);
  CUBINET_TRY(imports_.remove(number));
  index_.run(lock, [&](Index& index) { return index.erase_import(number); });
  if (import && import->content.placement != ArtifactPlacement::in_place) {
    std::vector<Sha256Digest> images;
    for (const ArtifactFile& file : import->content.files)
      images.push_back(file.digest);
    const auto alone = lock_out_bringers();
    FileSweep sweep(store_, SweepMode::remove);
    if (alone != nullptr) CUBINET_TRY(remove_unnamed_images(images, sweep));
  }
  return true;
}

Result<void> LocalArtifacts::bring(const fs::path& file, const Sha256Digest& digest, ArtifactPlacement how) {
  CUBINET_TRY(access_.check_writable());
  if (how != ArtifactPlacement::linked && how != ArtifactPlacement::copied) {
    return Error{ErrorCode::invalid_argument, "a file is brought into the registry as a link or as a copy"};
  }
  {
    const std::lock_guard guard(mutex_);
    if (bringing_ == nullptr) {
      CUBINET_TRY_ASSIGN(bringing_,
                         lock_within(store_.files(), bring_lock_path(), FileSystem::Sharing::shared,
                                     kBringLockLimit, store_.log_sink()));
    }
  }
  return imports_.bring(file, digest, how);
}

void LocalArtifacts::end_bringing() {
  const std::lock_guard guard(mutex_);
  bringing_.reset();
}

Result<std::vector<ArtifactLocation>> LocalArtifacts::locations_from_files(const Sha256Digest& digest) {
  CUBINET_TRY_ASSIGN(auto imports, good_imports());
  std::vector<ArtifactLocation> locations;
  for (auto import = imports.rbegin(); import != imports.rend(); ++import) {
    for (const ArtifactFile& file : import->content.files) {
      if (file.digest == digest)
        locations.push_back({import->content.folder, import->content.placement, file});
    }
  }
  return locations;
}

Result<std::optional<std::shared_ptr<const Bytes>>> LocalArtifacts::load(const Sha256Digest& digest) {
  CUBINET_TRY(access_.check_process());
  std::optional<std::vector<ArtifactLocation>> locations;
  {
    StoreLock lock = access_.store_lock();
    if (index_is_current(lock)) {
      locations = index_.use(lock, [&](Index& index) { return index.locate(digest); });
    }
  }
  if (!locations) {
    CUBINET_TRY_ASSIGN(locations, locations_from_files(digest));
  }
  for (const ArtifactLocation& location : *locations) {
    auto image = location.placement == ArtifactPlacement::in_place
                     ? imports_.read_in_place(location.folder, location.file)
                     : imports_.read_image(digest, location.file.size);
    if (image) return std::optional<std::shared_ptr<const Bytes>>(*std::move(image));
    log(store_.log_sink(), LogLevel::error, "imported cubin passed over: " + image.error().to_line());
  }
  return std::optional<std::shared_ptr<const Bytes>>();
}

Result<std::vector<PlainKernel>> LocalArtifacts::find_named(std::string_view function_name) {
  CUBINET_TRY(access_.check_process());
  StoreLock lock = access_.store_lock();
  std::vector<PlainKernel> kernels;
  if (index_is_current(lock)) {
    auto found = index_.use(lock, [&](Index& index) { return index.find_named(function_name); });
    if (found) {
      for (NamedKernel& named : *found)
        kernels.push_back(std::move(named.kernel));
      return kernels;
    }
  }
  CUBINET_TRY_ASSIGN(const auto imports, good_imports());
  for (auto import = imports.rbegin(); import != imports.rend(); ++import) {
    auto found = named_kernels(import->content, function_name);
    std::move(found.begin(), found.end(), std::back_inserter(kernels));
  }
  return kernels;
}

Result<std::vector<VerifiedFile>> LocalArtifacts::verified(const fs::path& folder) {
  CUBINET_TRY(access_.check_process());
  StoreLock lock = access_.store_lock();
  auto files = index_.use(lock, [&](Index& index) { return index.verified(folder.native()); });
  return files ? *std::move(files) : std::vector<VerifiedFile>();
}

Result<void> LocalArtifacts::remember(const fs::path& folder, std::span<const VerifiedFile> files) {
  CUBINET_TRY(access_.check_writable());
  if (files.empty()) return {};
  StoreLock lock = access_.store_lock();
  // Where it cannot be written, what was verified is verified again.
  if (!lock.share()) return {};
  index_.run(lock, [&](Index& index) { return index.remember(folder.native(), files); });
  return {};
}

}  // namespace cubinet
