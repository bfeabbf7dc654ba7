// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>

#include <chrono>
#include <filesystem>
#include <memory>

namespace cubinet {

// Returns whether FileSystem::lock failed because the file system does not support flock.
bool knows_no_locks(const Error& error);

// Takes a file lock, with retries until `limit` has passed, so that a stopped process does not
// block others forever. Returns busy if it stays taken. If the file system has no locks, logs a
// line and returns nullptr: builds, publishes and removals then continue without a lock, which can
// waste a build but never returns wrong bytes. A lock file that cannot be opened is an error.
Result<std::unique_ptr<FileLock>> lock_within(FileSystem& files, const std::filesystem::path& path,
                                              FileSystem::Sharing sharing, std::chrono::milliseconds limit,
                                              const LogSink& log);

}  // namespace cubinet
