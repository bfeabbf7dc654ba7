// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/selection/selection.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cubinet {

// What a selection depends on, and nothing else: two problems of one bucket have the same selection, launch
// and workspace included. The only field that is not kept exactly is kv_len, which counts in 16s (no kernel
// steps or splits KV more finely), and a window or chunk that cuts nothing off.
using ProblemBucket = std::array<std::uint64_t, 8>;
ProblemBucket bucket_of(const AttentionProblem& problem);

// Selections that were made before. For one device, table and policy; not thread-safe, one for each thread.
// Holds at most `capacity` selections and forgets all of them when one more comes.
class SelectionCache {
 public:
  SelectionCache(DeviceFacts device, std::shared_ptr<const KernelIndex> index, SelectionPolicy policy,
                 std::size_t capacity = 4096);

  // As cubinet::select. The pointer is valid until the next call. Errors are not kept.
  Result<const Selection*> select(const AttentionProblem& problem);

  std::size_t size() const { return selections_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const ProblemBucket& bucket) const;
  };

  DeviceFacts device_;
  std::shared_ptr<const KernelIndex> index_;
  SelectionPolicy policy_;
  std::size_t capacity_;
  Selection uncached_;
  std::unordered_map<ProblemBucket, Selection, Hash> selections_;
};

}  // namespace cubinet
