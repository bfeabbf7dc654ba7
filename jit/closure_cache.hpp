// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include_closure.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cubinet {

// A cache of include closures, by template and header search. An entry is valid while none of its
// files changes. Thread-safe.
class ClosureCache {
 public:
  explicit ClosureCache(FileProbe probe = {}) : probe_(std::move(probe)) {}

  // Returns a closure without texts. A closure of files that were edited just now is not cached,
  // because file times may not show the next edit.
  Result<std::shared_ptr<const IncludeClosure>> get(
      const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search);
  // Returns a closure with texts, for compiling. Reuses the texts that get() just read if the files
  // are unchanged, so a look-up and its compilation read the headers once. The texts are then
  // dropped.
  Result<std::shared_ptr<const IncludeClosure>> take(
      const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search);

 private:
  // The key owns the template, so no other template can have its address.
  using Key = std::pair<std::shared_ptr<const KernelTemplate>, HeaderSearch>;

  void keep_for_compilation(const Key& key, std::shared_ptr<const IncludeClosure> closure);
  std::shared_ptr<const IncludeClosure> kept_for_compilation(const Key& key);

  const FileProbe probe_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const IncludeClosure>> closures_;  // guarded by mutex_; settled ones only
  // Closures with texts, for a compilation that may follow; newest last. Guarded by mutex_.
  std::deque<std::pair<Key, std::shared_ptr<const IncludeClosure>>> awaited_;
};

}  // namespace cubinet
