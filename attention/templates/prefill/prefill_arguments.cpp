// SPDX-License-Identifier: Apache-2.0
#include "prefill_arguments.hpp"

#include "prefill_maps.hpp"
#include "stride_fields.hpp"

#include <cstddef>
#include <cstring>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillMapParameters;
using kernel_templates::AttentionPrefillParameters;

}  // namespace

void PrefillArguments::set_strides(const AttentionTensors& tensors, AttentionPrefillParameters& p) const {
  StrideFields{p.q_batch_stride, p.q_token_stride, p.q_head_stride}.set(tensors.q);
  StrideFields{p.k_outer_stride, p.k_token_stride, p.k_head_stride}.set(tensors.k);
  StrideFields{p.v_outer_stride, p.v_token_stride, p.v_head_stride}.set(tensors.v);
  StrideFields{p.o_batch_stride, p.o_token_stride, p.o_head_stride}.set(tensors.o);
  if (!tensors.page_table.is_contiguous()) p.page_table_stride = tensors.page_table.strides[0];
  if (family_.has_maps) set_prefill_boxes(problem_, tile_, p);
}

std::size_t PrefillArguments::size() const {
  return family_.has_maps ? sizeof(AttentionPrefillMapParameters) : sizeof(AttentionPrefillParameters);
}

void PrefillArguments::prepare(std::span<std::byte> argument) const {
  std::memcpy(argument.data(), &parameters_, sizeof(parameters_));
}

void PrefillArguments::write(const AttentionTensors& tensors, std::span<std::byte> argument) const {
  AttentionPrefillParameters p;
  std::memcpy(&p, argument.data(), sizeof(p));
  p.q = tensors.q.address;
  p.k = tensors.k.address;
  p.v = tensors.v.address;
  p.o = tensors.o.address;
  p.lse = tensors.lse.address;
  p.counters = tensors.counters.address;
  p.kv_lengths = tensors.kv_lengths.address;
  if (problem_.layout == QkvLayout::paged_kv) p.page_table = tensors.page_table.address;
  if (problem_.ragged_q) p.q_offsets = tensors.q_offsets.address;
  if (problem_.layout == QkvLayout::separate_qkv) p.kv_offsets = tensors.kv_offsets.address;
  if (problem_.sinks) p.sinks = tensors.sinks.address;
  if (problem_.scales_on_device) {
    p.softmax_scale_address = tensors.softmax_scale.address;
    p.output_scale_address = tensors.output_scale.address;
  }
  set_head_scales(problem_.kv_scales, problem_.heads_kv, tensors, p);
  if (workspace_.scratch_bytes != 0) {
    p.partial_o = tensors.scratch.address + workspace_.partial_output_offset;
    p.partial_lse = tensors.scratch.address + workspace_.partial_stats_offset;
  }
  set_strides(tensors, p);
  std::memcpy(argument.data(), &p, sizeof(p));
}

std::size_t PrefillArguments::tensor_maps(const AttentionTensors& tensors,
                                          std::span<PlacedTensorMap, kMaximumTensorMaps> maps) const {
  if (!family_.has_maps) return 0;
  AttentionPrefillParameters strides = parameters_;
  set_strides(tensors, strides);
  const PrefillMaps made = prefill_maps(problem_, tile_, block_, strides, tensors);
  maps[0] = {offsetof(AttentionPrefillMapParameters, q), made.q};
  maps[1] = {offsetof(AttentionPrefillMapParameters, k), made.k};
  maps[2] = {offsetof(AttentionPrefillMapParameters, v), made.v};
  return 3;
}

}  // namespace cubinet
