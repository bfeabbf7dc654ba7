// SPDX-License-Identifier: Apache-2.0
#include "shared_prefix_plan.hpp"

#include <cubinet/attention/shared_prefix_inputs.hpp>

#include <utility>

namespace cubinet {
namespace {

// Inserts the pool of the prefixes before the own one.
void prepend_pool(const ElementBits& first, ElementBits& pool) {
  ElementBits both = first;
  both.insert(both.end(), pool.begin(), pool.end());
  pool = std::move(both);
}

}  // namespace

Result<SharedPrefixInputs> make_shared_prefix_inputs(const SharedPrefixProblem& problem,
                                                     const SharedPrefixLengths& lengths, std::uint64_t seed,
                                                     unsigned threads) {
  SharedPrefixParts parts = shared_prefix_parts(problem);
  SharedPrefixInputs inputs;
  inputs.merge = parts.merge;
  CUBINET_TRY_ASSIGN(inputs.own,
                     make_attention_inputs(problem.own, lengths.own, seed + 1, threads, lengths.q_lengths));
  AttentionInputs& own = inputs.own;
  inputs.group_offsets = {0};
  std::size_t sequence = 0;
  std::vector<std::int32_t> tokens;  // of each group
  for (const std::uint32_t sequences : lengths.group_sequences) {
    std::int32_t& sum = tokens.emplace_back(0);
    for (std::uint32_t i = 0; i < sequences; ++i, ++sequence)
      sum += problem.own.ragged_q ? own.q_lengths[sequence] : static_cast<std::int32_t>(problem.own.q_len);
    inputs.group_offsets.push_back(inputs.group_offsets.back() + sum);
  }
  // The prefix's own Q is not used, so a token for each group is enough.
  AttentionProblem random = parts.prefix;
  random.q_len = 1;
  random.kv_lengths.clear();
  const std::vector<std::int32_t> one(lengths.prefixes.size(), 1);
  CUBINET_TRY_ASSIGN(inputs.prefix, make_attention_inputs(random, lengths.prefixes, seed, threads, one));
  inputs.prefix_problem = std::move(parts.prefix);
  inputs.prefix.q_lengths = std::move(tokens);
  inputs.prefix.k_head_scales = own.k_head_scales;
  inputs.prefix.v_head_scales = own.v_head_scales;
  prepend_pool(inputs.prefix.k, own.k);
  prepend_pool(inputs.prefix.v, own.v);
  for (std::int32_t& page : own.page_table)
    page += static_cast<std::int32_t>(inputs.prefix.pages);
  own.pages += inputs.prefix.pages;
  inputs.prefix.q = own.q;
  if (problem.own.append) {
    CUBINET_TRY_ASSIGN(AttentionInputs appended, append_reference(problem.own, own));
    inputs.prefix.q = std::move(appended.q);
  }
  return inputs;
}

Result<SharedPrefixBuffers> SharedPrefixBuffers::create(const std::shared_ptr<const Device>& device,
                                                        const SharedPrefixAttention& attention,
                                                        const SharedPrefixInputs& inputs,
                                                        std::uint32_t copies) {
  CUBINET_TRY_ASSIGN(TensorBuffers own, TensorBuffers::create(device, attention.problem().own, inputs.own,
                                                              attention.workspace(), copies));
  std::vector<std::int32_t> tables;
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (const std::int32_t page : inputs.prefix.page_table)
      tables.push_back(page + static_cast<std::int32_t>(inputs.own.pages * copy));
  }
  CUBINET_TRY_ASSIGN(DeviceBuffer page_tables, DeviceBuffer::copy_of(device, tables));
  CUBINET_TRY_ASSIGN(DeviceBuffer lengths, DeviceBuffer::copy_of(device, inputs.prefix.kv_lengths));
  CUBINET_TRY_ASSIGN(DeviceBuffer offsets, DeviceBuffer::copy_of(device, inputs.group_offsets));
  return SharedPrefixBuffers{std::move(own), std::move(page_tables), std::move(lengths), std::move(offsets)};
}

SharedPrefixAttention::Tensors SharedPrefixBuffers::tensors(bool lse, std::uint32_t copy) const {
  SharedPrefixAttention::Tensors tensors{own.tensors(copy), page_tables, lengths, offsets};
  tensors.prefix_page_table.bytes /= own.copies();
  tensors.prefix_page_table.address += copy * tensors.prefix_page_table.bytes;
  if (!lse) tensors.own.lse = {};
  return tensors;
}

}  // namespace cubinet
