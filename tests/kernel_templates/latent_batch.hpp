// SPDX-License-Identifier: Apache-2.0
#pragma once
// A batch of latent attention in host memory, for kernels that run on the host. Rows of KV that no
// sequence has are NaN, and page table entries after the last page of a sequence are invalid.
#include "lanes/fields.hpp"
#include "prefill_sizes.hpp"

#include <cubinet/attention_latent/shape.cuh>
#include <cubinet/kernel_templates/attention_decode_parameters.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace cubinet {

struct LatentSizes {
  std::vector<std::int32_t> kv_lengths;
  std::vector<std::int32_t> q_lengths = {};  // empty: q_len each
  int q_len = 1;
  int heads = attention_latent::tile_size_q;
  int blocks = 1;  // CTAs
  int unit = 64;
  int min_units = 1;
  bool split_is_unit = false;
  bool has_sinks = false;
  int window = 1 << 30;  // all tokens
};

class LatentBatch {
 public:
  static constexpr int kColumnsQk = attention_latent::head_dim_qk;
  static constexpr int kColumnsV = attention_latent::head_dim_v;
  // The type that has the bits of an element of KV.
  using KvBits = decltype(attention_latent::dtype_kv::bits);
  using QBits = decltype(attention_latent::dtype_q::bits);

  explicit LatentBatch(const LatentSizes& sizes) : sizes_(sizes) {
    if (sizes_.q_lengths.empty()) sizes_.q_lengths.assign(sizes.kv_lengths.size(), sizes.q_len);
    is_ragged_ = !sizes.q_lengths.empty();
    q_offsets_ = offsets_of(sizes_.q_lengths);
    std::mt19937 dice(7);
    q_.resize(rows() * kColumnsQk);
    for (QBits& element : q_)
      element = bits_of<QBits>(random(dice));
    for (int head = 0; head < sizes.heads; ++head)
      sinks_.push_back(0.5f * static_cast<float>(head % 7) - 1.0f);
    make_kv(dice);
    set_parameters();
  }
  LatentBatch(const LatentBatch&) = delete;
  LatentBatch& operator=(const LatentBatch&) = delete;

  const LatentSizes& sizes() const { return sizes_; }
  const kernel_templates::AttentionDecodeParameters& parameters() const { return p_; }
  int sequences() const { return static_cast<int>(sizes_.kv_lengths.size()); }
  int q_len(int sequence) const { return sizes_.q_lengths[static_cast<std::size_t>(sequence)]; }
  int kv_len(int sequence) const { return sizes_.kv_lengths[static_cast<std::size_t>(sequence)]; }

  // Return the elements of a row.
  const QBits* q(int sequence, int token, int head) const {
    return &q_[output_row(sequence, token, head) * kColumnsQk];
  }
  const KvBits* k(int sequence, int token, int /*head_kv*/) const {
    const int page = page_table_[static_cast<std::size_t>(sequence * table_stride_ + token / kPageSize)];
    return &kv_[static_cast<std::size_t>(page * kPageStride + token % kPageSize * kTokenStride)];
  }
  const KvBits* v(int sequence, int token, int head_kv) const { return k(sequence, token, head_kv); }
  int head_kv(int /*head*/) const { return 0; }
  float sink(int head) const { return sinks_[static_cast<std::size_t>(head)]; }
  std::size_t output_row(int sequence, int token, int head) const {
    const int tokens = q_offsets_[static_cast<std::size_t>(sequence)] + token;
    return static_cast<std::size_t>(tokens * sizes_.heads + head);
  }

  // Returns whether all counters are zero, as a run must leave them.
  bool counters_are_zero() const {
    return std::count(counters_.begin(), counters_.end(), 0) == static_cast<std::ptrdiff_t>(counters_.size());
  }

  // The results.
  std::vector<std::uint16_t> output;
  std::vector<float> lse;

 private:
  static constexpr int kPageSize = attention_latent::page_size;
  static constexpr int kTokenStride = kColumnsQk + 16;  // NaN between rows
  static constexpr int kPageStride = kPageSize * kTokenStride + 32;

  static float random(std::mt19937& dice) { return static_cast<float>(dice() % 65537) / 32768 - 1; }
  std::size_t rows() const { return output_row(sequences(), 0, 0); }

  void make_kv(std::mt19937& dice) {
    const int longest = *std::max_element(sizes_.kv_lengths.begin(), sizes_.kv_lengths.end());
    table_stride_ = longest / kPageSize + 3;
    int pages = 1;  // page 0 is of no sequence
    for (const int length : sizes_.kv_lengths)
      pages += divide_up(length, kPageSize);
    std::vector<int> order(static_cast<std::size_t>(pages - 1));
    std::iota(order.begin(), order.end(), 1);
    std::shuffle(order.begin(), order.end(), dice);
    kv_.assign(static_cast<std::size_t>(pages * kPageStride), static_cast<KvBits>(~0u));
    page_table_.assign(static_cast<std::size_t>(sequences() * table_stride_), 1 << 30);
    auto page = order.begin();
    for (int sequence = 0; sequence < sequences(); ++sequence) {
      for (int token = 0; token < kv_len(sequence); ++token) {
        if (token % kPageSize == 0)
          page_table_[static_cast<std::size_t>(sequence * table_stride_ + token / kPageSize)] = *page++;
        const auto row = kv_.begin() + (k(sequence, token, 0) - kv_.data());
        std::generate(row, row + kColumnsQk, [&] { return bits_of<KvBits>(random(dice)); });
      }
    }
  }
  template <typename Bits>
  static Bits bits_of(float number) {
    if constexpr (sizeof(Bits) == 2) return static_cast<Bits>(rounded_to_bf16(number));
    const float numbers[4] = {number, 0.0f, 0.0f, 0.0f};
    return static_cast<Bits>(pack4_e4m3(numbers));
  }

  void set_parameters() {
    using attention_latent::kClusterSize;
    using attention_latent::tile_size_q;
    const int q_len = *std::max_element(sizes_.q_lengths.begin(), sizes_.q_lengths.end());
    p_.q = reinterpret_cast<std::uint64_t>(q_.data());
    p_.k = p_.v = reinterpret_cast<std::uint64_t>(kv_.data());
    output.assign(rows() * kColumnsV, 0xffff);
    lse.assign(rows(), std::numeric_limits<float>::quiet_NaN());
    p_.o = reinterpret_cast<std::uint64_t>(output.data());
    p_.lse = reinterpret_cast<std::uint64_t>(lse.data());
    p_.page_table = address_of(page_table_);
    p_.kv_lengths = address_of(sizes_.kv_lengths);
    if (is_ragged_) p_.q_offsets = address_of(q_offsets_);
    if (sizes_.has_sinks) p_.sinks = reinterpret_cast<std::uint64_t>(sinks_.data());
    p_.q_head_stride = kColumnsQk;
    p_.q_token_stride = p_.q_head_stride * sizes_.heads;
    p_.q_batch_stride = p_.q_token_stride * q_len;
    p_.o_head_stride = kColumnsV;
    p_.o_token_stride = p_.o_head_stride * sizes_.heads;
    p_.o_batch_stride = p_.o_token_stride * q_len;
    p_.k_token_stride = p_.v_token_stride = kTokenStride;
    p_.k_page_stride = p_.v_page_stride = kPageStride;
    p_.k_head_stride = p_.v_head_stride = kColumnsQk;
    p_.page_table_stride = table_stride_;
    p_.batch = sequences();
    p_.q_len = q_len;
    p_.q_tiles = divide_up(divide_up(q_len * sizes_.heads, tile_size_q), kClusterSize) * kClusterSize;
    p_.heads_q = sizes_.heads;
    p_.partial_rows = std::min(q_len * sizes_.heads, tile_size_q);
    p_.min_units = sizes_.min_units;
    p_.split_is_unit = sizes_.split_is_unit ? 1 : 0;
    p_.max_kv_length = std::max(*std::max_element(sizes_.kv_lengths.begin(), sizes_.kv_lengths.end()), 1);
    p_.softmax_scale_log2 = 0.3f;
    p_.output_scale = 1.25f;
    p_.heads_kv = divisor(1);
    p_.group = divisor(sizes_.heads);
    p_.unit = divisor(sizes_.unit);
    p_.blocks = divisor(sizes_.blocks);
    counters_.resize(static_cast<std::size_t>(p_.batch * p_.q_tiles));
    p_.counters = address_of(counters_);
    const int units_of_tile = divide_up(p_.max_kv_length, sizes_.unit);
    const int slots = sizes_.split_is_unit ? p_.batch * p_.q_tiles * units_of_tile : 2 * sizes_.blocks;
    const auto partial_rows = static_cast<std::size_t>(slots * p_.partial_rows);
    partial_o_.assign(partial_rows * kColumnsV, std::numeric_limits<float>::quiet_NaN());
    partial_lse_.assign(partial_rows, std::numeric_limits<float>::quiet_NaN());
    p_.partial_o = reinterpret_cast<std::uint64_t>(partial_o_.data());
    p_.partial_lse = reinterpret_cast<std::uint64_t>(partial_lse_.data());
  }

  LatentSizes sizes_;
  bool is_ragged_ = false;
  int table_stride_ = 0;
  std::vector<std::int32_t> q_offsets_;
  std::vector<QBits> q_;
  std::vector<KvBits> kv_;
  std::vector<std::int32_t> page_table_;
  std::vector<std::int32_t> counters_;
  std::vector<float> partial_o_;
  std::vector<float> partial_lse_;
  std::vector<float> sinks_;
  kernel_templates::AttentionDecodeParameters p_ = {};
};

}  // namespace cubinet
