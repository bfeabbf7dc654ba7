// SPDX-License-Identifier: Apache-2.0
#pragma once
// A batch of prefill attention in host memory, whose rows are packed, for kernels that run on the
// host.
#include "prefill_sizes.hpp"

#include <cubinet/attention_prefill_wgmma/schedule.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace cubinet {

struct BatchSizes {
  std::vector<std::int32_t> q_lengths;
  std::vector<std::int32_t> kv_lengths;
  int heads_q = 1;
  int heads_kv = 1;
  int tile_heads = 1;
  int window = 1 << 30;
  bool has_sinks = false;
};

class PrefillBatch {
 public:
  using Tile = attention_prefill_wgmma::Tile;

  static constexpr int kColumnsQk = parameters::head_dim_qk;
  static constexpr int kColumnsV = parameters::head_dim_v;

  explicit PrefillBatch(const BatchSizes& sizes) : sizes_(sizes) {
    q_offsets_ = offsets_of(sizes.q_lengths);
    kv_offsets_ = offsets_of(sizes.kv_lengths);
    std::mt19937 dice(7);
    q_ = random(dice, q_offsets_.back() * sizes.heads_q * kColumnsQk);
    k_ = random(dice, kv_offsets_.back() * sizes.heads_kv * kColumnsQk);
    v_ = random(dice, kv_offsets_.back() * sizes.heads_kv * kColumnsV);
    for (int head = 0; head < sizes.heads_q; ++head)
      sinks_.push_back(2.0f * static_cast<float>(head) - 3.0f);
    set_parameters();
  }
  PrefillBatch(const PrefillBatch&) = delete;
  PrefillBatch& operator=(const PrefillBatch&) = delete;

  const BatchSizes& sizes() const { return sizes_; }
  const kernel_templates::AttentionPrefillParameters& parameters() const { return p_; }
  int sequences() const { return static_cast<int>(sizes_.q_lengths.size()); }
  int q_len(int sequence) const { return sizes_.q_lengths[static_cast<std::size_t>(sequence)]; }
  int kv_len(int sequence) const { return sizes_.kv_lengths[static_cast<std::size_t>(sequence)]; }

  // Return the bf16 elements of a row.
  const std::uint16_t* q(int sequence, int token, int head) const {
    return &q_[row(q_offsets_, sequence, token, sizes_.heads_q, head) * kColumnsQk];
  }
  const std::uint16_t* k(int sequence, int token, int head_kv) const {
    return &k_[row(kv_offsets_, sequence, token, sizes_.heads_kv, head_kv) * kColumnsQk];
  }
  const std::uint16_t* v(int sequence, int token, int head_kv) const {
    return &v_[row(kv_offsets_, sequence, token, sizes_.heads_kv, head_kv) * kColumnsV];
  }
  // Returns a row of Q by the index of its token in the batch, or zeros after the last token.
  const std::uint16_t* q_of_batch(int token, int head) const {
    static const std::vector<std::uint16_t> zeros(kColumnsQk);
    if (token >= q_offsets_.back()) return zeros.data();
    return &q_[static_cast<std::size_t>(token * sizes_.heads_q + head) * kColumnsQk];
  }
  int head_kv(int head) const { return head / (sizes_.heads_q / sizes_.heads_kv); }
  float sink(int head) const { return sinks_[static_cast<std::size_t>(head)]; }
  std::size_t output_row(int sequence, int token, int head) const {
    return row(q_offsets_, sequence, token, sizes_.heads_q, head);
  }

  bool is_untouched(int sequence, int token, int head) const {
    const std::size_t row = output_row(sequence, token, head);
    const auto first = output.begin() + static_cast<std::ptrdiff_t>(row * kColumnsV);
    return std::count(first, first + kColumnsV, kUntouched) == kColumnsV &&
           lse[row] == static_cast<float>(kUntouched);
  }

  // Returns all tiles in the order in which one CTA computes them.
  std::vector<Tile> tiles() const {
    std::vector<Tile> tiles;
    Warp::run([&] {
      attention_prefill_wgmma::Schedule schedule(p_);
      for (int index = 0;; ++index) {
        const Tile tile = schedule.find(index);
        if (threadIdx.x == 0) tiles.push_back(tile);
        if (tile.sequence < 0) return;
      }
    });
    return tiles;  // the last one ends the CTA
  }

  // The results. Rows that no kernel stores remain untouched.
  std::vector<std::uint16_t> output;
  std::vector<float> lse;

 private:
  static std::vector<std::uint16_t> random(std::mt19937& dice, int count) {
    std::vector<std::uint16_t> elements(static_cast<std::size_t>(count) + 1);
    for (std::uint16_t& element : elements)
      element = static_cast<std::uint16_t>(rounded_to_bf16(static_cast<float>(dice() % 65537) / 32768 - 1));
    return elements;
  }
  static std::size_t row(const std::vector<std::int32_t>& offsets, int sequence, int token, int heads,
                         int head) {
    const int tokens = offsets[static_cast<std::size_t>(sequence)] + token;
    return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(heads) +
           static_cast<std::size_t>(head);
  }

  void set_parameters() {
    const auto rows = row(q_offsets_, sequences(), 0, sizes_.heads_q, 0);
    output.assign(rows * kColumnsV, kUntouched);
    lse.assign(rows, static_cast<float>(kUntouched));
    set_sizes(p_, sizes_, q_offsets_);
    p_.window = sizes_.window;
    p_.softmax_scale_log2 = 0.7f;
    p_.output_scale = 1.25f;
    p_.soft_cap = 3.0f;
    p_.o = reinterpret_cast<std::uint64_t>(output.data());
    p_.lse = reinterpret_cast<std::uint64_t>(lse.data());
    if (sizes_.has_sinks) p_.sinks = reinterpret_cast<std::uint64_t>(sinks_.data());
    p_.o_head_stride = kColumnsV;
    p_.o_token_stride = p_.o_head_stride * sizes_.heads_q;
  }

  static constexpr std::uint16_t kUntouched = 0x4321;

  BatchSizes sizes_;
  std::vector<std::int32_t> q_offsets_;
  std::vector<std::int32_t> kv_offsets_;
  std::vector<std::uint16_t> q_;
  std::vector<std::uint16_t> k_;
  std::vector<std::uint16_t> v_;
  std::vector<float> sinks_;
  kernel_templates::AttentionPrefillParameters p_ = {};
};

}  // namespace cubinet
