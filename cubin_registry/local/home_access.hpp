// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"
#include "local/store_lock.hpp"

#include <cubinet/base/fork_guard.hpp>

#include <filesystem>
#include <string>

namespace cubinet {

// The permitted operations of an open home, and its lock. Refers to the store, which must outlive
// it.
class HomeAccess {
 public:
  // `why_read_only` is StoreDescription::why_read_only.
  HomeAccess(FileStore& store, bool writable, std::string why_read_only = {})
      : store_(store),
        writable_(writable),
        why_read_only_(std::move(why_read_only)),
        lock_path_(store.home().store_lock()) {}

  bool writable() const { return writable_; }
  bool in_original_process() const { return fork_guard_.in_original_process(); }
  // Returns unavailable in a process forked after the home was opened: SQLite's connection and the
  // locks belong to the parent.
  Result<void> check_process() const;
  Result<void> check_writable() const;

  const std::filesystem::path& lock_path() const { return lock_path_; }
  StoreLock store_lock() const {
    return StoreLock(store_.files(), lock_path_, store_.log_sink(), &lock_holders_);
  }
  // Returns how often a lock of store_lock() was held and released. Everything that changes builds
  // or measurements holds it.
  std::uint64_t lock_holders() const { return lock_holders_.load(std::memory_order_acquire); }

 private:
  FileStore& store_;
  bool writable_;
  std::string why_read_only_;
  std::filesystem::path lock_path_;
  ForkGuard fork_guard_;
  mutable std::atomic<std::uint64_t> lock_holders_{0};
};

}  // namespace cubinet
