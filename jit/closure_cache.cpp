// SPDX-License-Identifier: Apache-2.0
#include "closure_cache.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumClosures = 256;
// The limit for texts kept until their compilation. CUB's block reduce has 10 MB. Texts beyond it
// are read again.
constexpr std::size_t kMaximumTextBytes = std::size_t{32} << 20;

std::size_t text_bytes(const IncludeClosure& closure) {
  std::size_t bytes = closure.source.size();
  for (const CompilerHeader& header : closure.headers)
    bytes += header.text.size();
  return bytes;
}

std::shared_ptr<const IncludeClosure> without_texts(const IncludeClosure& closure) {
  auto lean = std::make_shared<IncludeClosure>();
  lean->digest = closure.digest;
  lean->stamps = closure.stamps;
  lean->settled = closure.settled;
  lean->constants = closure.constants;
  lean->unused_words = closure.unused_words;
  lean->missing.resize(closure.missing.size());  // keeps only their number
  return lean;
}

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
  const auto full = std::make_shared<const IncludeClosure>(std::move(closure));
  auto made = without_texts(*full);
  if (!made->settled) return made;
  const std::lock_guard lock(mutex_);
  if (closures_.size() >= kMaximumClosures) closures_.clear();
  closures_.insert_or_assign(key, made);
  keep_for_compilation(key, full);
  return made;
}

Result<std::shared_ptr<const IncludeClosure>> ClosureCache::take(
    const std::shared_ptr<const KernelTemplate>& kernel_template, const HeaderSearch& search) {
  const auto kept = kept_for_compilation({kernel_template, search});
  if (kept != nullptr && kept->still_valid(probe_)) return kept;
  CUBINET_TRY_ASSIGN(IncludeClosure closure, close_over_includes(*kernel_template, search, probe_));
  return std::make_shared<const IncludeClosure>(std::move(closure));
}

void ClosureCache::keep_for_compilation(const Key& key, std::shared_ptr<const IncludeClosure> closure) {
  std::erase_if(awaited_, [&](const auto& awaited) { return awaited.first == key; });
  std::size_t bytes = text_bytes(*closure);
  awaited_.emplace_back(key, std::move(closure));
  for (auto older = awaited_.rbegin() + 1; older != awaited_.rend(); ++older)
    bytes += text_bytes(*older->second);
  for (; bytes > kMaximumTextBytes; awaited_.pop_front())
    bytes -= text_bytes(*awaited_.front().second);
}

std::shared_ptr<const IncludeClosure> ClosureCache::kept_for_compilation(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(awaited_.begin(), awaited_.end(),
                                  [&](const auto& awaited) { return awaited.first == key; });
  if (found == awaited_.end()) return nullptr;
  auto closure = std::move(found->second);
  awaited_.erase(found);
  return closure;
}

}  // namespace cubinet
