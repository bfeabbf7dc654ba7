// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace cubinet {

// Takes a file lock, asking again and again until `limit` has passed: a stopped process must not stop others
// for good. busy when it stays taken. Where the file system knows no locks the answer is nullptr after a line
// in the log: those who build, publish or remove then go on without, which can cost a build but never serves
// wrong bytes. A lock file that cannot be opened is an error.
Result<std::unique_ptr<FileLock>> lock_within(FileSystem& files, const std::filesystem::path& path,
                                              FileSystem::Sharing sharing, std::chrono::milliseconds limit,
                                              const LogSink& log);

// Longer than any publish takes on a working disk; and for what may as well be done later.
inline constexpr std::chrono::milliseconds kStoreLockLimit{10'000};
inline constexpr std::chrono::milliseconds kShortWait{50};

// The lock between those who add to a home (shared) and those who take away from it or replace its index
// (exclusive). Not reentrant: two of these in one thread wait for each other. Not thread-safe.
class StoreLock {
 public:
  // Touches nothing before it is asked to; refers to its arguments.
  StoreLock(FileSystem& files, const std::filesystem::path& path, const LogSink& log)
      : files_(files), path_(path), log_(log) {}

  Result<void> share() { return take(State::shared, kStoreLockLimit); }
  // Gives up a shared lock first: what was read under it may have changed.
  Result<void> exclude(std::chrono::milliseconds limit = kStoreLockLimit) {
    return take(State::exclusive, limit);
  }
  void release();

  bool held() const { return state_ != State::none; }
  bool exclusive() const { return state_ == State::exclusive; }
  // False where the file system has no locks: others may be at work.
  bool real() const { return lock_ != nullptr; }

 private:
  enum class State { none, shared, exclusive };
  Result<void> take(State wanted, std::chrono::milliseconds limit);

  FileSystem& files_;
  const std::filesystem::path& path_;
  const LogSink& log_;
  std::unique_ptr<FileLock> lock_;
  State state_ = State::none;
};

}  // namespace cubinet
