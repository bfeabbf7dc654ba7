// SPDX-License-Identifier: Apache-2.0
#include "tensor_checks.hpp"

#include "size_limits.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace cubinet {
namespace {

constexpr std::uint64_t kElementsAScale = 16;  // elements that share the scale of a block

Result<void> check_buffer(std::string_view name, const DeviceTensor& tensor, std::uint64_t bytes) {
  return bytes == 0 ? Result<void>{} : check_place(name, tensor, bytes, kWorkspaceAlignment);
}

}  // namespace

std::array<NamedTensor, kAttentionTensors> named_tensors(const AttentionTensors& tensors) {
  return {{{"q", &tensors.q},
           {"k", &tensors.k},
           {"v", &tensors.v},
           {"o", &tensors.o},
           {"lse", &tensors.lse},
           {"page_table", &tensors.page_table},
           {"kv_lengths", &tensors.kv_lengths},
           {"sinks", &tensors.sinks},
           {"mask", &tensors.mask},
           {"q_offsets", &tensors.q_offsets},
           {"kv_offsets", &tensors.kv_offsets},
           {"k_block_scales", &tensors.k_block_scales},
           {"v_block_scales", &tensors.v_block_scales},
           {"o_block_scales", &tensors.o_block_scales},
           {"softmax_scale", &tensors.softmax_scale},
           {"output_scale", &tensors.output_scale},
           {"k_head_scales", &tensors.k_head_scales},
           {"v_head_scales", &tensors.v_head_scales},
           {"scratch", &tensors.scratch},
           {"counters", &tensors.counters},
           {"new_q", &tensors.new_q},
           {"new_k", &tensors.new_k},
           {"new_v", &tensors.new_v},
           {"positions", &tensors.positions},
           {"cos_sin", &tensors.cos_sin},
           {"q_scale", &tensors.q_scale},
           {"k_scale", &tensors.k_scale},
           {"v_scale", &tensors.v_scale}}};
}

TensorChecks::TensorChecks(const AttentionProblem& problem, const WorkspaceSizes& workspace,
                           const AttentionPlan::TensorRules& rules)
    : problem_(problem), workspace_(workspace), rules_(rules) {
  const bool paged = problem.layout == QkvLayout::paged_kv;
  const bool side_by_side = problem.layout == QkvLayout::separate_qkv;
  // The number of pages of a pool, and the tokens of sequences that follow each other, are known
  // only on the device: all may be shorter than the bounds.
  const std::uint64_t outer = paged || side_by_side ? 1 : problem.batch;
  const std::uint64_t tokens = paged ? problem.tokens_per_page : side_by_side ? 1 : problem.kv_len;
  const std::uint64_t sequences = problem.ragged_q ? 1 : problem.batch;
  const std::uint64_t q_tokens = problem.ragged_q ? 1 : problem.q_len;
  // The single pool of latent attention has the columns of both.
  const std::uint64_t columns = problem.is_mla_generation() ? problem.head_dim_qk : problem.head_dim_v;
  q_ = TensorShape::of({sequences, q_tokens, problem.heads_q}, problem.head_dim_qk, problem.data_type_q);
  k_ = TensorShape::of({outer, tokens, problem.heads_kv}, problem.head_dim_qk, problem.data_type_k);
  v_ = TensorShape::of({outer, tokens, problem.heads_kv}, columns, problem.data_type_v);
  o_ = TensorShape::of({sequences, q_tokens, problem.heads_q}, problem.head_dim_v, problem.data_type_o);
  if (problem.append) {
    const DataType type = problem.append->data_type;
    new_q_ = TensorShape::of(q_.sizes, problem.head_dim_qk, type);
    new_k_ = TensorShape::of({sequences, q_tokens, problem.heads_kv}, problem.head_dim_qk, type);
    new_v_ = TensorShape::of({sequences, q_tokens, problem.heads_kv}, problem.head_dim_v, type);
  }
  k_.counts_on_device = v_.counts_on_device = {paged, side_by_side, false};
  q_.counts_on_device[1] = o_.counts_on_device[1] = problem.ragged_q;
  new_q_.counts_on_device = new_k_.counts_on_device = new_v_.counts_on_device = q_.counts_on_device;
  if (problem.ragged_q) q_.most_counted = o_.most_counted = query_tokens(problem);
  if (side_by_side) k_.most_counted = v_.most_counted = std::uint64_t{problem.batch} * problem.kv_len;
  pages_ = paged ? problem.pages_per_sequence() : 0;
}

// Returns the bytes of the log-sum-exps that a run writes. Sequences that follow each other have at
// most the tokens of Q.
std::uint64_t TensorChecks::lse_bytes(const DeviceTensor& q) const {
  const bool by_q = problem_.ragged_q && !rules_.lse_as_planned;
  return (by_q ? q_.counted(q) : query_tokens(problem_)) * problem_.heads_q * sizeof(float);
}

// Checks that two tensors whose sequences follow each other have memory for the same tokens. Their
// number is known only on the device.
Result<void> TensorChecks::check_same_tokens(std::string_view name, std::uint64_t tokens,
                                             std::string_view other, std::uint64_t others) {
  if (tokens == others) return {};
  return wrong_tensor(name, " has memory for " + std::to_string(tokens) + " tokens, but " +
                                std::string(other) + " for " + std::to_string(others) +
                                ": give both the same number of tokens");
}

// Checks that tokens are contiguous if the kernel reads several as one row. Otherwise it would read
// data of another head.
Result<void> TensorChecks::check_tokens(std::string_view name, const DeviceTensor& tensor) const {
  if (rules_.kv_tokens_per_row == 1 || tensor.is_contiguous()) return {};
  const std::uint64_t columns = std::max(problem_.head_dim_qk, problem_.head_dim_v);
  if (static_cast<std::uint64_t>(tensor.strides[1]) == columns) return {};
  const std::uint64_t head = problem_.tokens_per_page * columns;
  return wrong_tensor(name, " has a stride of " + std::to_string(tensor.strides[1]) +
                                " elements from token to token, but the plan's kernel reads " +
                                std::to_string(rules_.kv_tokens_per_row) +
                                " tokens of a KV head as one row: it must be " + std::to_string(columns) +
                                ", as in pages that lie head by head (strides " +
                                std::to_string(problem_.heads_kv * head) + ", " + std::to_string(columns) +
                                ", " + std::to_string(head) + ")");
}

Result<void> TensorChecks::check_page_table(const DeviceTensor& table) const {
  if (pages_ == 0) return {};
  const std::uint64_t batch = problem_.batch;
  if (problem_.separate_page_tables) {
    CUBINET_TRY(check_contiguous("page_table", table));
    return check_place("page_table", table, batch * 2 * pages_ * sizeof(std::int32_t), kWordBytes);
  }
  std::uint64_t stride = pages_;
  if (!table.is_contiguous()) {
    if (table.strides[0] < static_cast<std::int64_t>(pages_)) {
      return wrong_tensor("page_table", " has a stride of " + std::to_string(table.strides[0]) +
                                            " entries, but a sequence has " + std::to_string(pages_));
    }
    stride = static_cast<std::uint64_t>(table.strides[0]);
    if (rules_.counts_in_31_bits && stride > kLargestCount) {
      return wrong_tensor("page_table", " has a stride of " + std::to_string(stride) +
                                            " entries, but the plan's kernel counts to 2^31 - 1");
    }
    if (stride > kLargestExtent / batch) {
      return wrong_tensor("page_table",
                          " has a stride of " + std::to_string(stride) + " entries, which no memory holds");
    }
  }
  return check_place("page_table", table, ((batch - 1) * stride + pages_) * sizeof(std::int32_t), kWordBytes);
}

// Checks the values that a kernel with 31-bit counts derives from the size of the pool. The kernel
// numbers the pages of K and V alternately unless they are one pool.
Result<void> TensorChecks::check_pool(const AttentionTensors& tensors) const {
  if (!rules_.counts_in_31_bits) return {};
  for (const auto& [name, tensor] : {std::pair{"q", &tensors.q}, {"k", &tensors.k}, {"v", &tensors.v}}) {
    if (tensor->bytes <= kLargestTensorBytes) continue;
    return wrong_tensor(name, " has " + std::to_string(tensor->bytes) + " bytes, but must have at most 2^56");
  }
  if (pages_ == 0) return {};
  const std::uint64_t page = tensors.k.is_contiguous()
                                 ? k_.contiguous_bytes
                                 : static_cast<std::uint64_t>(tensors.k.strides[0]) * k_.element_bits / 8;
  const std::uint64_t most = kLargestCount / (problem_.is_mla_generation() ? 1 : 2);
  if (tensors.k.bytes / std::max<std::uint64_t>(page, 1) <= most) return {};
  return wrong_tensor("k", " has " + std::to_string(tensors.k.bytes) + " bytes, which are " +
                               std::to_string(tensors.k.bytes / page) +
                               " pages, but the plan's kernel counts to " + std::to_string(most));
}

// Checks the scales of KV heads. Results would be wrong if a run ignored those of the caller.
Result<void> TensorChecks::check_head_scales(std::string_view name, const DeviceTensor& scales) const {
  if (problem_.kv_scales == KvScales::none) {
    if (scales.bytes == 0) return {};
    return wrong_tensor(name,
                        " is given, but the plan's problem has none: set `AttentionProblem::kv_scales`");
  }
  const bool of_sequences = problem_.kv_scales == KvScales::sequence;
  const std::uint64_t heads = problem_.heads_kv;
  std::uint64_t stride = heads;
  if (!scales.is_contiguous()) {
    if (!of_sequences) return check_contiguous(name, scales);
    if (scales.strides[0] < problem_.heads_kv) {
      return wrong_tensor(name, " has a stride of " + std::to_string(scales.strides[0]) +
                                    " elements from sequence to sequence, but a sequence has " +
                                    std::to_string(heads) + " KV heads");
    }
    stride = static_cast<std::uint64_t>(scales.strides[0]);
    if (stride > kLargestExtent / problem_.batch) {
      return wrong_tensor(name, " has a stride of " + std::to_string(stride) +
                                    " elements from sequence to sequence, which no memory holds");
    }
  }
  const std::uint64_t sequences = of_sequences ? problem_.batch : 1;
  return check_place(name, scales, ((sequences - 1) * stride + heads) * sizeof(float), kWordBytes);
}

// Checks the tensors of optional features.
Result<void> TensorChecks::check_options(const AttentionTensors& tensors) const {
  if (problem_.sinks) {
    CUBINET_TRY(check_contiguous("sinks", tensors.sinks));
    CUBINET_TRY(check_place("sinks", tensors.sinks, problem_.heads_q * sizeof(float), kWordBytes));
  }
  if (problem_.mask == AttentionMask::custom) {
    const std::uint64_t bytes = q_.sizes[0] * q_.sizes[1] * problem_.mask_words() * sizeof(std::uint32_t);
    CUBINET_TRY(check_contiguous("mask", tensors.mask));
    CUBINET_TRY(check_place("mask", tensors.mask, bytes, kWordBytes));
  }
  if (problem_.scales_on_device) {
    CUBINET_TRY(check_place("softmax_scale", tensors.softmax_scale, sizeof(float), kWordBytes));
    CUBINET_TRY(check_place("output_scale", tensors.output_scale, sizeof(float), kWordBytes));
  }
  if (rules_.reads_kv_offsets) {
    const std::uint64_t bytes = (std::uint64_t{problem_.batch} + 1) * sizeof(std::int32_t);
    CUBINET_TRY(check_contiguous("kv_offsets", tensors.kv_offsets));
    CUBINET_TRY(check_place("kv_offsets", tensors.kv_offsets, bytes, kWordBytes));
  }
  if (problem_.data_type_k == DataType::e2m1) {
    const std::uint64_t scales = k_.contiguous_bytes * 8 / (k_.element_bits * kElementsAScale);
    CUBINET_TRY(check_place("k_block_scales", tensors.k_block_scales, scales, kTensorAlignment));
    CUBINET_TRY(check_place("v_block_scales", tensors.v_block_scales, scales, kTensorAlignment));
  }
  if (problem_.data_type_o == DataType::e2m1) {
    const std::uint64_t scales = o_.contiguous_bytes * 8 / (o_.element_bits * kElementsAScale);
    CUBINET_TRY(check_place("o_block_scales", tensors.o_block_scales, scales, kTensorAlignment));
  }
  return {};
}

// Checks the inputs of the append. Its outputs are q, k and v.
Result<void> TensorChecks::check_append(const AttentionTensors& tensors) const {
  const AttentionProblem::Append& append = *problem_.append;
  CUBINET_TRY(check_strided("new_k", tensors.new_k, new_k_));
  CUBINET_TRY(check_strided("new_v", tensors.new_v, new_v_));
  if (problem_.appends_q()) {
    CUBINET_TRY(check_strided("q", tensors.q, q_));
    CUBINET_TRY(check_strided("new_q", tensors.new_q, new_q_));
    const bool in_place = tensors.new_q.address == tensors.q.address;
    if (in_place && (append.data_type != problem_.data_type_q || tensors.new_q.strides != tensors.q.strides))
      return wrong_tensor("new_q", " is q, but they differ in type or strides: give q memory of its own");
  }
  if (append.positions) {
    CUBINET_TRY(check_contiguous("positions", tensors.positions));
    CUBINET_TRY(check_place("positions", tensors.positions, q_.sizes[0] * q_.sizes[1] * sizeof(std::int32_t),
                            kWordBytes));
  }
  if (append.rope_dim != 0) {
    CUBINET_TRY(check_contiguous("cos_sin", tensors.cos_sin));
    const std::uint64_t positions = append.positions ? 1 : problem_.kv_len;
    CUBINET_TRY(check_place("cos_sin", tensors.cos_sin, positions * append.rope_dim * sizeof(float),
                            kTensorAlignment));
  }
  if (!problem_.scales_on_device) return {};
  if (problem_.data_type_q == DataType::e4m3)
    CUBINET_TRY(check_place("q_scale", tensors.q_scale, sizeof(float), kWordBytes));
  if (problem_.data_type_k != DataType::e4m3) return {};
  CUBINET_TRY(check_place("k_scale", tensors.k_scale, sizeof(float), kWordBytes));
  return check_place("v_scale", tensors.v_scale, sizeof(float), kWordBytes);
}

Result<void> TensorChecks::check(const AttentionTensors& tensors) const {
  CUBINET_TRY(check_distinct_rows("k", tensors.k, k_));
  CUBINET_TRY(check_distinct_rows("v", tensors.v, v_));
  if (problem_.layout == QkvLayout::separate_qkv)
    CUBINET_TRY(check_same_tokens("v", v_.counted(tensors.v), "k", k_.counted(tensors.k)));
  CUBINET_TRY(check_page_table(tensors.page_table));
  CUBINET_TRY(check_contiguous("kv_lengths", tensors.kv_lengths));
  CUBINET_TRY(
      check_place("kv_lengths", tensors.kv_lengths, problem_.batch * sizeof(std::int32_t), kWordBytes));
  if (rules_.reads_offsets) {
    const std::uint64_t bytes = (std::uint64_t{problem_.batch} + 1) * sizeof(std::int32_t);
    CUBINET_TRY(check_contiguous("q_offsets", tensors.q_offsets));
    CUBINET_TRY(check_place("q_offsets", tensors.q_offsets, bytes, kWordBytes));
  }
  if (problem_.is_mla_generation() &&
      (tensors.v.address != tensors.k.address || tensors.v.strides != tensors.k.strides))
    return wrong_tensor("v",
                        " is not k: latent attention has one pool, of whose rows V is the first columns");
  CUBINET_TRY(check_head_scales("k_head_scales", tensors.k_head_scales));
  CUBINET_TRY(check_head_scales("v_head_scales", tensors.v_head_scales));
  if (problem_.append) CUBINET_TRY(check_append(tensors));
  return problem_.attends() ? check_attention(tensors) : Result<void>{};
}

// Checks the inputs and outputs of attention except the cache.
Result<void> TensorChecks::check_attention(const AttentionTensors& tensors) const {
  CUBINET_TRY(check_strided("q", tensors.q, q_));
  CUBINET_TRY(check_tokens("k", tensors.k));
  CUBINET_TRY(check_tokens("v", tensors.v));
  CUBINET_TRY(check_pool(tensors));
  CUBINET_TRY(check_distinct_rows("o", tensors.o, o_));
  if (problem_.ragged_q)
    CUBINET_TRY(check_same_tokens("o", o_.counted(tensors.o), "q", q_.counted(tensors.q)));
  if (rules_.contiguous_o) CUBINET_TRY(check_contiguous("o", tensors.o));
  if (rules_.lse_as_planned && !problem_.lse && tensors.lse.address != 0)
    return wrong_tensor("lse", " is given, but the plan's problem has none: set `AttentionProblem::lse`");
  if (tensors.lse.address != 0 || problem_.lse) {
    CUBINET_TRY(check_contiguous("lse", tensors.lse));
    CUBINET_TRY(check_place("lse", tensors.lse, lse_bytes(tensors.q), kWordBytes));
  }
  CUBINET_TRY(check_options(tensors));
  CUBINET_TRY(check_buffer("scratch", tensors.scratch, workspace_.scratch_bytes));
  return check_buffer("counters", tensors.counters, workspace_.counter_bytes);
}

}  // namespace cubinet
