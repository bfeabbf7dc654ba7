// SPDX-License-Identifier: Apache-2.0
// Operations on a whole home: counting, verification, repair.
#include "imported/imported_folder.hpp"
#include "local/kept_tuning.hpp"
#include "local/left_overs.hpp"
#include "local/local_home.hpp"
#include "local/retention.hpp"
#include "local/sqlite.hpp"
#include "local/survey.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Kind = StoreFinding::Kind;

// Longer than the time between two steps of a publish.
constexpr std::chrono::milliseconds kMoment{200};

Kind kind_of(const Error& error) {
  if (error.code == ErrorCode::not_found) return Kind::missing_cubin;
  return is_no_image(error) ? Kind::damaged_cubin : Kind::unreadable_file;
}

// Returns the finding for unreadable measurements.
std::optional<StoreFinding> tuning_finding(const FileStore& store) {
  const auto kept = read_tuning(store);
  if (kept) return std::nullopt;
  return StoreFinding{names_nothing(kept.error()) ? Kind::damaged_tuning : Kind::unreadable_file,
                      store.home().relative(store.home().tuning()).native(), kept.error().message};
}

class HomeVerification {
 public:
  HomeVerification(const FileStore& store, VerifyReport& report) : store_(store), report_(report) {}

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
      } else if (store_.read_record(name)) {  // otherwise removed meanwhile, with its image
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

  Result<void> check_imports(const LocalImports& imports) {
    CUBINET_TRY_ASSIGN(const auto entries, imports.read_all());
    for (const LocalImports::Entry& entry : entries) {
      if (entry.import) {
        ImportedFolder folder(imports.images(), entry.number, *entry.import);
        check_import(folder);
      } else {
        const Error& error = entry.import.error();
        add(names_nothing(error) ? Kind::damaged_import : Kind::unreadable_file,
            store_.home().import(entry.number), error.message);
      }
    }
    return {};
  }

  // If `growing` is true, a folder is being imported and its images are not named yet.
  Result<void> check_strays(bool growing) {
    CUBINET_TRY_ASSIGN(const auto images, store_.files_below(store_.home().cubins()));
    CUBINET_TRY_ASSIGN(const auto records, store_.files_below(store_.home().records()));
    CUBINET_TRY_ASSIGN(const auto beside_index, temporaries_beside_index(store_));
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
  // A temporary file may be in use by a writer.
  Result<void> add_stray(const fs::path& file, const char* reason) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(file));
    if (!status) return {};
    if (!is_interrupted_write(file)) {
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
  std::set<Sha256Digest> named_;  // images named by records and imports
};

// Quarantines damaged files. Files that cannot be read stay, as findings of the report.
class HomeRepair {
 public:
  HomeRepair(FileStore& store, VerifyReport& report) : store_(store), report_(report) {}

  // Returns whether the file was moved.
  bool set_aside(const StoreFinding& finding) {
    const bool moved = store_.set_aside(store_.home().root() / finding.file, finding.reason);
    (moved ? report_.set_aside : report_.findings).push_back(finding);
    return moved;
  }

  void set_imports_aside(const std::vector<LocalImports::Entry>& imports) {
    for (const LocalImports::Entry& entry : imports) {
      if (entry.import) continue;
      const Error& error = entry.import.error();
      const fs::path file = store_.home().relative(store_.home().import(entry.number));
      const StoreFinding finding{Kind::damaged_import, file.native(), error.message};
      if (names_nothing(error)) {
        set_aside(finding);
      } else {
        report_.findings.push_back(finding);
      }
    }
  }

  // Returns whether the image of a record stays. Reads each image once.
  bool keeps_image(const StoredRecord& stored) {
    const auto [image, is_new] = kept_.try_emplace({stored.record->digest, stored.record->size}, true);
    if (is_new) image->second = check_image(stored);
    return image->second;
  }

 private:
  // Quarantines a damaged image. A missing one does not stay.
  bool check_image(const StoredRecord& stored) {
    const CubinRecord& record = *stored.record;
    const auto image = store_.read_image(record.digest, record.size);
    if (image) return true;
    const Kind kind = kind_of(image.error());
    const StoreFinding finding{
        kind, store_.home().relative(store_.home().cubin(record.digest)).native(),
        kind == Kind::missing_cubin ? "entry " + stored.name + " has no image" : image.error().message};
    if (kind == Kind::damaged_cubin) return !set_aside(finding);
    (kind == Kind::missing_cubin ? report_.set_aside : report_.findings).push_back(finding);
    return kind != Kind::missing_cubin;
  }

  FileStore& store_;
  VerifyReport& report_;
  std::map<std::pair<Sha256Digest, std::uint64_t>, bool> kept_;
};

// Keeps those of `findings` that are among `others`.
void keep_common(std::vector<StoreFinding>& findings, const std::vector<StoreFinding>& others) {
  const auto is_new = [&](const StoreFinding& finding) {
    return std::none_of(others.begin(), others.end(), [&](const StoreFinding& other) {
      return other.kind == finding.kind && other.file == finding.file && other.reason == finding.reason;
    });
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_new), findings.end());
}

}  // namespace

Result<HomeStats> LocalHome::stats() {
  CUBINET_TRY_ASSIGN(const CubinRecords records, own_records());
  HomeStats stats;
  stats.sqlite_version = sqlite3_libversion();
  const auto why_none = index_.why_unusable();
  stats.journal_mode = why_none ? "none, the index is not used: " + why_none->message : "delete";
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
  // Usage counters are optional, so their failure does not affect the rest.
  auto uses = uses_.read();
  if (uses) {
    stats.uses = uses->total;
    stats.last_used = std::move(uses->last);
  } else {
    log(store_.log_sink(), LogLevel::warning, "what was used is not known: " + uses.error().to_line());
  }
  stats.limit = limit_or_none();
  CUBINET_TRY_ASSIGN(const auto pins, read_pins(store_));
  stats.pins.assign(pins.begin(), pins.end());
  return stats;
}

// Makes a second pass if the first has findings, because a publish in progress looks like damage
// for a moment. Under the exclusive lock there is none. Without it, a finding that is not repeated
// was no damage.
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
  HomeVerification verification(store_, report);
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  report.findings = survey.damaged;
  report.findings.insert(report.findings.end(), survey.unreadable.begin(), survey.unreadable.end());
  verification.check_images(survey);
  CUBINET_TRY(verification.check_imports(imports_));
  CUBINET_TRY_ASSIGN(const bool growing, imports_.somebody_brings_images());
  CUBINET_TRY(verification.check_strays(growing));
  if (auto finding = tuning_finding(store_)) report.findings.push_back(*std::move(finding));
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

Result<VerifyReport> LocalHome::repair() {
  CUBINET_TRY(check_writable());
  StoreLock lock = store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY_ASSIGN(Survey survey, survey_records(store_));
  VerifyReport report;
  HomeRepair repair(store_, report);
  for (const StoreFinding& finding : survey.damaged)
    repair.set_aside(finding);
  CUBINET_TRY_ASSIGN(const auto imports, imports_.read_all());
  repair.set_imports_aside(imports);
  report.findings.insert(report.findings.end(), survey.unreadable.begin(), survey.unreadable.end());
  if (const auto finding = tuning_finding(store_)) {
    if (finding->kind == Kind::damaged_tuning) {
      repair.set_aside(*finding);
    } else {
      report.findings.push_back(*finding);
    }
  }
  std::vector<StoredRecord> records;
  CubinRecords without_image;
  for (auto& [name, stored] : survey.records) {
    if (repair.keeps_image(stored)) {
      records.push_back(std::move(stored));
    } else {
      without_image.push_back(stored.record);
    }
  }
  CUBINET_TRY(remove_locked(without_image, lock));
  CUBINET_TRY(index_.rebuild(records));
  report.entries = records.size();
  return report;
}

}  // namespace cubinet
