// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <set>

namespace cubinet {

// What is said of a home's content by those who keep it: which kernels stay, and how much may lie there. A
// pin is an empty file that a key names, so that two who pin cannot get into each other's way; the limit is a
// line of text, written whole or not at all.

Result<std::set<KernelKey>> read_pins(const FileStore& store);
Result<void> write_pin(FileStore& store, KernelKey key);
Result<bool> remove_pin(FileStore& store, KernelKey key);

// corruption or untrusted where the file says no limit that could be believed.
Result<std::optional<SizeLimit>> read_limit(const FileStore& store);
Result<void> write_limit(FileStore& store, const std::optional<SizeLimit>& limit);
Result<void> check_limit(const SizeLimit& limit);

// When a publisher counts what the home holds: not each time. What others publish meanwhile is seen after a
// minute. Thread-safe.
class LimitWatch {
 public:
  bool is_due(std::uint64_t published);
  // `bytes`: that are there now; nullopt where that could not be told.
  void counted(std::optional<std::uint64_t> bytes, const SizeLimit& limit);

 private:
  std::mutex mutex_;
  std::uint64_t published_ = 0;  // since they were counted
  std::uint64_t room_ = 0;
  std::chrono::steady_clock::time_point earliest_{};
  std::chrono::steady_clock::time_point latest_{};
};

}  // namespace cubinet
