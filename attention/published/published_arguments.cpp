// SPDX-License-Identifier: Apache-2.0
#include "published_arguments.hpp"

#include "published_maps.hpp"
#include "workspace.hpp"

#include <bit>
#include <cstring>
#include <numbers>

namespace cubinet {
namespace {

using Member = ArgumentMember;
using kernel_templates::FastDivisor;

// Writes the members that a layout has.
class MemberWriter {
 public:
  MemberWriter(const ArgumentLayout& layout, std::span<std::byte> argument)
      : layout_(layout), argument_(argument) {}

  template <class Value>
  void put(Member member, Value value) const {
    if (layout_.has(member)) std::memcpy(argument_.data() + layout_.offset_of(member), &value, sizeof(value));
  }
  void put_count(Member member, std::uint64_t value) const { put(member, static_cast<std::int32_t>(value)); }
  void put_scale(Member member, double value) const { put(member, static_cast<float>(value)); }

 private:
  const ArgumentLayout& layout_;
  std::span<std::byte> argument_;
};

// Returns the divisor of a group. The published kernels use the same 16 bytes as ours except for
// the divisor 1.
FastDivisor group_divisor(const PublishedLaunch& launch) {
  const std::uint32_t group = launch.problem.group_size();
  if (group == 1 && launch.layout->divides_by_one_by_multiplier) return {1, 1U << 31U, 0, -1};
  return launch_divisor(group);
}

}  // namespace

void PublishedArguments::prepare(std::span<std::byte> argument) const {
  std::memset(argument.data(), 0, argument.size());
  const PublishedLaunch& launch = *launch_;
  const AttentionProblem& problem = launch.problem;
  const ArgumentLayout& layout = *launch.layout;
  const MemberWriter to(layout, argument);
  to.put_count(Member::window, problem.window);
  to.put_count(Member::batch, problem.batch);
  to.put_count(Member::q_len, problem.q_len);
  to.put_count(Member::kv_len, problem.kv_len);
  to.put_count(Member::ctas_q, launch.launch.ctas_q);
  to.put_count(Member::ctas_kv, launch.launch.ctas_kv);
  to.put_count(Member::pages_per_sequence, launch.is_paged() ? problem.pages_per_sequence() : 0);
  to.put_count(Member::heads_kv, problem.heads_kv);
  to.put_count(Member::heads_q, problem.heads_q);
  to.put_count(Member::group, problem.group_size());
  to.put(Member::group_divisor, group_divisor(launch));
  to.put(Member::hidden_output, std::int64_t{problem.heads_q} * problem.head_dim_qk);
  to.put_count(Member::tokens_per_cta, launch.tokens_per_cta());
  to.put(Member::log2_tokens_per_page,
         launch.is_paged() ? static_cast<std::int32_t>(std::bit_width(problem.tokens_per_page)) - 1 : -1);
  to.put_count(Member::kv_reshape, kv_reshape(problem, layout));
  const bool on_device = problem.scales_on_device;
  to.put_scale(Member::output_scale, on_device ? 1 : problem.output_scale);
  to.put_scale(Member::softmax_scale, (on_device ? 1 : problem.scale()) * std::numbers::log2e);
  to.put_scale(Member::kv_block_scale, layout.scales_blocks && launch.is_paged() ? 1 : 0);
  to.put_scale(Member::output_block_scale, problem.data_type_o == DataType::e2m1 ? 1 : -1);
  to.put(Member::shares_page_table,
         static_cast<std::uint8_t>(launch.is_paged() && !problem.separate_page_tables));
}

void PublishedArguments::write(const AttentionTensors& tensors, std::span<std::byte> argument) const {
  const PublishedLaunch& launch = *launch_;
  const AttentionProblem& problem = launch.problem;
  const MemberWriter to(*launch.layout, argument);
  to.put(Member::output, tensors.o.address);
  to.put(Member::kv_lengths, tensors.kv_lengths.address);
  to.put_count(Member::total_q, query_tokens(launch, tensors.q));
  to.put_count(Member::total_kv, kv_tokens(launch, tensors.k));
  if (problem.data_type_o == DataType::e2m1)
    to.put(Member::output_block_scales, tensors.o_block_scales.address);
  if (problem.sinks) to.put(Member::sinks, tensors.sinks.address);
  if (launch.is_context() || problem.ragged_q) to.put(Member::q_offsets, tensors.q_offsets.address);
  if (launch.is_context()) to.put(Member::kv_offsets, tensors.kv_offsets.address);
  if (problem.scales_on_device) {
    to.put(Member::softmax_scale_address, tensors.softmax_scale.address);
    to.put(Member::output_scale_address, tensors.output_scale.address);
  }
  if (launch.is_paged()) {
    to.put(Member::page_table, tensors.page_table.address);
    if (!tensors.page_table.is_contiguous())
      to.put_count(Member::pages_per_sequence, static_cast<std::uint64_t>(tensors.page_table.strides[0]));
    to.put_count(Member::pool_pages, pool_pages(launch, tensors));
  }
  if (launch.workspace.softmax_stats_bytes != 0) to.put(Member::softmax_stats, tensors.scratch.address);
  // Context kernels with pages get neither counters nor space for partial results: none of them has
  // partial results.
  const bool splits = !launch.is_context() || !launch.is_paged();
  const std::uint64_t stats = splits ? tensors.scratch.address + launch.workspace.partial_stats_offset : 0;
  if (splits) to.put(Member::counters, tensors.counters.address);
  to.put(Member::partial_stats, stats);
  to.put(Member::partial_output, stats + partial_stats_bytes(launch.kernel, launch.sm_count));
}

std::size_t PublishedArguments::tensor_maps(const AttentionTensors& tensors,
                                            std::span<PlacedTensorMap, kMaximumTensorMaps> maps) const {
  return published_maps(*launch_, tensors, maps);
}

}  // namespace cubinet
