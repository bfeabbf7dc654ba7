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

// The closures of templates over where their headers are looked for, kept while no file of theirs has
// changed. Thread-safe.
class ClosureCache {
 public:
  explicit ClosureCache(FileProbe probe = {}) : probe_(std::move(probe)) {}

  // Without the texts. One whose files were edited a moment ago is not kept: their next edit might not show.
  Result<std::shared_ptr<const IncludeClosure>> get(
      const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search);
  // With the texts, to compile them: those that get() read a moment ago, where the files are what they were,
  // so that looking a kernel up and then compiling it reads its headers once. They are not kept any longer.
  Result<std::shared_ptr<const IncludeClosure>> take(
      const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search);

 private:
  // Holds the template, so that no other can come to lie at its address.
  using Key = std::pair<std::shared_ptr<const KernelTemplate>, HeaderSearch>;

  void keep_for_compilation(const Key& key, std::shared_ptr<const IncludeClosure> closure);
  std::shared_ptr<const IncludeClosure> kept_for_compilation(const Key& key);

  const FileProbe probe_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const IncludeClosure>> closures_;  // guarded by mutex_; settled ones only
  // With their texts, for a compilation that may follow; the newest last. Guarded by mutex_.
  std::deque<std::pair<Key, std::shared_ptr<const IncludeClosure>>> awaited_;
};

}  // namespace cubinet
