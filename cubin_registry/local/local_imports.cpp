// SPDX-License-Identifier: Apache-2.0
#include "local/local_imports.hpp"

#include "imported/import_format.hpp"
#include "local/left_overs.hpp"

#include <cubinet/base/file_lock.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// The limit for the lock, which a sweep holds while it removes images.
constexpr std::chrono::milliseconds kBringLockLimit{10'000};
// A hundred times the largest known one.
constexpr std::uint64_t kMaximumImportBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaximumImportNumber = std::numeric_limits<std::int64_t>::max();

// Returns the number of "7.import". Each number has one name.
std::optional<std::uint64_t> number_of(std::string_view name) {
  constexpr std::string_view kSuffix = ".import";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || name.front() == '0' ||
      number > kMaximumImportNumber) {
    return std::nullopt;
  }
  return number;
}

// Returns whether the import exists and is temporarily unreadable, so its content is unknown.
bool is_unknown(const Result<ArtifactImport>& import) {
  if (import || names_nothing(import.error())) return false;
  return import.error().code != ErrorCode::unsupported && import.error().code != ErrorCode::not_found;
}

}  // namespace

Result<std::vector<std::uint64_t>> LocalImports::numbers() const {
  CUBINET_TRY_ASSIGN(const auto names, store_.list_or_nothing(store_.home().imports()));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = number_of(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<ArtifactImport> LocalImports::read_file(std::uint64_t number) const {
  const fs::path path = store_.home().import(number);
  CUBINET_TRY_ASSIGN(const OwnFile file, store_.files().read_own(path, kMaximumImportBytes));
  auto import = decode_import(file.content);
  if (import) return import;
  Error error = std::move(import).error();
  error.message = "'" + path.string() + "': " + error.message;
  return error;
}

Result<std::vector<LocalImports::Entry>> LocalImports::read_all() const {
  CUBINET_TRY_ASSIGN(const auto there, numbers());
  std::vector<Entry> entries;
  for (const std::uint64_t number : there) {
    auto import = read_file(number);
    if (!import && import.error().code == ErrorCode::not_found) continue;  // removed since it was listed
    entries.push_back({number, std::move(import)});
  }
  return entries;
}

// The store outlives the folders.
ImportedImages LocalImports::images() const {
  return {store_.shared_files(),
          [&store = store_](const Sha256Digest& digest, std::uint64_t size) {
            return store.read_image(digest, size);
          },
          store_.log_sink()};
}

Result<std::shared_ptr<const LocalImports::Folders>> LocalImports::folders() {
  const std::lock_guard guard(mutex_);
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().imports()));
  if (status && stamp_ && stamp_->still_is(*status)) return folders_;
  if (!status && folders_ != nullptr && folders_->empty()) return folders_;
  // Taken before the list: a file written during the listing must change the folder's stamp.
  const auto stamp =
      status ? std::optional(FolderStamp::of(*status, std::chrono::system_clock::now())) : std::nullopt;
  CUBINET_TRY_ASSIGN(const auto there, numbers());
  std::map<std::uint64_t, Decoded> decoded;
  Folders folders;
  std::set<std::string> seen;
  for (auto number = there.rbegin(); number != there.rend(); ++number) {
    CUBINET_TRY_ASSIGN(const auto file, store_.files().status(store_.home().import(*number)));
    if (!file) continue;
    const auto known = decoded_.find(*number);
    const bool unchanged = known != decoded_.end() && known->second.size == file->size &&
                           known->second.modified_ns == file->modified_ns;
    Decoded entry = unchanged ? known->second : Decoded{file->size, file->modified_ns, nullptr};
    if (!unchanged) {
      auto import = read_file(*number);
      if (!import) {
        if (import.error().code == ErrorCode::not_found) continue;
        if (is_unknown(import)) return std::move(import).error();
        log(store_.log_sink(), LogLevel::warning, "import skipped: " + import.error().to_line());
        continue;
      }
      entry.folder = std::make_shared<ImportedFolder>(images(), *number, *std::move(import));
    }
    if (seen.insert(entry.folder->import().folder).second) folders.push_back(entry.folder);
    decoded.emplace(*number, std::move(entry));
  }
  const bool same = folders_ != nullptr && *folders_ == folders;
  auto made = same ? folders_ : std::make_shared<const Folders>(std::move(folders));
  decoded_ = std::move(decoded);
  folders_ = std::move(made);
  stamp_ = stamp;
  return folders_;
}

Result<std::vector<ImportSummary>> LocalImports::list() {
  CUBINET_TRY(access_.check_process());
  CUBINET_TRY_ASSIGN(const auto in_force, folders());
  std::vector<ImportSummary> summaries;
  for (auto folder = in_force->rbegin(); folder != in_force->rend(); ++folder)
    summaries.push_back((*folder)->summary());
  return summaries;
}

Result<std::shared_ptr<const ArtifactImport>> LocalImports::read(std::uint64_t number) {
  CUBINET_TRY(access_.check_process());
  CUBINET_TRY_ASSIGN(const auto in_force, folders());
  for (const auto& folder : *in_force) {
    if (folder->number() == number) return std::shared_ptr<const ArtifactImport>(folder, &folder->import());
  }
  return std::shared_ptr<const ArtifactImport>();
}

Result<void> LocalImports::check_images(const ArtifactImport& import) const {
  if (import.placement == ArtifactPlacement::in_place) return {};
  for (const ArtifactFile& file : import.files) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().cubin(file.digest)));
    if (status) continue;
    return Error{ErrorCode::invalid_argument,
                 "an import cannot be kept: '" + file.name + "' was not brought into the home",
                 "import its folder again"};
  }
  return {};
}

Result<std::vector<LocalImports::Entry>> LocalImports::of_folder(const std::string& folder) const {
  CUBINET_TRY_ASSIGN(auto entries, read_all());
  std::vector<Entry> found;
  for (Entry& entry : entries) {
    if (is_unknown(entry.import)) return std::move(entry.import).error();
    if (entry.import && entry.import->folder == folder) found.push_back(std::move(entry));
  }
  return found;
}

Result<std::uint64_t> LocalImports::publish(const ArtifactImport& import) {
  CUBINET_TRY(access_.check_writable());
  CUBINET_TRY(check_import(import));
  CUBINET_TRY_ASSIGN(const Bytes encoded, encode_import(import));
  StoreLock lock = access_.store_lock();
  CUBINET_TRY(lock.exclude());
  CUBINET_TRY(check_images(import));
  CUBINET_TRY_ASSIGN(auto replaced, of_folder(import.folder));
  CUBINET_TRY_ASSIGN(const auto there, numbers());
  if (!replaced.empty()) {
    const std::uint64_t last = replaced.back().number;
    const auto file = store_.files().read_own(store_.home().import(last), kMaximumImportBytes);
    if (file && file->content == encoded) {
      end_bringing();
      replaced.pop_back();
      remove_replaced(replaced);
      return last;
    }
  }
  if (!there.empty() && there.back() == kMaximumImportNumber) {
    return Error{ErrorCode::invalid_argument,
                 "no import can follow '" + store_.home().import(there.back()).string() + "'",
                 "remove that file, and import its folder again"};
  }
  const std::uint64_t number = there.empty() ? 1 : there.back() + 1;
  const fs::path path = store_.home().import(number);
  CUBINET_TRY(store_.put(path, [&] { return write_file_atomically(store_.files(), path, encoded); }));
  // The import is published, even if removing the replaced one fails.
  end_bringing();
  remove_replaced(replaced);
  return number;
}

void LocalImports::remove_replaced(const std::vector<Entry>& replaced) {
  for (const Entry& entry : replaced) {
    auto removed = store_.files().remove(store_.home().import(entry.number));
    if (!removed)
      log(store_.log_sink(), LogLevel::warning, "a replaced import stays: " + removed.error().to_line());
  }
}

Result<bool> LocalImports::add_named_images(std::set<Sha256Digest>& named) const {
  CUBINET_TRY_ASSIGN(const auto imports, read_all());
  bool complete = true;
  for (const Entry& entry : imports) {
    complete = complete && entry.import;
    if (!entry.import || entry.import->placement == ArtifactPlacement::in_place) continue;
    for (const ArtifactFile& file : entry.import->files)
      named.insert(file.digest);
  }
  return complete;
}

Result<bool> LocalImports::remove(std::uint64_t number) {
  CUBINET_TRY(access_.check_writable());
  StoreLock lock = access_.store_lock();
  CUBINET_TRY(lock.exclude());
  std::set<Sha256Digest> images;
  const auto remove_one = [&](std::uint64_t each, const Result<ArtifactImport>& import) -> Result<bool> {
    const fs::path path = store_.home().import(each);
    CUBINET_TRY_ASSIGN(const bool removed, store_.files().remove(path));
    if (!removed) return false;
    CUBINET_TRY(store_.files().sync_directory(path.parent_path()));
    if (!import || import->placement == ArtifactPlacement::in_place) return true;
    for (const ArtifactFile& file : import->files)
      images.insert(file.digest);
    return true;
  };
  const auto import = read_file(number);
  if (is_unknown(import)) return import.error();
  if (import) {
    CUBINET_TRY_ASSIGN(const auto siblings, of_folder(import->folder));
    // Hidden imports are removed first, so that an interrupted removal does not restore them.
    const bool in_force = !siblings.empty() && siblings.back().number == number;
    for (const Entry& sibling : siblings) {
      if (in_force && sibling.number != number) CUBINET_TRY(remove_one(sibling.number, sibling.import));
    }
  }
  CUBINET_TRY_ASSIGN(const bool removed, remove_one(number, import));
  if (images.empty()) return removed;
  FileSweep sweep(store_, false);
  std::set<Sha256Digest> named;
  CUBINET_TRY_ASSIGN(const bool complete, add_images_of_records(store_, named));
  CUBINET_TRY(remove_unnamed_images(sweep, *this, images, complete ? &named : nullptr, !lock.real()));
  return removed;
}

Result<void> LocalImports::bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) {
  CUBINET_TRY(access_.check_writable());
  if (how == ArtifactPlacement::in_place)
    return Error{ErrorCode::invalid_argument, "a file is brought into the home as a link or as a copy"};
  {
    const std::lock_guard guard(mutex_);
    if (bringing_ == nullptr) {
      CUBINET_TRY_ASSIGN(bringing_,
                         lock_within(store_.files(), store_.home().import_lock(), FileSystem::Sharing::shared,
                                     kBringLockLimit, store_.log_sink()));
    }
  }
  return store_.bring_image(file, digest, how == ArtifactPlacement::linked);
}

void LocalImports::end_bringing() {
  const std::lock_guard guard(mutex_);
  bringing_.reset();
}

Result<bool> LocalImports::somebody_brings_images() const {
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().import_lock()));
  if (!status) return false;
  const auto alone = store_.files().lock(store_.home().import_lock(), FileSystem::Sharing::exclusive);
  return alone && *alone == nullptr;
}

std::optional<std::unique_ptr<FileLock>> LocalImports::lock_out_bringers() {
  auto alone = store_.files().lock(store_.home().import_lock(), FileSystem::Sharing::exclusive);
  if (!alone && knows_no_locks(alone.error())) return nullptr;
  if (alone && *alone) return *std::move(alone);
  log(store_.log_sink(), LogLevel::info, "no image is removed while a folder is being imported");
  return std::nullopt;
}

Result<std::vector<VerifiedFile>> LocalImports::verified(const std::string& folder) {
  CUBINET_TRY(access_.check_process());
  StoreLock lock = access_.store_lock();
  auto files = index_.use(lock, [&](Index& index) { return index.verified(folder); });
  return files ? *std::move(files) : std::vector<VerifiedFile>();
}

Result<void> LocalImports::remember(const std::string& folder, std::span<const VerifiedFile> files) {
  CUBINET_TRY(access_.check_writable());
  if (files.empty()) return {};
  StoreLock lock = access_.store_lock();
  // If this cannot be written, the files are verified again.
  if (!lock.share()) return {};
  index_.run(lock, [&](Index& index) { return index.remember(folder, files); });
  return {};
}

}  // namespace cubinet
