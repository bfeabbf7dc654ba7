// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/selection_cache.hpp>

#include <xxhash.h>

#include <utility>

namespace cubinet {
namespace {

// Divides every step of KV, every split's granularity and the bound of MLA's rule.
constexpr std::uint64_t kKvGranularity = 16;

template <class Value>
std::uint64_t at(Value value, unsigned bit) {
  return static_cast<std::uint64_t>(value) << bit;
}

bool cuts_off(const AttentionProblem& problem) {
  return problem.kv_len > problem.window || problem.chunk != kUnlimited;
}

// Lengths over the limit are errors that rounding would hide.
bool may_be_kept(const AttentionProblem& problem) {
  return problem.kv_len <= kUnlimited && problem.window <= kUnlimited;
}

}  // namespace

ProblemBucket bucket_of(const AttentionProblem& problem) {
  const bool cut = cuts_off(problem);
  const std::uint64_t kv = (problem.kv_len + kKvGranularity - 1) / kKvGranularity;
  const bool longer_q = problem.q_len > problem.kv_len;
  return {at(problem.batch, 0) | at(problem.q_len, 32),
          at(kv, 0) | at(problem.tokens_per_page, 32),
          at(problem.heads_q, 0) | at(problem.heads_kv, 32),
          at(problem.head_dim_qk, 0) | at(problem.head_dim_v, 32),
          cut ? at(problem.window, 0) | at(problem.chunk, 32) : 0,
          at(problem.data_type_q, 0) | at(problem.data_type_k, 8) | at(problem.data_type_v, 16) |
              at(problem.data_type_o, 24) | at(problem.layout, 32) | at(problem.mask, 40) |
              at(problem.sparse, 48) | at(problem.phase, 56) | at(problem.skips_softmax, 60) | at(cut, 61) |
              at(longer_q, 62) | at(problem.sinks, 63),
          at(problem.top_k, 0),
          at(problem.sage_block[0], 0) | at(problem.sage_block[1], 16) | at(problem.sage_block[2], 32) |
              at(problem.sage_block[3], 48)};
}

std::size_t SelectionCache::Hash::operator()(const ProblemBucket& bucket) const {
  return XXH3_64bits(bucket.data(), sizeof(bucket));
}

SelectionCache::SelectionCache(DeviceFacts device, std::shared_ptr<const KernelIndex> index,
                               SelectionPolicy policy, std::size_t capacity)
    : device_(device), index_(std::move(index)), policy_(std::move(policy)), capacity_(capacity) {}

Result<const Selection*> SelectionCache::select(const AttentionProblem& problem) {
  if (!may_be_kept(problem) || capacity_ == 0) {
    CUBINET_TRY_ASSIGN(uncached_, cubinet::select(problem, device_, *index_, policy_));
    return static_cast<const Selection*>(&uncached_);
  }
  const ProblemBucket bucket = bucket_of(problem);
  if (const auto found = selections_.find(bucket); found != selections_.end()) {
    return static_cast<const Selection*>(&found->second);
  }
  CUBINET_TRY_ASSIGN(Selection selection, cubinet::select(problem, device_, *index_, policy_));
  if (selections_.size() >= capacity_) selections_.clear();
  const auto position = selections_.emplace(bucket, selection).first;
  return static_cast<const Selection*>(&position->second);
}

}  // namespace cubinet
