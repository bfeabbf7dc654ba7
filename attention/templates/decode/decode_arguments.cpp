// SPDX-License-Identifier: Apache-2.0
#include "decode_arguments.hpp"

#include "stride_fields.hpp"

#include <cstring>

namespace cubinet {
namespace {

using kernel_templates::AttentionDecodeParameters;

}  // namespace

void DecodeArguments::prepare(std::span<std::byte> argument) const {
  std::memcpy(argument.data(), &parameters_, sizeof(parameters_));
}

void DecodeArguments::write(const AttentionTensors& tensors, std::span<std::byte> argument) const {
  AttentionDecodeParameters p;
  std::memcpy(&p, argument.data(), sizeof(p));
  p.q = tensors.q.address;
  p.k = tensors.k.address;
  p.v = tensors.v.address;
  p.o = tensors.o.address;
  p.lse = tensors.lse.address;
  p.page_table = tensors.page_table.address;
  p.kv_lengths = tensors.kv_lengths.address;
  if (ragged_q_) p.q_offsets = tensors.q_offsets.address;
  if (sinks_) p.sinks = tensors.sinks.address;
  if (custom_mask_) p.mask = tensors.mask.address;
  if (scales_on_device_) {
    p.softmax_scale_address = tensors.softmax_scale.address;
    p.output_scale_address = tensors.output_scale.address;
  }
  set_head_scales(kv_scales_, heads_kv_, tensors, p);
  if (workspace_.scratch_bytes != 0) {
    p.partial_o = tensors.scratch.address + workspace_.partial_output_offset;
    p.partial_lse = tensors.scratch.address + workspace_.partial_stats_offset;
    p.counters = workspace_.counter_bytes != 0 ? tensors.counters.address : 0;
  }
  StrideFields{p.q_batch_stride, p.q_token_stride, p.q_head_stride}.set(tensors.q);
  StrideFields{p.k_page_stride, p.k_token_stride, p.k_head_stride}.set(tensors.k);
  StrideFields{p.v_page_stride, p.v_token_stride, p.v_head_stride}.set(tensors.v);
  StrideFields{p.o_batch_stride, p.o_token_stride, p.o_head_stride}.set(tensors.o);
  if (!tensors.page_table.is_contiguous()) p.page_table_stride = tensors.page_table.strides[0];
  std::memcpy(argument.data(), &p, sizeof(p));
}

}  // namespace cubinet
