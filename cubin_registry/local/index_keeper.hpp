// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"
#include "local/index.hpp"
#include "local/store_lock.hpp"

#include <cubinet/base/fork_guard.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace cubinet {

// Keeps the index usable. If there is no usable index at the moment, callers get nullopt and read
// the record files, which have the same content. A damaged index is moved to quarantine/ and
// replaced by a new one, which fills while records are listed. An index of a newer schema is not
// changed. That one, and one that is locked or unreadable, is skipped for a while. A process that
// was forked while another thread was inside SQLite has no index, because SQLite's global locks may
// be held forever there.
//
// Thread-safe. Lock order: StoreLock before this object's mutex. An index is replaced only under
// the exclusive StoreLock. Rows are written, and the index is created, only under the shared one.
// So nobody writes to an index while it is replaced: its journal is found by name and would be
// rolled back into the new one.
class IndexKeeper {
 public:
  // `why_none` is the reason why there must be no index. Empty: there may be one.
  IndexKeeper(FileStore& store, bool writable, std::string why_none)
      : store_(store), writable_(writable), why_none_(std::move(why_none)) {}
  ~IndexKeeper();

  // Calls `ask(index)`, which returns a Result<T>. Returns nullopt if there is no usable index. May
  // release and retake the caller's `lock`, which is in its original state afterwards.
  template <class Ask>
  auto use(StoreLock& lock, Ask&& ask)
      -> std::optional<typename std::invoke_result_t<Ask, Index&>::value_type>;
  // Does the same for a call without a value. Returns whether it succeeded. REQUIRES: `lock` is
  // held if `ask` writes.
  template <class Ask>
  bool run(StoreLock& lock, Ask&& ask);

  // Makes one attempt and changes nothing, independent of the result.
  template <class Ask>
  auto look(Ask&& ask) -> std::invoke_result_t<Ask, Index&> {
    unsigned generation = 0;
    return try_once(std::forward<Ask>(ask), Making::no, generation);
  }

  // Writes these records to a new index that replaces the existing file. Returns unsupported for an
  // index of a newer schema, which stays. Does nothing if there must be no index. REQUIRES: the
  // exclusive StoreLock.
  Result<void> rebuild(std::span<const StoredRecord> records);
  // Returns the reason why there is no index, for `verify`, or nullopt.
  std::optional<Error> why_unusable();
  // Drops the connection in a forked child, where it must be neither used nor closed.
  void abandon();

 private:
  // Whether a missing index may be created. Only holders of the StoreLock create it.
  enum class Making { no, yes };
  static Making making(const StoreLock& lock) { return lock.held() ? Making::yes : Making::no; }
  // Held during calls of SQLite.
  struct Turn {
    explicit Turn(std::mutex& mutex);
    const std::lock_guard<std::mutex> lock;
    const ForkHazard::Stay stay;
  };

  // Accesses the index under the mutex. `generation` identifies the index that was used.
  template <class Ask>
  auto try_once(Ask&& ask, Making making, unsigned& generation) -> std::invoke_result_t<Ask, Index&>;
  Result<Index*> usable_index(Making making, const Turn& turn);
  // Handles an error of a caller without the lock. Returns true if the index was created.
  bool make(const Error& error, StoreLock& lock);
  // Returns an error (corruption) if the index, or a file that SQLite finds by its name, may have
  // been written by another user.
  Result<void> check_ours(const FileStatus& index) const;
  // Handles an error. Returns true if the index was replaced and the call may be repeated.
  bool recover(const Error& error, unsigned generation, StoreLock& lock);
  // Returns the reason why there is no usable index afterwards.
  Result<void> replace_damaged(const Error& error, unsigned generation);
  void stop_using(const Error& error);

  FileStore& store_;
  bool writable_;
  std::string why_none_;
  std::mutex mutex_;
  std::unique_ptr<Index> index_;
  unsigned generation_ = 0;       // number of opened indexes
  std::optional<Error> failure_;  // the reason while the index is skipped
  std::chrono::steady_clock::time_point ask_again_{};
  bool logged_ = false;
};

template <class Ask>
auto IndexKeeper::try_once(Ask&& ask, Making making, unsigned& generation)
    -> std::invoke_result_t<Ask, Index&> {
  const Turn turn(mutex_);
  auto index = usable_index(making, turn);
  generation = generation_;
  if (!index) return std::move(index).error();
  return ask(**index);
}

template <class Ask>
auto IndexKeeper::use(StoreLock& lock, Ask&& ask)
    -> std::optional<typename std::invoke_result_t<Ask, Index&>::value_type> {
  if (!why_none_.empty()) return std::nullopt;
  unsigned generation = 0;
  auto answer = try_once(ask, making(lock), generation);
  if (!answer && make(answer.error(), lock)) answer = try_once(ask, making(lock), generation);
  if (!answer && recover(answer.error(), generation, lock)) answer = try_once(ask, making(lock), generation);
  if (!answer) return std::nullopt;
  return *std::move(answer);
}

template <class Ask>
bool IndexKeeper::run(StoreLock& lock, Ask&& ask) {
  return use(lock,
             [&](Index& index) -> Result<bool> {
               CUBINET_TRY(ask(index));
               return true;
             })
      .has_value();
}

}  // namespace cubinet
