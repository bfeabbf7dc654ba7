// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <set>

namespace cubinet {

// The pins and the limit of a home. A pin is an empty file named by a key, so concurrent pins do
// not conflict. The limit is a line of text, written atomically.

Result<std::set<KernelKey>> read_pins(const FileStore& store);
Result<void> write_pin(FileStore& store, KernelKey key);
Result<bool> remove_pin(FileStore& store, KernelKey key);

// Returns corruption or untrusted if the file cannot be used.
Result<std::optional<SizeLimit>> read_limit(const FileStore& store);
Result<void> write_limit(FileStore& store, const std::optional<SizeLimit>& limit);
Result<void> check_limit(const SizeLimit& limit);

// Decides when a publisher counts the home's bytes, which is not done at every publish. Bytes that
// others publish are noticed after a minute. Thread-safe.
class LimitWatch {
 public:
  bool is_due(std::uint64_t published);
  // Records a count. `bytes` is the current total; nullopt if it could not be determined.
  void counted(std::optional<std::uint64_t> bytes, const SizeLimit& limit);

 private:
  std::mutex mutex_;
  std::uint64_t published_ = 0;  // since the last count
  std::uint64_t room_ = 0;
  std::chrono::steady_clock::time_point earliest_{};
  std::chrono::steady_clock::time_point latest_{};
};

}  // namespace cubinet
