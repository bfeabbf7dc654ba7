// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include_closure.hpp"

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

  // Without the texts: whoever compiles them takes them anew. One whose files were edited a moment ago is not
  // kept: their next edit might not show.
  Result<std::shared_ptr<const IncludeClosure>> get(
      const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search);

 private:
  // Holds the template, so that no other can come to lie at its address.
  using Key = std::pair<std::shared_ptr<const KernelTemplate>, HeaderSearch>;

  const FileProbe probe_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const IncludeClosure>> closures_;  // guarded by mutex_; settled ones only
};

}  // namespace cubinet
