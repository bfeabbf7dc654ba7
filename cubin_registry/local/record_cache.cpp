// SPDX-License-Identifier: Apache-2.0
#include "local/record_cache.hpp"

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecond = 1'000'000'000;
// 64 records take 0.2 ms, a fifth of a Runtime's first hit.
constexpr std::size_t kFewRecords = 64;

// Returns how long a folder may change without a new modification time. The kernel's clock of files
// has a resolution of at most 10 ms. A resolution of one or two seconds is visible in the time.
std::int64_t tick_of(std::int64_t modified_ns) {
  return modified_ns % kSecond == 0 ? 5 * kSecond / 2 : kSecond / 20;
}

}  // namespace

FolderStamp FolderStamp::of(const FileStatus& status, std::chrono::system_clock::time_point now) {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
  const std::int64_t now_ns = since_epoch.count();
  return {status.modified_ns, status.inode, now_ns - status.modified_ns > tick_of(status.modified_ns)};
}

Result<void> RecordCache::refresh(std::size_t number, Look look) {
  Folder& folder = folders_[number];
  if (folder.stamp.settled && folder.open != nullptr && look == Look::in_open_folder) {
    const auto status = folder.open->status();
    if (status && status->links > 0 && folder.stamp.still_is(*status)) return {};
  }
  if (folder.stamp.settled) {
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().record_folder(number)));
    if (status && folder.stamp.still_is(*status)) return {};
  }
  const auto now = std::chrono::system_clock::now();
  auto listing = store_.list_records(number);
  if (!listing && listing.error().code != ErrorCode::not_found) return std::move(listing).error();
  auto known = folder.records.begin();
  folder.stamp = {};
  folder.open = nullptr;
  if (listing) {
    // Both are ordered by name. While others publish, every lookup does this.
    for (std::string& name : listing->names) {
      while (known != folder.records.end() && known->first < name)
        known = folder.records.erase(known);
      if (known != folder.records.end() && known->first == name)
        ++known;
      else
        folder.records.emplace_hint(known, std::move(name), StoredRecord{});
    }
    folder.stamp = FolderStamp::of(listing->status, now);
    if (folder.stamp.settled) folder.open = store_.files().open_folder(store_.home().record_folder(number));
  }
  folder.records.erase(known, folder.records.end());
  return {};
}

Result<bool> RecordCache::read(Folder& folder, const std::string& name) {
  auto record = store_.read_record(name);
  if (record) {
    folder.records[name] = *std::move(record);
    return true;
  }
  const Error& error = record.error();
  if (error.code == ErrorCode::not_found) return false;  // removed since it was listed
  if (!names_nothing(error) && error.code != ErrorCode::unsupported) return error;
  log(store_.log_sink(), LogLevel::warning, "record skipped: " + error.to_line());
  return false;
}

void RecordCache::read_few_at_once() {
  if (looked_up_.exchange(true)) return;
  std::size_t count = 0;
  for (std::size_t number = 0; number < folders_.size(); ++number) {
    const std::lock_guard lock(folders_[number].mutex);
    if (!refresh(number, Look::by_path)) return;
    count += folders_[number].records.size();
    if (count > kFewRecords) return;
  }
  for (Folder& folder : folders_) {
    const std::lock_guard lock(folder.mutex);
    for (auto& [name, stored] : folder.records) {
      if (stored.record != nullptr) continue;
      if (auto record = store_.read_record(name)) stored = *std::move(record);
    }
  }
}

Result<std::vector<StoredRecord>> RecordCache::of_kernel(const KernelId& kernel) {
  read_few_at_once();
  const std::size_t number = HomeLayout::record_folder_of(kernel.hash());
  Folder& folder = folders_[number];
  const std::lock_guard lock(folder.mutex);
  CUBINET_TRY(refresh(number, Look::in_open_folder));
  auto found = listed_of(folder, kernel);
  // A folder that was just listed was listed by its path.
  if (!found || !found->empty() || folder.open == nullptr) return found;
  CUBINET_TRY(refresh(number, Look::by_path));
  return listed_of(folder, kernel);
}

Result<std::vector<StoredRecord>> RecordCache::listed_of(Folder& folder, const KernelId& kernel) {
  const std::string prefix = entry_prefix(kernel.hash());
  std::vector<StoredRecord> found;
  const auto first = folder.records.lower_bound(prefix);
  for (auto entry = first; entry != folder.records.end() && entry->first.starts_with(prefix); ++entry) {
    if (entry->second.record == nullptr) {
      CUBINET_TRY_ASSIGN(const bool good, read(folder, entry->first));
      if (!good) continue;
    }
    if (entry->second.record->identity.is_of(kernel)) found.push_back(entry->second);
  }
  return found;
}

std::vector<Error> RecordCache::unreadable(const KernelId& kernel) {
  const std::size_t number = HomeLayout::record_folder_of(kernel.hash());
  Folder& folder = folders_[number];
  const std::string prefix = entry_prefix(kernel.hash());
  const std::lock_guard lock(folder.mutex);
  std::vector<Error> errors;
  if (!refresh(number, Look::by_path)) return errors;  // of_kernel() returns this error
  const auto first = folder.records.lower_bound(prefix);
  for (auto entry = first; entry != folder.records.end() && entry->first.starts_with(prefix); ++entry) {
    if (entry->second.record != nullptr) continue;
    auto record = store_.read_record(entry->first);
    if (!record && record.error().code != ErrorCode::not_found) errors.push_back(std::move(record).error());
  }
  return errors;
}

Result<RecordCache::All> RecordCache::all(const std::function<Rows()>& read_rows) {
  CUBINET_TRY_ASSIGN(const std::vector<std::string> names, store_.list_or_nothing(store_.home().records()));
  std::vector<std::pair<Folder*, std::size_t>> there;
  std::size_t unread = 0;
  for (const std::string& name : names) {
    const auto number = HomeLayout::record_folder_called(name);
    if (!number) continue;
    Folder& folder = folders_[*number];
    const std::lock_guard lock(folder.mutex);
    CUBINET_TRY(refresh(*number, Look::by_path));
    there.emplace_back(&folder, *number);
    for (const auto& [entry, stored] : folder.records)
      unread += stored.record == nullptr ? 1U : 0U;
  }
  All all;
  Rows rows;
  if (unread > 0) rows = read_rows();
  for (const auto& [folder, number] : there) {
    const std::lock_guard lock(folder->mutex);
    for (auto& [name, stored] : folder->records) {
      if (stored.record == nullptr) {
        if (const auto row = rows.find(name); row != rows.end()) {
          stored = row->second;
        } else {
          CUBINET_TRY_ASSIGN(const bool good, read(*folder, name));
          if (!good) continue;
          all.from_files.push_back(stored);
        }
      }
      rows.erase(name);
      all.records.push_back(stored);
    }
  }
  for (auto& [name, row] : rows)
    all.gone.push_back(name);
  return all;
}

}  // namespace cubinet
