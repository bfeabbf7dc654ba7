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
#include <string_view>
#include <vector>

namespace cubinet {

// The memory order of the K and V pools of a paged cache. Pages are outermost, then tokens or
// heads, and the head dim is innermost.
enum class KvOrder : std::uint8_t {
  nhd = 0,  // [pages, page size, heads_kv, head dim]
  hnd = 1,  // [pages, heads_kv, page size, head dim]
};

// The order and the rounding of a row's sums.
enum class AttentionNumerics : std::uint8_t {
  fast = 0,       // any: they may depend on the batch, the tile and the number of splits
  invariant = 1,  // those of docs/arithmetic.md, in every kernel and for every batch
};
std::string_view to_string(AttentionNumerics value);  // "fast"

// The scales that a cache of e4m3 has beside those of the whole problem.
enum class KvScales : std::uint8_t {
  none = 0,
  head = 1,      // one of K and one of V for each KV head
  sequence = 2,  // the same for each sequence
};
std::string_view to_string(KvScales value);  // "head"

// The absence of a window or chunk.
inline constexpr std::uint32_t kUnlimited = 0x7fffffff;

// One call of attention without its tensors: decode, prefill or latent attention. Lengths are in
// tokens and are the largest of the batch; kv_len includes the q_len newest tokens. Query head h
// reads KV head h / group_size(). A plain value.
struct AttentionProblem {
  // If true, Q has the tokens of prompts. If false, it has one or a few tokens of each sequence
  // (generation).
  bool prefill = false;
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
  // With a paged layout: a power of two or a multiple of 8.
  std::uint32_t tokens_per_page = 64;
  // Dense, causal or custom. is_sliding() says whether `window` or `chunk` makes it a sliding mask.
  AttentionMask mask = AttentionMask::causal;
  std::uint32_t window = kUnlimited;  // the most KV tokens that a row sees
  std::uint32_t chunk = kUnlimited;   // chunk size of chunked attention
  SparseAttention sparse = SparseAttention::none;
  std::uint32_t top_k = 0;  // KV tokens per row of sparse attention, a multiple of 4
  bool skips_softmax = false;
  // If true, each head has a logit that adds to the softmax sum and has no V (attention sinks).
  bool sinks = false;
  // Sage attention's block sizes of Q, K, P and V. 0: off.
  std::array<std::uint16_t, 4> sage_block = {0, 0, 0, 0};
  KvOrder kv_order = KvOrder::nhd;    // with a paged layout
  bool separate_page_tables = false;  // if true, K and V have separate page tables
  // If true, sequences have at most q_len query tokens, stored contiguously in Q and O.
  bool ragged_q = false;
  bool lse = false;  // if true, the log-sum-exp of each row is also written
  // The factor of Q K^T before the softmax. nullopt: 1 / sqrt(head_dim_qk), or 1 / sqrt(192) for
  // latent attention, whose 576 columns are absorbed from a head dim of 192.
  std::optional<double> softmax_scale = std::nullopt;
  // If set, a scaled logit x becomes soft_cap * tanh(x / soft_cap). Sinks are not capped.
  std::optional<double> soft_cap = std::nullopt;
  double output_scale = 1;        // the factor of the output
  bool scales_on_device = false;  // if true, every run reads both scales from the device
  // K and V of e4m3 may have scales of KV heads, which every run reads from the device
  // (AttentionTensors::k_head_scales). They multiply the logits and the output of a KV head.
  KvScales kv_scales = KvScales::none;
  // With invariant numerics a row has the same bits in every batch, chunk and page, and whether
  // prefill, append or generation computes it. K and V must have 16 bits.
  AttentionNumerics numerics = AttentionNumerics::fast;
  // The known length of each sequence at planning time, in the order on the device. Empty: every
  // sequence may have kv_len tokens. These lengths affect the division of work and never the
  // result: kernels read the lengths themselves.
  std::vector<std::int32_t> kv_lengths = {};

  // The work of a run before attention: writes the K and V of the newest q_len tokens of each
  // sequence to the cache, and their Q to the input of attention, rotated (RoPE) and quantised.
  // kv_len and kv_lengths include the new tokens. Only their rows are written.
  struct Append {
    // User-provided because Clang 14 defines the implicit constructor only after the enclosing
    // class, so std::optional would not find it.
    Append() {}
    DataType data_type = DataType::bf16;  // the type of the new rows: bf16 or fp16
    // The number of leading columns of Q and K that are rotated. 0: none.
    std::uint32_t rope_dim = 0;
    // If true, column 2i is paired with 2i + 1, otherwise i with i + rope_dim / 2 (NeoX).
    bool interleaved = false;
    // If true, the caller gives the position of each token. If false, it is the token's index.
    bool positions = false;
    // If true, AttentionTensors::kv_lengths do not include the new tokens: a run adds each
    // sequence's number of query tokens. A length below 0 after that counts as 0.
    bool lengths_exclude_new = false;
    // If false, a run only appends, and only the members of the problem that this needs count.
    bool attends = true;
    // Tensors stored as e4m3 are divided by these scales. The softmax scale and the output scale
    // must compensate for it. With scales_on_device, the three scales are read from the device.
    // K and V are also divided by the scales of KV heads.
    double q_scale = 1;
    double k_scale = 1;
    double v_scale = 1;

    friend bool operator==(const Append&, const Append&) = default;
  };
  std::optional<Append> append = std::nullopt;  // nullopt: the cache is complete and Q is ready

  // Returns whether the append writes Q: it is rotated or converted to another type.
  bool appends_q() const { return append && (append->rope_dim != 0 || data_type_q != append->data_type); }
  bool attends() const { return !append || append->attends; }

  std::uint32_t group_size() const { return heads_q / heads_kv; }
  double scale() const;
  // Page table entries for kv_len tokens. REQUIRES: a paged layout.
  std::uint32_t pages_per_sequence() const;
  bool is_generation() const { return !prefill; }
  bool is_invariant() const { return numerics == AttentionNumerics::invariant; }
  // Returns whether this is latent attention as in DeepSeek models: 576 columns of Q and K, of
  // which 512 are latent and 64 are rotated.
  bool is_mla_generation() const { return is_generation() && head_dim_qk == 576 && head_dim_v == 512; }
  // Returns whether the window or chunk hides KV tokens.
  bool is_sliding() const {
    const bool one_row = is_generation() && q_len == 1 && mask == AttentionMask::dense;
    return (mask == AttentionMask::causal || one_row) && (kv_len > window || chunk != kUnlimited);
  }
  // Returns whether is_sliding() holds or the window of a custom mask hides tokens. The custom mask
  // itself covers only the query tokens.
  bool is_windowed() const { return is_sliding() || (mask == AttentionMask::custom && kv_len > window); }
  std::uint32_t mask_words() const { return (q_len + 31) / 32; }  // words of a row of a custom mask

  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

// Returns invalid_argument with the field, its value and the allowed values, or unsupported for
// combinations that no kernel has. Checks everything and rounds nothing: selection takes valid
// problems only.
Result<void> check_problem(const AttentionProblem& problem);

// Returns the angles of a rotation by one position: theta^(-2i / rope_dim) / stretch. Models with
// scaled contexts may use other angles.
std::vector<double> rope_frequencies(std::uint32_t rope_dim, double theta = 10'000, double stretch = 1);

// Returns AttentionTensors::cos_sin for the positions from 0 on, [positions, 2 * frequencies]: the
// cosines, then the sines, multiplied by `factor`, which some scaled contexts have.
std::vector<float> rope_table(const std::vector<double>& frequencies, std::uint32_t positions,
                              double factor = 1);

}  // namespace cubinet
