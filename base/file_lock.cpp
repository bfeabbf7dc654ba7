// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_lock.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

namespace cubinet {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::microseconds kFirstPause{200};
constexpr std::chrono::microseconds kLongestPause{20'000};

}  // namespace

bool knows_no_locks(const Error& error) {
  return error.native == ENOLCK || error.native == EOPNOTSUPP || error.native == ENOSYS ||
         error.native == EINVAL;
}

Result<std::unique_ptr<FileLock>> lock_within(FileSystem& files, const std::filesystem::path& path,
                                              FileSystem::Sharing sharing, milliseconds limit,
                                              const LogSink& log) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto pause = kFirstPause;
  while (true) {
    auto lock = files.lock(path, sharing);
    if (!lock && !knows_no_locks(lock.error())) return std::move(lock).error();
    if (!lock) {
      cubinet::log(log, LogLevel::warning, "going on without a lock: " + lock.error().to_line());
      return std::unique_ptr<FileLock>();
    }
    if (*lock) return lock;
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{ErrorCode::busy,
                   "'" + path.string() + "' is locked by another process for more than " +
                       std::to_string(limit.count() / 1000) + " s",
                   "find the process that holds it, with `fuser` say, and let it finish or end it"};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace cubinet
