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

// An allocator that leaves elements uninitialised, so that many threads touch a pool of gigabytes
// first.
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
// The bits of elements of bf16, fp16 or e4m3. An e4m3 element is in the lower eight bits.
using ElementBits = std::vector<std::uint16_t, UnsetAllocator<std::uint16_t>>;

// The tensors of a problem in host memory, laid out for the kernel.
struct AttentionInputs {
  ElementBits q;  // [tokens, heads_q, head_dim_qk]
  // A pool of `pages` pages in the problem's order. With contiguous_kv: [batch, kv_len, heads_kv,
  // head dim]. With separate_qkv: [tokens, heads_kv, head dim], one sequence after the other.
  ElementBits k;
  ElementBits v;  // empty for latent attention, whose V is the first head_dim_v columns of K
  // [batch, pages_per_sequence()]. With separate_page_tables: [batch, 2, pages_per_sequence()], K's
  // pages before V's.
  std::vector<std::int32_t> page_table;
  std::vector<std::int32_t> kv_lengths;  // [batch]
  // [batch], with ragged_q; otherwise all sequences have q_len query tokens
  std::vector<std::int32_t> q_lengths;
  std::vector<float> sinks;  // [heads_q], with sinks
  // [heads_kv], or [batch, heads_kv] with KvScales::sequence
  std::vector<float> k_head_scales;
  std::vector<float> v_head_scales;
  std::vector<std::uint32_t> mask;  // [tokens, mask_words()], with a custom mask
  std::int64_t pages = 0;
  // The new rows, with append: of its data type, [tokens, heads, head dim]. `new_q` is filled if
  // appends_q().
  ElementBits new_q;
  ElementBits new_k;
  ElementBits new_v;
  std::vector<std::int32_t> positions;  // [tokens], with Append::positions
  std::vector<float> cos_sin;           // rope_table()
};

// Returns random inputs that a wrong kernel cannot pass by luck. Logits have standard deviation 4,
// sinks are among the largest of them, V is normal, and pages are in shuffled order. Scales of KV
// heads are from 1/4 to 4, and Q is divided by those of K. Everything
// that no query may read is NaN: unused pages (spare page table entries name one), the rest of last
// pages, and tokens older than every window. `q_lengths` are the query tokens of each sequence with
// ragged_q. If it is empty, the first sequence has q_len query tokens and the others at least 1; in
// prefill with q_len equal to kv_len, all query tokens of each sequence are its KV tokens. With a
// custom mask, each query token sees itself and each other one,
// newer ones included, with probability 1/2. With append, everything that it writes is NaN.
// Deterministic in the seed. Uses `threads` threads (0: one per core). Returns an error
// (invalid_argument) for lengths that do not fit the problem, or a pool of more than 2^31 - 1
// pages.
Result<AttentionInputs> make_attention_inputs(const AttentionProblem& problem,
                                              const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                              unsigned threads = 0,
                                              const std::vector<std::int32_t>& q_lengths = {});

// Returns the inputs after the append: K, V and, if appends_q(), Q, exact to the bit. Returns
// invalid_argument like attention_reference. REQUIRES: problem.append.
Result<AttentionInputs> append_reference(const AttentionProblem& problem, const AttentionInputs& inputs);

struct AttentionOutputs {
  std::vector<double> o;  // [tokens, heads_q, head_dim_v]
  // [tokens, heads_q], natural logarithm; -infinity if no token is visible
  std::vector<double> lse;
};

// Computes attention in double precision on the CPU, directly from the definition. A query that
// sees no token gives zeros. A sink counts in the log-sum-exp even if no token is visible. Reads
// only what a query may read. Uses `threads` threads (0: one per core). Returns an error
// (invalid_argument) if sizes, lengths or page numbers do not fit the problem.
Result<AttentionOutputs> attention_reference(const AttentionProblem& problem, const AttentionInputs& inputs,
                                             unsigned threads = 0);

// Returns whether attention_reference_on() serves the problem.
bool has_device_reference(const AttentionProblem& problem);

// Computes the same on a device, in double precision, for problems that take a CPU too long. Blocks
// until it is done. Returns unsupported for a problem that has no such kernel, and errors of the
// Runtime and the driver. REQUIRES: the inputs fit the problem.
Result<AttentionOutputs> attention_reference_on(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                                const AttentionProblem& problem,
                                                const AttentionInputs& inputs);

// Two parts to merge, in host memory, and their values in double precision.
struct MergeInputs {
  struct Part {
    Bytes o;  // in the format that AttentionMerge reads
    std::vector<float> lse;
    AttentionOutputs values;
  };
  Part first;
  Part second;
};

// Returns random parts of which neither often outweighs the other. Some rows have no visible token
// in one part or in both; their O in that part is NaN. Deterministic in the seed.
MergeInputs make_merge_inputs(const AttentionMerge::Problem& problem, std::uint32_t tokens,
                              std::uint64_t seed);

// Merges by the definition of AttentionMerge in double precision, with its output_scale. REQUIRES:
// both parts have equally many rows of `head_dim` columns.
AttentionOutputs merge_reference(const AttentionMerge::Problem& problem, const AttentionOutputs& first,
                                 const AttentionOutputs& second);

// Inputs on a device, with outputs and a workspace for a plan's runs. The KV cache may be stored
// several times, each copy with its own page table, so that successive runs read different memory.
class TensorBuffers {
 public:
  // Poisons the outputs and zeroes the counters. Repeats K and V that have fewer elements than
  // their pages. Allocates the KV cache in `memory` if it is given. Returns an error
  // (invalid_argument) if `memory` is too small.
  static Result<TensorBuffers> create(const std::shared_ptr<const Device>& device,
                                      const AttentionProblem& problem, const AttentionInputs& inputs,
                                      const WorkspaceSizes& workspace, std::uint32_t copies = 1,
                                      const DeviceTensor& memory = {});

  std::uint32_t copies() const { return copies_; }
  AttentionTensors tensors(std::uint32_t copy = 0) const;  // REQUIRES: copy < copies()
  // Writes NaN, in every type of an output, to all that a run must write and, if requested, to the
  // scratch buffer.
  Result<void> poison(bool scratch) const;
  // Writes the lengths as the problem counts them on the device. `lengths` include the new tokens.
  // REQUIRES: one length per sequence.
  Result<void> set_kv_lengths(const std::vector<std::int32_t>& lengths) const;
  Result<Bytes> output() const;
  Result<std::array<Bytes, 3>> appended() const;  // all of Q, K and V
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
    k_head_scales,
    v_head_scales,
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

  std::vector<DeviceBuffer> buffers_;  // indexed by Tensor
  std::size_t rows_ = 0;               // rows of the outputs: tokens times heads
  std::uint32_t copies_ = 1;
  std::int64_t scales_stride_ = 0;      // of the scales of KV heads; 0: they are those of all sequences
  std::vector<std::int32_t> excluded_;  // tokens of each sequence that the lengths do not include; or empty
};

// The error of an output against the reference. A row is one query head of one token.
struct AttentionDeviation {
  // The largest ||o - ref|| / ||ref|| of a row. Infinity if an element is not finite. A difference
  // of half of the smallest number of fp16 counts as none.
  double worst_row = 0;
  double all_rows = 0;   // the same ratio over the whole output
  double worst_lse = 0;  // The largest |lse - ref|. 0 if no LSE was compared.
  // For e4m3, the largest distance in steps between an element and the rounded reference.
  std::int64_t worst_steps = 0;
  std::int64_t worst_index = 0;  // the row of worst_row: token of all sequences * heads_q + head
};

// Compares an output with the reference. `o` holds the elements as the kernel stores them
// (problem.dtype_o). `lse` may be empty. A row whose reference is zero must be exactly zero.
// Returns an error (invalid_argument) if a size differs.
Result<AttentionDeviation> compare_attention(const AttentionProblem& problem,
                                             const AttentionOutputs& reference, ByteView o,
                                             const std::vector<float>& lse);

// Compares merged outputs with merge_reference of the inputs in the same way.
Result<AttentionDeviation> compare_merge(const AttentionMerge::Problem& problem, const MergeInputs& inputs,
                                         ByteView o, const std::vector<float>& lse);

}  // namespace cubinet
