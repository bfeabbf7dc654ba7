// SPDX-License-Identifier: Apache-2.0
// What is done to a home as a whole: counting, checking, indexing anew, tidying.
#include "left_overs.hpp"
#include "local_registry.hpp"
#include "sqlite.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Kind = RegistryFinding::Kind;

// Longer than it takes from one step of a publish to the next.
constexpr std::chrono::milliseconds kMoment{200};

// One pass over all records and images.
struct Survey {
  std::map<std::string, StoredRecord> records;  // by entry name
  std::set<Sha256Digest> named;                 // images that some record names
  std::vector<RegistryFinding> damaged;
  bool complete = true;  // no record is there that could not be read: `named` is all that is named
};

Result<Survey> survey_records(const FileStore& store) {
  Survey survey;
  CUBINET_TRY(
      store.for_each_record([&](const std::string& name, Result<StoredRecord> record) -> Result<void> {
        if (record) {
          survey.named.insert(record->record->digest);
          survey.records.emplace(name, *std::move(record));
        } else {
          const fs::path file = store.home().relative(store.home().record(name));
          survey.damaged.push_back({Kind::damaged_record, file, record.error().message});
          survey.complete = survey.complete && names_nothing(record.error());
        }
        return {};
      }));
  return survey;
}

class Verification {
 public:
  Verification(const FileStore& store, VerifyReport& report) : store_(store), report_(report) {}

  void add(Kind kind, const fs::path& file, std::string reason) {
    report_.findings.push_back({kind, store_.home().relative(file), std::move(reason)});
  }

  void check_images(const Survey& survey) {
    for (const auto& [name, stored] : survey.records) {
      ++report_.entries;
      const CubinRecord& record = *stored.record;
      if (!checked_.insert({record.digest, record.size}).second) continue;
      const auto image = store_.read_image(record.digest, record.size);
      const fs::path file = store_.home().cubin(record.digest);
      if (image) {
        report_.bytes += record.size;
      } else if (image.error().code != ErrorCode::not_found) {
        add(Kind::damaged_cubin, file, image.error().message);
      } else if (store_.read_record(name)) {  // else: removed meanwhile, with its image
        add(Kind::missing_cubin, file, "entry " + name + " has no image");
      }
    }
  }

  Result<void> check_strays(const Survey& survey) {
    CUBINET_TRY_ASSIGN(const auto images, store_.files_below(store_.home().cubins()));
    CUBINET_TRY_ASSIGN(const auto records, store_.files_below(store_.home().records()));
    for (const fs::path& file : images) {
      const auto digest = store_.home().cubin_digest(file);
      if (digest && survey.named.count(*digest) != 0) continue;
      CUBINET_TRY(add_stray(file, digest ? "no record names it" : "its name is not that of a cubin"));
    }
    for (const fs::path& file : records) {
      const bool in_place =
          file.extension() == ".record" && store_.home().record(file.stem().string()) == file;
      if (!in_place) CUBINET_TRY(add_stray(file, "its name is not that of a record"));
    }
    return {};
  }

  void check_index(const Survey& survey, const std::vector<StoredRecord>& rows) {
    std::set<std::string> indexed;
    for (const StoredRecord& row : rows) {
      std::string name = entry_name(row.record->identity, row.record->fingerprint);
      const auto file = survey.records.find(name);
      if (file == survey.records.end() ? !store_.read_record(name).has_value()
                                       : !(*file->second.record == *row.record)) {
        add(Kind::damaged_index, store_.home().index(), "it holds another record than entry " + name);
      }
      indexed.insert(std::move(name));
    }
    for (const auto& [name, stored] : survey.records) {
      if (indexed.count(name) == 0)
        add(Kind::unindexed_record, store_.home().record(name), "the index lacks it");
    }
  }

 private:
  // A temporary file may be one that is being written.
  Result<void> add_stray(const fs::path& file, const char* reason) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(file));
    if (!status) return {};
    if (!is_temporary(file)) {
      add(Kind::stray_file, file, reason);
    } else if (is_left_over(*status)) {
      add(Kind::stray_file, file, "an interrupted write left it");
    }
    return {};
  }

  const FileStore& store_;
  VerifyReport& report_;
  std::set<std::pair<Sha256Digest, std::uint64_t>> checked_;
};

// Locked by another process, left by one that died, or made by a newer or an older build: as good as it was.
bool says_nothing_of_the_index(const Error& error) {
  return error.code == ErrorCode::busy || error.code == ErrorCode::unsupported ||
         error.code == ErrorCode::unavailable;
}

// Leaves those of `findings` that are among `others`.
void keep_common(std::vector<RegistryFinding>& findings, const std::vector<RegistryFinding>& others) {
  const auto is_new = [&](const RegistryFinding& finding) {
    return std::none_of(others.begin(), others.end(), [&](const RegistryFinding& other) {
      return other.kind == finding.kind && other.file == finding.file && other.reason == finding.reason;
    });
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_new), findings.end());
}

// Images that no record names.
Result<void> remove_unnamed_images(FileSweep& sweep, const Survey& survey, bool locked) {
  const FileStore& store = sweep.store();
  if (!survey.complete) {
    log(store.log_sink(), LogLevel::warning,
        "no image is removed while there are records that cannot be read");
    return {};
  }
  CUBINET_TRY_ASSIGN(const auto images, store.files_below(store.home().cubins()));
  for (const fs::path& path : images) {
    const auto digest = store.home().cubin_digest(path);
    if (!digest || survey.named.count(*digest) != 0) continue;
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    // Where there are no locks, somebody may be between the image and its record.
    if (!status || (!locked && !is_left_over(*status))) continue;
    CUBINET_TRY(sweep.remove(path, status->size));
  }
  return {};
}

// A lock file is removed by whoever holds its lock, and FileSystem::lock looks again whether the file it
// locked is still the one with the name.
Result<void> remove_idle_locks(FileStore& store, const fs::path& keep) {
  CUBINET_TRY_ASSIGN(const auto paths, store.files_below(store.home().locks()));
  for (const fs::path& path : paths) {
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (path == keep || !status || !is_left_over(*status)) continue;
    const auto lock = store.files().lock(path, FileSystem::Wait::try_once, FileSystem::Sharing::exclusive);
    if (lock && *lock) CUBINET_TRY(store.files().remove(path));
  }
  return {};
}

}  // namespace

std::string_view to_string(RegistryFinding::Kind kind) {
  switch (kind) {
    case Kind::damaged_cubin:
      return "damaged_cubin";
    case Kind::missing_cubin:
      return "missing_cubin";
    case Kind::damaged_record:
      return "damaged_record";
    case Kind::unindexed_record:
      return "unindexed_record";
    case Kind::stray_file:
      return "stray_file";
    case Kind::damaged_index:
      return "damaged_index";
    case Kind::damaged_import:
      return "damaged_import";
    case Kind::unindexed_import:
      return "unindexed_import";
    case Kind::damaged_artifact:
      return "damaged_artifact";
    case Kind::missing_artifact:
      return "missing_artifact";
  }
  return "damaged_index";
}

Result<RegistryStats> LocalRegistry::stats() {
  CUBINET_TRY(check_process());
  RegistryStats stats;
  stats.sqlite_version = sqlite3_libversion();
  StoreLock lock = store_lock();
  if (const auto totals = index_.use(lock, [](Index& index) { return index.totals(); })) {
    stats.entries = totals->entries;
    stats.cubins = totals->cubins;
    stats.cubin_bytes = totals->cubin_bytes;
    stats.journal_mode = totals->write_ahead_log ? "wal" : "delete";
  } else {
    stats.journal_mode = "none, the index is not used";
    CUBINET_TRY_ASSIGN(const Survey survey, survey_records(store_));
    std::set<std::pair<Sha256Digest, std::uint64_t>> images;
    for (const auto& [name, stored] : survey.records)
      images.insert({stored.record->digest, stored.record->size});
    stats.entries = survey.records.size();
    stats.cubins = images.size();
    for (const auto& [digest, size] : images)
      stats.cubin_bytes += size;
  }
  CUBINET_TRY_ASSIGN(const auto imports, artifacts_.list());
  stats.imports = imports.size();
  for (const ArtifactSummary& import : imports) {
    stats.imported_rows += import.rows;
    stats.imported_plain += import.plain;
    stats.imported_files += import.files;
    stats.imported_bytes += import.bytes;
  }
  auto set_aside = store_.files().list(store_.home().quarantine());
  if (!set_aside && set_aside.error().code == ErrorCode::not_found) return stats;
  if (!set_aside) return std::move(set_aside).error();
  stats.quarantined = static_cast<std::uint64_t>(
      std::count_if(set_aside->begin(), set_aside->end(),
                    [](const std::string& name) { return !name.ends_with(".reason"); }));
  return stats;
}

// Two passes when the first finds something: a publish in progress looks like damage for a moment. Under the
// exclusive lock there is none; without it, what is not found a moment later again was no damage.
Result<VerifyReport> LocalRegistry::verify() {
  CUBINET_TRY(check_process());
  StoreLock lock = store_lock();
  CUBINET_TRY_ASSIGN(const VerifyReport first, verify_once());
  if (first.findings.empty()) return first;
  if (access_.writable()) {
    auto locked = lock.exclude();
    if (locked && lock.real()) return verify_once();
    if (!locked)
      log(store_.log_sink(), LogLevel::warning, "verified while others write: " + locked.error().to_line());
  }
  std::this_thread::sleep_for(kMoment);
  CUBINET_TRY_ASSIGN(VerifyReport second, verify_once());
  keep_common(second.findings, first.findings);
  return second;
}

Result<VerifyReport> LocalRegistry::verify_once() {
  VerifyReport report;
  Verification verification(store_, report);
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  report.findings = survey.damaged;
  verification.check_images(survey);
  CUBINET_TRY(verification.check_strays(survey));
  CUBINET_TRY(artifacts_.verify(report));
  const auto rows = index_.look([](Index& index) -> Result<std::vector<StoredRecord>> {
    CUBINET_TRY(index.check());
    return index.list();
  });
  if (rows) {
    verification.check_index(survey, *rows);
  } else if (says_nothing_of_the_index(rows.error())) {
    log(store_.log_sink(), LogLevel::warning, "the index was not checked: " + rows.error().to_line());
  } else if (rows.error().code != ErrorCode::not_found) {
    verification.add(Kind::damaged_index, store_.home().index(), rows.error().message);
  }
  return report;
}

Result<std::uint64_t> LocalRegistry::rebuild() {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY(
      store_.for_each_record([&](const std::string& name, Result<StoredRecord> record) -> Result<void> {
        if (!record && names_nothing(record.error())) {
          store_.set_aside(store_.home().record(name), record.error().message);
        }
        return {};
      }));
  CUBINET_TRY(artifacts_.set_damaged_aside());
  const auto count = index_.use(lock, [&](Index& index) { return index.replace_all(index_.all_files()); });
  if (count) return *count;
  if (auto why = index_.why_unusable()) return *why;
  return Error{ErrorCode::busy, "the index was locked by another process", "try again"};
}

Result<std::uint64_t> Registry::sweep() {
  CUBINET_TRY_ASSIGN(const SweepReport report, sweep(SweepMode::remove));
  return report.bytes;
}

Result<SweepReport> LocalRegistry::sweep(SweepMode mode) {
  FileSweep sweep(store_, mode);
  CUBINET_TRY(sweep.only_counts() ? check_process() : check_writable());
  StoreLock lock = store_lock();
  if (!sweep.only_counts()) CUBINET_TRY(lock.exclude());
  for (const fs::path& folder :
       {store_.home().cubins(), store_.home().records(), store_.home().quarantine()}) {
    CUBINET_TRY(remove_left_overs(sweep, folder));
  }
  if (!sweep.only_counts()) CUBINET_TRY(remove_idle_locks(store_, access_.lock_path()));
  CUBINET_TRY_ASSIGN(const Survey survey, survey_records(store_));
  for (const auto& [name, stored] : survey.records) {
    CUBINET_TRY_ASSIGN(const auto image, store_.files().status(store_.home().cubin(stored.record->digest)));
    if (image) continue;
    if (!sweep.only_counts()) CUBINET_TRY(remove_locked(*stored.record, lock));
    ++sweep.report.entries;
  }
  CUBINET_TRY(remove_unnamed_images(sweep, survey, sweep.only_counts() || lock.real()));
  CUBINET_TRY(artifacts_.sweep(sweep));
  return sweep.report;
}

}  // namespace cubinet
