// SPDX-License-Identifier: Apache-2.0
#include "wanted_rows.hpp"

namespace cubinet {
namespace {

struct Page {
  std::uint32_t tokens = 0;
  bool dynamic = false;
};

Choices<Page> pages_for(const AttentionProblem& problem) {
  Choices<Page> pages;
  if (problem.sparse != SparseAttention::none) {
    pages.add({1, false});
  } else if (problem.layout != QkvLayout::paged_kv) {
    pages.add({0, false});
  } else {
    const std::uint32_t page = problem.tokens_per_page;
    if (problem.head_dim_qk == problem.head_dim_v && page >= kDynamicPage) pages.add({kDynamicPage, true});
    pages.add({page, false});
  }
  return pages;
}

Choices<AttentionMask> masks_for(const AttentionProblem& problem) {
  Choices<AttentionMask> masks;
  if (problem.is_sliding()) {
    masks.add(AttentionMask::sliding_or_chunked_causal);
    return masks;
  }
  masks.add(problem.mask);
  const bool one_row = problem.is_generation() && problem.q_len == 1;
  // A single row sees everything, dense or causal. Published MLA kernels apply the causal limit of
  // their q tokens under either name.
  if (problem.mask == AttentionMask::causal && (one_row || problem.is_mla_generation())) {
    masks.add(AttentionMask::dense);
  } else if (problem.mask == AttentionMask::dense && one_row) {
    masks.add(AttentionMask::causal);
  }
  return masks;
}

// Returns whether tokens and heads of Q share a tile.
Choices<bool> groupings_for(const AttentionProblem& problem, const SelectionRules& rules) {
  Choices<bool> groupings;
  const bool either = problem.is_generation() && !problem.is_mla_generation();
  const bool groups = either && !is_mixed_precision(problem, rules);
  groupings.add(groups);
  if (either) groupings.add(!groups);
  return groupings;
}

}  // namespace

WantedRows::WantedRows(const AttentionProblem& problem, const SelectionRules& rules) : problem_(problem) {
  const Choices<Page> pages = pages_for(problem);
  const Choices<AttentionMask> masks = masks_for(problem);
  for (const bool groups : groupings_for(problem, rules)) {
    for (const Page page : pages) {
      for (const AttentionMask mask : masks)
        encodings_[count_++] = {groups, page.tokens, page.dynamic, mask};
    }
  }
}

KernelSelector WantedRows::selector(const KernelState& state, const RowEncoding& encoding) const {
  KernelSelector s;
  s.data_type_q = problem_.data_type_q;
  s.data_type_k = problem_.data_type_k;
  s.data_type_v = problem_.data_type_v;
  s.data_type_o = problem_.data_type_o;
  s.layout = problem_.layout;
  s.mask = encoding.mask;
  s.kernel_type = state.shape.type;
  s.scheduler = state.scheduler;
  s.multi_ctas_kv_mode = state.mode;
  s.sparse = problem_.sparse;
  s.tile_size_q = state.shape.tile_size_q;
  s.tile_size_kv = state.tile_size_kv;
  s.head_dim_per_cta_v = state.shape.head_dim_per_cta_v;
  s.head_dim_qk = static_cast<std::uint16_t>(problem_.head_dim_qk);
  s.head_dim_v = static_cast<std::uint16_t>(problem_.head_dim_v);
  s.tokens_per_page = encoding.tokens_per_page;
  s.dynamic_page = encoding.dynamic_page;
  s.sage_block = problem_.sage_block;
  s.groups_tokens_heads_q = encoding.groups_tokens_heads_q || state.shape.groups_tokens;
  s.two_cta = state.shape.two_cta;
  s.skips_softmax = problem_.skips_softmax;
  return s;
}

}  // namespace cubinet
