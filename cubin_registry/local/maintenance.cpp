// SPDX-License-Identifier: Apache-2.0
// What is done to a home as a whole: counting, checking, indexing anew, tidying.
#include "imported/imported_folder.hpp"
#include "local/left_overs.hpp"
#include "local/local_home.hpp"
#include "local/siblings.hpp"
#include "local/sqlite.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Kind = StoreFinding::Kind;

// Longer than it takes from one step of a publish to the next.
constexpr std::chrono::milliseconds kMoment{200};

// One pass over all records and images.
struct Survey {
  std::map<std::string, StoredRecord> records;  // by entry name
  std::set<Sha256Digest> named;                 // images that some record names
  std::vector<StoreFinding> damaged;            // for good
  std::vector<StoreFinding> unreadable;  // just now, or by this build: while there are any, more may be named
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
          const bool for_good = names_nothing(record.error());
          (for_good ? survey.damaged : survey.unreadable)
              .push_back({for_good ? Kind::damaged_record : Kind::unreadable_file, file.native(),
                          record.error().message});
        }
        return {};
      }));
  return survey;
}

Kind kind_of(const Error& error) {
  if (error.code == ErrorCode::not_found) return Kind::missing_cubin;
  return is_no_image(error) ? Kind::damaged_cubin : Kind::unreadable_file;
}

class Verification {
 public:
  Verification(const FileStore& store, VerifyReport& report) : store_(store), report_(report) {}

  void add(Kind kind, const fs::path& file, std::string reason) {
    report_.findings.push_back({kind, store_.home().relative(file).native(), std::move(reason)});
  }

  void check_images(const Survey& survey) {
    for (const auto& [name, stored] : survey.records) {
      ++report_.entries;
      const CubinRecord& record = *stored.record;
      named_.insert(record.digest);
      if (!checked_.insert({record.digest, record.size}).second) continue;
      const auto image = store_.read_image(record.digest, record.size);
      const fs::path file = store_.home().cubin(record.digest);
      if (image) {
        report_.bytes += record.size;
      } else if (image.error().code != ErrorCode::not_found) {
        add(kind_of(image.error()), file, image.error().message);
      } else if (store_.read_record(name)) {  // else: removed meanwhile, with its image
        add(Kind::missing_cubin, file, "entry " + name + " has no image");
      }
    }
  }

  void check_import(ImportedFolder& folder) {
    const ArtifactImport& content = folder.import();
    const bool in_place = content.placement == ArtifactPlacement::in_place;
    const auto there = folder.available();
    if (!there) {
      report_.findings.push_back({Kind::unreadable_file, content.folder, there.error().message});
      return;
    }
    if (!*there) {
      report_.findings.push_back({Kind::missing_cubin, content.folder,
                                  "import " + std::to_string(folder.number()) + " lacks its folder"});
      return;
    }
    for (const ArtifactFile& file : content.files) {
      if (!in_place) {
        named_.insert(file.digest);
        if (!checked_.insert({file.digest, file.size}).second) continue;
      }
      const auto image = folder.read(file);
      if (image) {
        report_.bytes += file.size;
        continue;
      }
      const bool missing = image.error().code == ErrorCode::not_found;
      const fs::path path = in_place ? fs::path(content.folder) / file.name
                                     : store_.home().relative(store_.home().cubin(file.digest));
      report_.findings.push_back(
          {kind_of(image.error()), path.native(),
           missing ? "import " + std::to_string(folder.number()) + " lacks it" : image.error().message});
    }
  }

  Result<void> check_imports(FileStore& store, const LocalImports& imports) {
    CUBINET_TRY_ASSIGN(const auto entries, imports.read_all());
    for (const LocalImports::Entry& entry : entries) {
      if (entry.import) {
        ImportedFolder folder(store, entry.number, *entry.import);
        check_import(folder);
      } else {
        const Error& error = entry.import.error();
        add(names_nothing(error) ? Kind::damaged_import : Kind::unreadable_file,
            store_.home().import(entry.number), error.message);
      }
    }
    return {};
  }

  // `growing`: a folder is being imported, and its images are yet to be named.
  Result<void> check_strays(bool growing) {
    CUBINET_TRY_ASSIGN(const auto images, store_.files_below(store_.home().cubins()));
    CUBINET_TRY_ASSIGN(const auto records, store_.files_below(store_.home().records()));
    CUBINET_TRY_ASSIGN(const auto beside_index, index_temporaries(store_));
    for (const fs::path& file : beside_index)
      CUBINET_TRY(add_stray(file, kInterrupted));
    for (const fs::path& file : images) {
      const auto digest = store_.home().cubin_digest(file);
      if (digest && (growing || named_.count(*digest) != 0)) continue;
      CUBINET_TRY(add_stray(file, digest ? "nothing names it" : "its name is not that of a cubin"));
    }
    for (const fs::path& file : records) {
      if (!store_.home().entry_of(file)) CUBINET_TRY(add_stray(file, "its name is not that of a record"));
    }
    return {};
  }

 private:
  // A temporary file may be one that is being written.
  Result<void> add_stray(const fs::path& file, const char* reason) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(file));
    if (!status) return {};
    if (!is_temporary(file)) {
      add(Kind::stray_file, file, reason);
    } else if (is_left_over(*status)) {
      add(Kind::stray_file, file, kInterrupted);
    }
    return {};
  }

  static constexpr const char* kInterrupted = "an interrupted write left it";

  const FileStore& store_;
  VerifyReport& report_;
  std::set<std::pair<Sha256Digest, std::uint64_t>> checked_;
  std::set<Sha256Digest> named_;  // by records and imports
};

// Leaves those of `findings` that are among `others`.
void keep_common(std::vector<StoreFinding>& findings, const std::vector<StoreFinding>& others) {
  const auto is_new = [&](const StoreFinding& finding) {
    return std::none_of(others.begin(), others.end(), [&](const StoreFinding& other) {
      return other.kind == finding.kind && other.file == finding.file && other.reason == finding.reason;
    });
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_new), findings.end());
}

// A lock file is removed by whoever holds its lock, and FileSystem::lock looks again whether the file it
// locked is still the one with the name.
Result<void> remove_idle_locks(FileStore& store, const fs::path& keep) {
  CUBINET_TRY_ASSIGN(const auto paths, store.files_below(store.home().locks()));
  for (const fs::path& path : paths) {
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (path == keep || !status || !is_left_over(*status)) continue;
    const auto lock = store.files().lock(path, FileSystem::Sharing::exclusive);
    if (lock && *lock) CUBINET_TRY(store.files().remove(path));
  }
  return {};
}

// Records whose image is gone, and those of a build that another record of it took over. One whose image is
// there and cannot be used stays before the one in force: setting damage aside is for those who load it.
Result<void> sweep_records(FileSweep& sweep, Survey& survey) {
  FileStore& store = sweep.store();
  std::vector<StoredRecord> all;
  for (const auto& [name, stored] : survey.records)
    all.push_back(stored);
  survey.named.clear();
  return for_each_build(all, [&](Siblings siblings) -> Result<void> {
    const std::size_t in_force = place_in_force(store, siblings);
    for (std::size_t place = 0; place < siblings.size(); ++place) {
      const Sha256Digest& digest = siblings[place].record->digest;
      CUBINET_TRY_ASSIGN(const auto image, store.files().status(store.home().cubin(digest)));
      if (!image) ++sweep.report.entries;
      if (image && place <= in_force) {
        survey.named.insert(digest);
      } else if (!sweep.only_counts()) {
        CUBINET_TRY(store.remove_record(siblings[place].name));
      }
    }
    return {};
  });
}

}  // namespace

Result<HomeStats> LocalHome::stats() {
  CUBINET_TRY_ASSIGN(const CubinRecords records, own_records());
  HomeStats stats;
  stats.sqlite_version = sqlite3_libversion();
  stats.journal_mode = index_.why_unusable() ? "none, the index is not used" : "delete";
  stats.entries = records.size();
  std::set<std::pair<Sha256Digest, std::uint64_t>> images;
  for (const auto& record : records) {
    if (images.insert({record->digest, record->size}).second) stats.cubin_bytes += record->size;
  }
  stats.cubins = images.size();
  CUBINET_TRY_ASSIGN(const auto set_aside, store_.list_or_nothing(store_.home().quarantine()));
  stats.quarantined = static_cast<std::uint64_t>(
      std::count_if(set_aside.begin(), set_aside.end(),
                    [](const std::string& name) { return !name.ends_with(".reason"); }));
  return stats;
}

// Two passes when the first finds something: a publish in progress looks like damage for a moment. Under the
// exclusive lock there is none; without it, what is not found a moment later again was no damage.
Result<VerifyReport> LocalHome::verify() {
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

Result<VerifyReport> LocalHome::verify_once() {
  VerifyReport report;
  Verification verification(store_, report);
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  report.findings = survey.damaged;
  report.findings.insert(report.findings.end(), survey.unreadable.begin(), survey.unreadable.end());
  verification.check_images(survey);
  CUBINET_TRY(verification.check_imports(store_, imports_));
  CUBINET_TRY_ASSIGN(const bool growing, imports_.somebody_brings_images());
  CUBINET_TRY(verification.check_strays(growing));
  const auto sound = index_.look([](Index& index) -> Result<bool> {
    CUBINET_TRY(index.check());
    CUBINET_TRY(index.records());
    return true;
  });
  if (sound || sound.error().code == ErrorCode::not_found) return report;
  if (sound.error().code == ErrorCode::corruption) {
    verification.add(Kind::damaged_index, store_.home().index(), sound.error().message);
  } else {
    log(store_.log_sink(), LogLevel::warning, "the index was not checked: " + sound.error().to_line());
  }
  return report;
}

Result<RebuildReport> LocalHome::rebuild() {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  RebuildReport report;
  const auto set_aside = [&](const StoreFinding& finding) {
    const bool moved = store_.set_aside(store_.home().root() / finding.file, finding.reason);
    (moved ? report.set_aside : report.unreadable).push_back(finding);
  };
  for (const StoreFinding& finding : survey.damaged)
    set_aside(finding);
  CUBINET_TRY_ASSIGN(const auto imports, imports_.read_all());
  for (const LocalImports::Entry& entry : imports) {
    if (entry.import) continue;
    const Error& error = entry.import.error();
    const fs::path file = store_.home().relative(store_.home().import(entry.number));
    const StoreFinding finding{Kind::damaged_import, file.native(), error.message};
    if (names_nothing(error)) {
      set_aside(finding);
    } else {
      report.unreadable.push_back(finding);
    }
  }
  report.unreadable.insert(report.unreadable.end(), survey.unreadable.begin(), survey.unreadable.end());
  std::vector<StoredRecord> records;
  for (auto& [name, stored] : survey.records)
    records.push_back(std::move(stored));
  CUBINET_TRY(index_.rebuild(records));
  report.indexed = records.size();
  return report;
}

Result<SweepReport> LocalHome::sweep(SweepMode mode) {
  FileSweep sweep(store_, mode);
  CUBINET_TRY(sweep.only_counts() ? check_process() : check_writable());
  StoreLock lock = store_lock();
  if (!sweep.only_counts()) CUBINET_TRY(lock.exclude());
  for (const fs::path& folder :
       {store_.home().records(), store_.home().imports(), store_.home().quarantine()}) {
    CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(folder));
    CUBINET_TRY(remove_left_overs(sweep, paths));
  }
  CUBINET_TRY_ASSIGN(const auto beside_index, index_temporaries(store_));
  CUBINET_TRY(remove_left_overs(sweep, beside_index));
  CUBINET_TRY_ASSIGN(const auto paths, store_.files_below(store_.home().cubins()));
  {
    // A temporary file that is a link has the age of what it is a link to: nobody may be at work on it.
    const auto alone = sweep.only_counts() ? std::optional<std::unique_ptr<FileLock>>(nullptr)
                                           : imports_.lock_out_bringers();
    if (alone) CUBINET_TRY(remove_left_overs(sweep, paths));
  }
  if (!sweep.only_counts()) CUBINET_TRY(remove_idle_locks(store_, access_.lock_path()));
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  CUBINET_TRY(sweep_records(sweep, survey));
  std::set<Sha256Digest> images;
  for (const fs::path& path : paths) {
    if (const auto digest = store_.home().cubin_digest(path)) images.insert(*digest);
  }
  CUBINET_TRY(remove_unnamed_images(sweep, imports_, images,
                                    survey.unreadable.empty() ? &survey.named : nullptr,
                                    !sweep.only_counts() && !lock.real()));
  return sweep.report;
}

}  // namespace cubinet
