// SPDX-License-Identifier: Apache-2.0
#include "local/index_keeper.hpp"

#include <array>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// The time during which lookups read the record files after the index was found locked, unreadable
// or of a newer schema.
constexpr std::chrono::milliseconds kPause{1'000};

// Files that SQLite finds by the index's name and trusts: a journal is rolled back into it.
constexpr std::array<const char*, 3> kCompanions = {"-journal", "-wal", "-shm"};

fs::path companion_of(fs::path index, const char* suffix) {
  index += suffix;
  return index;
}

// SQLite's locks belong to the process, not to a connection.
ForkHazard sqlite_library;

Result<void> discard(const Result<bool>& result) {
  return result ? Result<void>() : Result<void>(result.error());
}

// An index is trusted under the same condition as records: nobody else can have written it.
const char* why_not_ours(const FileStatus& status) {
  // No link: the journal's owner may be removing it at this moment.
  if (status.type != FileStatus::Type::regular || status.links > 1) return "is no file of its own";
  return why_not_trusted(status);
}

}  // namespace

IndexKeeper::Turn::Turn(std::mutex& mutex) : lock(mutex), stay(sqlite_library.enter()) {}

IndexKeeper::~IndexKeeper() {
  if (index_ == nullptr) return;
  const Turn turn(mutex_);
  index_.reset();
}

Result<void> IndexKeeper::check_ours(const FileStatus& index) const {
  if (const char* reason = why_not_ours(index)) {
    return Error{ErrorCode::corruption, std::string("the index ") + reason};
  }
  for (const char* suffix : kCompanions) {
    const fs::path file = companion_of(store_.home().index(), suffix);
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(file));
    const char* reason = status ? why_not_ours(*status) : nullptr;
    if (reason == nullptr) continue;
    return Error{ErrorCode::corruption, "the index's '" + file.filename().string() + "' " + reason};
  }
  return {};
}

Result<Index*> IndexKeeper::usable_index(Making making, const Turn& turn) {
  if (!turn.stay) {
    return Error{ErrorCode::unsupported, "another thread was inside SQLite when this process was forked",
                 "start workers by exec (spawn)"};
  }
  if (!why_none_.empty()) return Error{ErrorCode::not_found, why_none_};
  if (index_ != nullptr && !index_->moved()) return index_.get();
  index_.reset();
  if (failure_ && std::chrono::steady_clock::now() < ask_again_) return *failure_;
  failure_.reset();  // a new failure is skipped or repaired anew
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().index()));
  const bool made_here = writable_ && making == Making::yes;
  if (!status && !made_here) return Error{ErrorCode::not_found, "there is no index"};
  ++generation_;
  if (status) CUBINET_TRY(check_ours(*status));
  const auto to_write = made_here ? Index::Mode::read_write : Index::Mode::as_it_is;
  const auto mode = writable_ ? to_write : Index::Mode::read_only;
  CUBINET_TRY_ASSIGN(index_, Index::open(store_.home().index(), mode));
  return index_.get();
}

void IndexKeeper::stop_using(const Error& error) {
  const Turn turn(mutex_);
  index_.reset();
  failure_ = error;
  ask_again_ = std::chrono::steady_clock::now() + kPause;
  const LogLevel level = std::exchange(logged_, true) ? LogLevel::debug : LogLevel::warning;
  log(store_.log_sink(), level, "the index is not used, the record files are: " + error.to_line());
}

bool IndexKeeper::make(const Error& error, StoreLock& lock) {
  const bool to_be_made = error.code == ErrorCode::not_found || error.code == ErrorCode::unavailable;
  if (!to_be_made || !writable_ || lock.held()) return false;
  auto made = lock.share();
  if (made) {
    const Turn turn(mutex_);
    if (auto index = usable_index(Making::yes, turn); !index) made = std::move(index).error();
  }
  lock.release();
  // A damaged one is replaced at the next call.
  if (made || made.error().code == ErrorCode::corruption) return true;
  stop_using(made.error());
  return false;
}

bool IndexKeeper::recover(const Error& error, unsigned generation, StoreLock& lock) {
  if (error.code == ErrorCode::not_found) return false;
  {
    const std::lock_guard guard(mutex_);
    if (failure_) return false;
  }
  if (error.code != ErrorCode::corruption || !writable_) {
    stop_using(error);
    return false;
  }
  const bool was_shared = lock.held() && !lock.exclusive();
  const bool was_free = !lock.held();
  auto replaced = lock.exclude();
  if (replaced) replaced = replace_damaged(error, generation);
  if (!replaced) stop_using(replaced.error().code == ErrorCode::busy ? error : replaced.error());
  if (was_free) lock.release();
  // Readers and publishers continue in any case: without the lock, only a race with a removal is
  // possible.
  if (was_shared) static_cast<void>(lock.share());
  return replaced.has_value();
}

// REQUIRES: the exclusive StoreLock is held, so no other process replaces the index at the same
// time.
Result<void> IndexKeeper::replace_damaged(const Error& error, unsigned generation) {
  const Turn turn(mutex_);
  if (generation != generation_) return {};             // another thread did
  if (index_ != nullptr && index_->moved()) return {};  // another process did
  // An index that could not be opened may have been replaced before the lock was taken. In an open
  // one, a newer build may have created its schema, so our statements fail as with a damaged index.
  const bool was_open = index_ != nullptr;
  index_.reset();
  auto again = usable_index(Making::yes, turn);
  if (again && !was_open) return {};
  if (!again && again.error().code != ErrorCode::corruption) return std::move(again).error();
  index_.reset();
  const fs::path file = store_.home().index();
  // An index outside the home is on another file system, so it cannot be moved to the quarantine.
  const bool is_copy = file.parent_path() != store_.home().root();
  const auto put_away = [&](const fs::path& path, const std::string& reason) {
    return is_copy ? store_.files().remove(path).has_value() : store_.set_aside(path, reason);
  };
  if (!put_away(file, error.message)) return error;
  for (const char* suffix : kCompanions) {
    const fs::path companion = companion_of(file, suffix);
    const auto status = store_.files().status(companion);
    if (status && *status) put_away(companion, "belongs to the damaged index");
  }
  log(store_.log_sink(), LogLevel::warning, "making the index anew");
  CUBINET_TRY(usable_index(Making::yes, turn));
  return {};
}

Result<void> IndexKeeper::rebuild(std::span<const StoredRecord> records) {
  if (!why_none_.empty()) return {};
  const Turn turn(mutex_);
  index_.reset();
  failure_.reset();  // the new state decides
  const auto there = usable_index(Making::no, turn);
  if (!there && there.error().code == ErrorCode::unsupported) return there.error();
  index_.reset();
  const fs::path file = store_.home().index();
  const fs::path fresh = temporary_path_beside(file);
  const auto written = [&]() -> Result<void> {
    CUBINET_TRY_ASSIGN(const auto index, Index::open(fresh, Index::Mode::read_write));
    return index->update(records, {});
  }();
  // The journal belongs to the old index and must not be rolled back into the new one.
  auto placed = written;
  for (const char* suffix : kCompanions) {
    if (placed) placed = discard(store_.files().remove(companion_of(file, suffix)));
  }
  if (placed) placed = store_.files().rename(fresh, file);
  if (!placed) {
    static_cast<void>(store_.files().remove(fresh));
    return placed;
  }
  return store_.files().sync_directory(file.parent_path());
}

std::optional<Error> IndexKeeper::why_unusable() {
  const Turn turn(mutex_);
  auto index = usable_index(Making::no, turn);
  if (index) return std::nullopt;
  return std::move(index).error();
}

void IndexKeeper::abandon() {
  // A thread that does not exist in the child may hold the mutex forever.
  if (index_ != nullptr) {
    index_->abandon();
    static_cast<void>(index_.release());
  }
}

}  // namespace cubinet
