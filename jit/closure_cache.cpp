// SPDX-License-Identifier: Apache-2.0
#include "closure_cache.hpp"

namespace cubinet {
namespace {

constexpr std::size_t kMaximumClosures = 256;

}  // namespace

Result<std::shared_ptr<const IncludeClosure>> ClosureCache::get(
    const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search) {
  const Key key{kernel_template, search};
  std::shared_ptr<const IncludeClosure> known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = closures_.find(key);
    if (found != closures_.end()) known = found->second;
  }
  if (known != nullptr && known->still_valid(probe_)) return known;
  CUBINET_TRY_ASSIGN(IncludeClosure closure, close_over_includes(*kernel_template, search, probe_));
  closure.source = {};
  closure.headers = {};
  for (MissingHeader& missing : closure.missing)
    missing.places = {};
  auto made = std::make_shared<const IncludeClosure>(std::move(closure));
  if (!made->settled) return made;
  const std::lock_guard lock(mutex_);
  if (closures_.size() >= kMaximumClosures) closures_.clear();
  closures_.insert_or_assign(key, made);
  return made;
}

}  // namespace cubinet
