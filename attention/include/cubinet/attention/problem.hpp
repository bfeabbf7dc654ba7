// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/device_facts.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_enums.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet {

// How the K and the V pool of a paged cache lie in memory: pages, then token by token or head by head, then
// the head dim.
enum class KvOrder : std::uint8_t {
  nhd = 0,  // [pages, page size, heads_kv, head dim]
  hnd = 1,  // [pages, heads_kv, page size, head dim]
};

// A window or chunk that is not there.
inline constexpr std::uint32_t kUnlimited = 0x7fffffff;

// One call of attention without its tensors: decode, prefill or latent attention. Lengths are the largest of
// the batch, in tokens; kv_len includes the q_len newest. Query head h reads KV head h / group_size(). A
// plain value.
struct AttentionProblem {
  bool prefill = false;  // a prompt's tokens, otherwise one token or few of each sequence: generation
  std::uint32_t batch = 1;
  std::uint32_t q_len = 1;
  std::uint32_t kv_len = 1;
  std::uint32_t heads_q = 1;
  std::uint32_t heads_kv = 1;
  std::uint32_t head_dim_qk = 128;
  std::uint32_t head_dim_v = 128;
  DataType data_type_q = DataType::bf16;
  DataType data_type_k = DataType::bf16;
  DataType data_type_v = DataType::bf16;
  DataType data_type_o = DataType::bf16;
  QkvLayout layout = QkvLayout::paged_kv;
  std::uint32_t tokens_per_page = 64;          // of a paged layout
  AttentionMask mask = AttentionMask::causal;  // dense, causal or custom: sliding follows from the lengths
  std::uint32_t window = kUnlimited;           // KV tokens that a row sees at most
  std::uint32_t chunk = kUnlimited;            // chunked attention's chunk
  SparseAttention sparse = SparseAttention::none;
  std::uint32_t top_k = 0;  // KV tokens a row of sparse attention, a multiple of 4
  bool skips_softmax = false;
  bool sinks = false;  // a logit a head that takes part in the sum and has no V (attention sinks)
  std::array<std::uint16_t, 4> sage_block = {0, 0, 0, 0};
  KvOrder kv_order = KvOrder::nhd;    // of a paged layout
  bool separate_page_tables = false;  // K and V are looked up by page tables of their own
  bool ragged_q = false;              // sequences have q_len query tokens at most, side by side in Q and O
  bool lse = false;                   // the log-sum-exp of each row is wanted as well
  // Of Q K^T before the softmax; nullopt: 1 / sqrt(head_dim_qk), of latent attention 1 / sqrt(192), the head
  // dim that its 576 columns were absorbed from.
  std::optional<double> softmax_scale = std::nullopt;
  // A scaled logit x becomes soft_cap * tanh(x / soft_cap), sinks as they are; nullopt: it stays as it is.
  std::optional<double> soft_cap = std::nullopt;
  double output_scale = 1;        // of the output
  bool scales_on_device = false;  // both are read from the device, at every run
  // What the caller knows of each sequence's length when it plans, as it lies on the device; empty: all may
  // be kv_len. They decide how the work is divided, never what is computed: kernels read the lengths
  // themselves.
  std::vector<std::int32_t> kv_lengths = {};

  // What a run does before it attends: the K and V of the new tokens, the newest q_len of each sequence, go
  // into the cache, and their Q to where attention reads it, rotated (RoPE) and quantised. Lengths include
  // them. Nothing but their rows is written.
  struct Append {
    // Not the compiler's own, of which Clang 14 knows only behind the class that this one lies in:
    // std::optional would find none.
    Append() {}
    DataType data_type = DataType::bf16;  // of the new rows: bf16 or fp16
    std::uint32_t rope_dim = 0;           // columns of Q and K that are rotated, the first ones; 0: none
    bool interleaved = false;  // column 2i is rotated with 2i + 1, otherwise i with i + rope_dim / 2 (NeoX)
    bool positions = false;    // a token is rotated by a position that is given, otherwise by its place
    bool attends = true;       // otherwise that is all, and of the problem only what it needs counts
    // What is stored as e4m3 is stored divided by its scale, which the softmax and output scale have to make
    // good; with scales_on_device the three are read from the device.
    double q_scale = 1;
    double k_scale = 1;
    double v_scale = 1;

    friend bool operator==(const Append&, const Append&) = default;
  };
  std::optional<Append> append = std::nullopt;  // nullopt: all is in the cache, and Q as it is wanted

  // Q is one of the new rows: it is rotated, or of another type than they are.
  bool appends_q() const { return append && (append->rope_dim != 0 || data_type_q != append->data_type); }
  bool attends() const { return !append || append->attends; }

  std::uint32_t group_size() const { return heads_q / heads_kv; }
  double scale() const;
  std::uint32_t pages_per_sequence() const;  // page table entries for kv_len tokens; REQUIRES: a paged layout
  bool is_generation() const { return !prefill; }
  // Latent attention as DeepSeek's: 576 query columns against 512 latent ones and 64 of the rotation.
  bool is_mla_generation() const { return is_generation() && head_dim_qk == 576 && head_dim_v == 512; }
  // Tokens of KV are cut off by the window or chunk.
  bool is_sliding() const {
    const bool one_row = is_generation() && q_len == 1 && mask == AttentionMask::dense;
    return (mask == AttentionMask::causal || one_row) && (kv_len > window || chunk != kUnlimited);
  }
  // The same, or by the window of a custom mask, which is about the query tokens alone.
  bool is_windowed() const { return is_sliding() || (mask == AttentionMask::custom && kv_len > window); }
  std::uint32_t mask_words() const { return (q_len + 31) / 32; }  // of a row of a custom mask

  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

// invalid_argument that names the field, its value and what it may be; unsupported for combinations that no
// kernel has. Everything is checked here and nothing is rounded: selection takes valid problems only.
Result<void> check_problem(const AttentionProblem& problem);

// The angles of a rotation by one position: theta^(-2i / rope_dim), `stretch` times slower. Scaled contexts
// are other angles.
std::vector<double> rope_frequencies(std::uint32_t rope_dim, double theta = 10'000, double stretch = 1);

// AttentionTensors::cos_sin for the positions from 0 on, [positions, 2 * frequencies]: the cosines, then the
// sines, times a factor that some scaled contexts have.
std::vector<float> rope_table(const std::vector<double>& frequencies, std::uint32_t positions,
                              double factor = 1);

}  // namespace cubinet
