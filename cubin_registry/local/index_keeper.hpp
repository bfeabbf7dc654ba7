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

// Keeps the index usable, or does without it. Whoever asks gets nullopt where there is no usable index just
// now and turns to the record files, which hold the same. A damaged index is moved to quarantine/ and a new
// one begun, which fills while records are listed; one of a newer schema is left alone; that one, and one
// that is locked or cannot be read, is passed over for a while. In a process that was forked while another
// thread was inside SQLite there is none: SQLite's global locks may be held for ever there.
//
// Thread-safe. The lock order is StoreLock before the mutex in here. An index is replaced only under the
// exclusive StoreLock, and rows are written, and the index made, only under the shared one, so that nobody is
// in the middle of writing to one that is replaced (its journal is found by name: that of another file would
// be rolled back into the new one).
class IndexKeeper {
 public:
  // `why_none`: empty, unless there may be no index at all.
  IndexKeeper(FileStore& store, bool writable, std::string why_none)
      : store_(store), writable_(writable), why_none_(std::move(why_none)) {}
  ~IndexKeeper();

  // Calls `ask(index)`, which gives a Result<T>; nullopt where that is not possible. `lock` is the caller's:
  // it may be given up and taken again, and is as it was afterwards.
  template <class Ask>
  auto use(StoreLock& lock, Ask&& ask)
      -> std::optional<typename std::invoke_result_t<Ask, Index&>::value_type>;
  // The same for a question whose answer has no value: whether it was carried out. REQUIRES: `lock` is held
  // where `ask` writes.
  template <class Ask>
  bool run(StoreLock& lock, Ask&& ask);

  // Asks once and changes nothing, whatever the answer.
  template <class Ask>
  auto look(Ask&& ask) -> std::invoke_result_t<Ask, Index&> {
    unsigned generation = 0;
    return try_once(std::forward<Ask>(ask), Making::no, generation);
  }

  // Writes these records to a new index and puts it in the place of what is there, whatever that is. Nothing
  // but a newer build's index stays: that is unsupported. Nothing is done where there may be none. REQUIRES:
  // the exclusive StoreLock.
  Result<void> rebuild(std::span<const StoredRecord> records);
  // Why there is no index, for `verify`; nullopt when there is one.
  std::optional<Error> why_unusable();
  // In a forked child, where the connection must be neither used nor closed.
  void abandon();

 private:
  // Whether an index that is missing is made: by whoever holds the StoreLock.
  enum class Making { no, yes };
  static Making making(const StoreLock& lock) { return lock.held() ? Making::yes : Making::no; }
  // Held by whoever calls SQLite.
  struct Turn {
    explicit Turn(std::mutex& mutex);
    const std::lock_guard<std::mutex> lock;
    const ForkHazard::Stay stay;
  };

  // A look at the index under the mutex. `generation` tells which one it was.
  template <class Ask>
  auto try_once(Ask&& ask, Making making, unsigned& generation) -> std::invoke_result_t<Ask, Index&>;
  Result<Index*> usable_index(Making making, const Turn& turn);
  // What follows an error of one who does not hold the lock: true when the index was made.
  bool make(const Error& error, StoreLock& lock);
  // corruption where the index, or a file that SQLite finds by its name, could be somebody else's work.
  Result<void> check_ours(const FileStatus& index) const;
  // What follows an error: true when the index was replaced and the question may be asked again.
  bool recover(const Error& error, unsigned generation, StoreLock& lock);
  // The error is why there is no usable index afterwards.
  Result<void> replace_damaged(const Error& error, unsigned generation);
  void pass_over(const Error& error);

  FileStore& store_;
  bool writable_;
  std::string why_none_;
  std::mutex mutex_;
  std::unique_ptr<Index> index_;
  unsigned generation_ = 0;           // counts the indexes opened
  std::optional<Error> passed_over_;  // why, while it is
  std::chrono::steady_clock::time_point ask_again_{};
  bool told_ = false;
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
