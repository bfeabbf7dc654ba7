// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_lock.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace cubinet {

// The limits: longer than any publish takes on a working disk, and the limit of work that can be
// postponed.
inline constexpr std::chrono::milliseconds kStoreLockLimit{10'000};
inline constexpr std::chrono::milliseconds kShortWait{50};

// The lock between processes that add to a home (shared) and those that remove from it or replace
// its index (exclusive). Not reentrant: two of these in one thread deadlock. Not thread-safe.
class StoreLock {
 public:
  // Does not access the file before it is used. Refers to its arguments. `holders`, if not null,
  // counts the times that the lock was held, and grows when it is released.
  StoreLock(FileSystem& files, const std::filesystem::path& path, const LogSink& log,
            std::atomic<std::uint64_t>* holders = nullptr)
      : files_(files), path_(path), log_(log), holders_(holders) {}
  ~StoreLock() { release(); }
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

  Result<void> share() { return take(State::shared, kStoreLockLimit); }
  // Releases a shared lock first, so content read under it may have changed.
  Result<void> exclude(std::chrono::milliseconds limit = kStoreLockLimit) {
    return take(State::exclusive, limit);
  }
  void release();

  bool held() const { return state_ != State::none; }
  bool exclusive() const { return state_ == State::exclusive; }
  // Returns false if the file system has no locks: others may be active.
  bool real() const { return lock_ != nullptr; }

 private:
  enum class State { none, shared, exclusive };
  Result<void> take(State wanted, std::chrono::milliseconds limit);

  FileSystem& files_;
  const std::filesystem::path& path_;
  const LogSink& log_;
  std::atomic<std::uint64_t>* holders_;
  std::unique_ptr<FileLock> lock_;
  State state_ = State::none;
};

}  // namespace cubinet
