// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/merge.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/memory.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cubinet {

// Leaves elements without a value as they are: then it is many threads that touch a pool of gigabytes first.
template <class T>
struct UnsetAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  void construct(T* place) { ::new (static_cast<void*>(place)) T; }
  template <class... Arguments>
  void construct(T* place, Arguments&&... arguments) {
    std::construct_at(place, std::forward<Arguments>(arguments)...);
  }
};
// Elements of bf16, fp16 or e4m3, as their bits: those of e4m3 are the lower eight.
using ElementBits = std::vector<std::uint16_t, UnsetAllocator<std::uint16_t>>;

// The tensors of a problem in host memory, laid out as the kernel reads them.
struct AttentionInputs {
  ElementBits q;  // [tokens, heads_q, head_dim_qk]
  // A pool of `pages` pages in the problem's order, or with separate_qkv [tokens, heads_kv, head dim], the
  // sequences side by side.
  ElementBits k;
  ElementBits v;  // empty for latent attention, whose V is the first head_dim_v columns of K
  // [batch, pages_per_sequence()]; with separate_page_tables [batch, 2, pages_per_sequence()], K's before V's
  std::vector<std::int32_t> page_table;
  std::vector<std::int32_t> kv_lengths;  // [batch]
  std::vector<std::int32_t> q_lengths;   // [batch], with ragged_q; otherwise all have q_len query tokens
  std::vector<float> sinks;              // [heads_q], with sinks
  std::vector<std::uint32_t> mask;       // [tokens, mask_words()], with a custom mask
  std::int64_t pages = 0;
  // With append, of its type: [tokens, heads, head dim]; new_q where appends_q().
  ElementBits new_q;
  ElementBits new_k;
  ElementBits new_v;
  std::vector<std::int32_t> positions;  // [tokens], with Append::positions
  std::vector<float> cos_sin;           // rope_table()
};

// Random inputs that a wrong kernel cannot pass by luck: logits of standard deviation 4, sinks among the
// largest of them, normal V; pages in shuffled order; NaN in everything that no query may read: unused pages
// (the page table's spare entries name one), the rest of last pages, tokens older than every window. With
// ragged_q, the first sequence has q_len query tokens and the others from 1 up. Of a custom mask each query
// token sees itself and every other one, newer ones too, as a coin falls. With append, NaN in all that it has
// to write. Deterministic in the seed; uses `threads` threads (0: one a core). invalid_argument for lengths
// that do not fit the problem or a pool of more than 2^31 - 1 pages.
Result<AttentionInputs> make_attention_inputs(const AttentionProblem& problem,
                                              const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                              unsigned threads = 0);

// The inputs as they are behind the append: K, V and, where appends_q(), Q, to the bit. REQUIRES:
// problem.append. invalid_argument as for attention_reference.
Result<AttentionInputs> append_reference(const AttentionProblem& problem, const AttentionInputs& inputs);

struct AttentionOutputs {
  std::vector<double> o;    // [tokens, heads_q, head_dim_v]
  std::vector<double> lse;  // [tokens, heads_q], natural logarithm; -infinity where nothing is visible
};

// Attention in double precision on the CPU, straight from the definition. A query that sees no token gives
// zeros. A sink counts in the log-sum-exp, and does so where nothing else is visible. Reads only what a query
// may read. `threads` 0: one a core. invalid_argument when the inputs do not fit the problem: sizes, lengths,
// page numbers.
Result<AttentionOutputs> attention_reference(const AttentionProblem& problem, const AttentionInputs& inputs,
                                             unsigned threads = 0);

// Two parts to merge, in host memory, and what they are in double precision.
struct MergeInputs {
  struct Part {
    Bytes o;  // as AttentionMerge reads it
    std::vector<float> lse;
    AttentionOutputs values;
  };
  Part first;
  Part second;
};

// Random parts of which neither outweighs the other often; some rows saw nothing of one part or of both, and
// have NaN in the O of it. Deterministic in the seed.
MergeInputs make_merge_inputs(const AttentionMerge::Problem& problem, std::uint32_t tokens,
                              std::uint64_t seed);

// The definition of AttentionMerge in double precision, its output_scale included. REQUIRES: parts of as many
// rows of `head_dim` columns.
AttentionOutputs merge_reference(const AttentionMerge::Problem& problem, const AttentionOutputs& first,
                                 const AttentionOutputs& second);

// Inputs on a device, with outputs and a workspace for a plan's runs. The KV cache may lie there several
// times, with a page table each, so that a run reads other memory than the one before it.
class TensorBuffers {
 public:
  // Outputs are poisoned, counters zero. K and V that have fewer elements than their pages are repeated. They
  // lie in `memory` where that is given, else in memory of their own. invalid_argument where it is too small.
  static Result<TensorBuffers> create(const std::shared_ptr<const Device>& device,
                                      const AttentionProblem& problem, const AttentionInputs& inputs,
                                      const WorkspaceSizes& workspace, std::uint32_t copies = 1,
                                      const DeviceTensor& memory = {});

  std::uint32_t copies() const { return copies_; }
  AttentionTensors tensors(std::uint32_t copy = 0) const;  // REQUIRES: copy < copies()
  // NaN, in every type of an output, in all that a run has to write and, if wanted, in the scratch buffer.
  Result<void> poison(bool scratch) const;
  Result<void> set_kv_lengths(const std::vector<std::int32_t>& lengths) const;  // REQUIRES: one a sequence
  Result<Bytes> output() const;
  Result<std::array<Bytes, 3>> appended() const;  // Q, K and V, all of them
  Result<std::vector<float>> lse() const;

 private:
  enum Tensor : std::size_t {
    q,
    k,
    v,
    o,
    log_sum_exp,
    page_tables,
    kv_lengths,
    sinks,
    mask,
    q_offsets,
    kv_offsets,
    softmax_scale,
    output_scale,
    scratch,
    counters,
    new_q,
    new_k,
    new_v,
    positions,
    cos_sin,
    q_scale,
    k_scale,
    v_scale
  };
  TensorBuffers() = default;
  Result<void> upload_append(const AttentionProblem::Append& append, const AttentionInputs& inputs) const;

  std::vector<DeviceBuffer> buffers_;  // by Tensor
  std::size_t rows_ = 0;               // of the outputs: tokens times heads
  std::uint32_t copies_ = 1;
};

// How far an output is from the reference. A row is one query head of one token.
struct AttentionDeviation {
  double worst_row = 0;  // the largest ||o - ref|| / ||ref|| of a row; infinity when an element is not finite
  double all_rows = 0;   // the same over the whole output
  double worst_lse = 0;  // the largest |lse - ref|; 0 when no LSE was compared
  std::int64_t worst_steps = 0;  // of e4m3: the most of its steps from an element to the rounded reference
  std::int64_t worst_index = 0;  // row of worst_row: token of all sequences * heads_q + head
};

// `o` holds the output's elements as the kernel stores them (problem.dtype_o); `lse` may be empty. Rows whose
// reference is zero must be exactly zero. invalid_argument when a size differs.
Result<AttentionDeviation> compare_attention(const AttentionProblem& problem,
                                             const AttentionOutputs& reference, ByteView o,
                                             const std::vector<float>& lse);

// The same of what was merged, against merge_reference of the inputs.
Result<AttentionDeviation> compare_merge(const AttentionMerge::Problem& problem, const MergeInputs& inputs,
                                         ByteView o, const std::vector<float>& lse);

}  // namespace cubinet
