// SPDX-License-Identifier: Apache-2.0
#pragma once
// Creates the partial results of a split-KV attention kernel on the host, from random logits, and
// the expected output of attention_reduction in float64.
#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace cubinet::test {

struct ReductionCase {
  DataType dtype_q = DataType::bf16;
  DataType dtype_o = DataType::bf16;
  int head_dim_per_tile = 128;
  int head_dim_tiles = 1;
  int tile_size_q = 64;
  int heads_q = 64;
  int heads_per_tile = 64;
  int tokens_per_tile = 1;
  std::vector<int> q_lengths;  // one for all sequences, or one per sequence (ragged)
  std::vector<int> kv_lengths;
  int max_splits = 4;
  int blocks_of_tile = 1;
  bool sinks = false;
  bool scale_on_device = false;
  int max_kv_tokens = 1 << 20;

  bool is_ragged() const { return q_lengths.size() > 1; }
  int q_length(std::size_t batch) const { return is_ragged() ? q_lengths[batch] : q_lengths[0]; }
  int longest_q() const { return *std::max_element(q_lengths.begin(), q_lengths.end()); }
  int tiles_q() const { return (longest_q() + tokens_per_tile - 1) / tokens_per_tile; }
  int tiles_y() const { return heads_q / heads_per_tile * head_dim_tiles; }
  int head_dim() const { return head_dim_per_tile * head_dim_tiles; }
  DataType partial_type() const { return dtype_o == DataType::bf16 ? DataType::bf16 : DataType::fp16; }
  // Returns the number of KV tokens that a query token sees.
  int visible(std::size_t batch, int token) const {
    const int later = q_length(batch) - 1 - token;
    return std::min(std::max(kv_lengths[batch] - later, 0), max_kv_tokens);
  }
};

inline constexpr float kSoftmaxScale = 0.1f;

struct PartialResults {
  std::vector<std::uint16_t> o;  // NaN except where a split wrote
  std::vector<float> stats;
  std::vector<float> sinks;         // [heads_q]
  std::vector<std::int32_t> begin;  // the first token of each sequence, and the end of the last one
  std::vector<double> expected;     // [tokens, heads_q, head_dim]
  std::vector<double> lse;          // [tokens, heads_q], natural
};

// One row of Q. It draws the logits and divides the visible tokens among the splits of its tile.
class RowOfSplits {
 public:
  RowOfSplits(const ReductionCase& of, PartialResults& results, std::mt19937& random)
      : of_(of), results_(results), random_(random) {}

  void add(std::size_t batch, int token, int head, const std::vector<float>& v) {
    std::normal_distribution<float> logit(0, 35);
    std::vector<float> logits(size(of_.visible(batch, token)));
    for (float& one : logits)
      one = logit(random_);
    double offset = -std::numeric_limits<double>::infinity();  // the largest scaled logit or sink
    for (const float one : logits)
      offset = std::max(offset, scaled(one));
    if (of_.sinks) offset = std::max(offset, static_cast<double>(results_.sinks[size(head)]));
    // The row may see nothing: neither a token nor a sink.
    sum_ = of_.sinks && std::isfinite(offset)
               ? std::exp(static_cast<double>(results_.sinks[size(head)]) - offset)
               : 0;
    output_.assign(size(of_.head_dim()), 0);
    const int tile = token / of_.tokens_per_tile;
    const int last = std::min((tile + 1) * of_.tokens_per_tile, of_.q_length(batch)) - 1;
    const int splits = std::min((of_.visible(batch, last) + 127) / 128, of_.max_splits);
    for (int split = 0; split < splits; ++split) {
      add_split(logits, v, split, splits, offset);
      for (int part = 0; part < of_.head_dim_tiles; ++part)
        store(place(batch, token, head, part) + size(split * of_.tile_size_q), part);
    }
    for (const double value : output_)
      results_.expected.push_back(sum_ > 0 ? value / sum_ : 0);
    results_.lse.push_back(offset + std::log(sum_));
  }

 private:
  static std::size_t size(int value) { return static_cast<std::size_t>(value); }
  static double scaled(float logit) {
    return static_cast<double>(logit) * static_cast<double>(kSoftmaxScale);
  }

  // Adds a split. Tiles of 128 tokens go to the splits in turn.
  void add_split(const std::vector<float>& logits, const std::vector<float>& v, int split, int splits,
                 double offset) {
    maximum_ = -std::numeric_limits<float>::infinity();
    split_sum_ = 0;
    split_output_.assign(size(of_.head_dim()), 0);
    for (const bool sums : {false, true}) {
      for (std::size_t token = size(split) * 128; token < logits.size();
           token += token % 128 == 127 ? size(splits - 1) * 128 + 1 : 1) {
        if (!sums) {
          maximum_ = std::max(maximum_, logits[token]);
          continue;
        }
        const double probability = std::exp(scaled(logits[token]) - scaled(maximum_));
        split_sum_ += probability;
        for (std::size_t i = 0; i < split_output_.size(); ++i)
          split_output_[i] += probability * static_cast<double>(v[token * split_output_.size() + i]);
      }
    }
    if (split_sum_ == 0) return;
    const double weight = std::exp(scaled(maximum_) - offset);
    sum_ += weight * split_sum_;
    for (std::size_t i = 0; i < output_.size(); ++i)
      output_[i] += weight * split_output_[i];
  }

  // Returns the index of the row in the first split of its tile.
  std::size_t place(std::size_t batch, int token, int head, int part) const {
    const std::size_t y = size(head / of_.heads_per_tile * of_.head_dim_tiles + part);
    const std::size_t tile =
        (batch * size(of_.tiles_y()) + y) * size(of_.tiles_q()) + size(token / of_.tokens_per_tile);
    const int row = token % of_.tokens_per_tile * of_.heads_per_tile + head % of_.heads_per_tile;
    return tile * size(of_.max_splits * of_.tile_size_q) + size(row);
  }

  // Stores the partial result. A row that sees nothing of its split counts for nothing, whatever
  // its output is.
  void store(std::size_t row, int part) {
    const float quantisation = of_.dtype_q == DataType::e4m3 ? 448.0f : 1.0f;
    results_.stats[2 * row] = maximum_;
    results_.stats[2 * row + 1] = static_cast<float>(split_sum_) * quantisation;
    const std::size_t columns = size(of_.head_dim_per_tile);
    for (std::size_t i = 0; i < columns; ++i) {
      const double value =
          split_sum_ == 0 ? std::numeric_limits<double>::infinity() : split_output_[size(part) * columns + i];
      results_.o[row * columns + i] = from_float(static_cast<float>(value), of_.partial_type());
    }
  }

  const ReductionCase& of_;
  PartialResults& results_;
  std::mt19937& random_;
  double sum_ = 0;
  std::vector<double> output_;
  float maximum_ = 0;
  double split_sum_ = 0;
  std::vector<double> split_output_;
};

inline PartialResults make_partial_results(const ReductionCase& of) {
  std::mt19937 random(11);
  PartialResults results;
  const std::size_t rows = of.kv_lengths.size() * static_cast<std::size_t>(of.tiles_y() * of.tiles_q() *
                                                                           of.max_splits * of.tile_size_q);
  results.o.assign(rows * static_cast<std::size_t>(of.head_dim_per_tile), 0xffff);
  results.stats.assign(rows * 2, std::numeric_limits<float>::quiet_NaN());
  // One sink is absent, one outweighs everything else, and the others matter.
  std::normal_distribution<float> normal(0, 4);
  for (int head = 0; head < of.heads_q; ++head)
    results.sinks.push_back(normal(random));
  results.sinks[0] = -std::numeric_limits<float>::infinity();
  results.sinks[1] = 100;
  results.begin.push_back(0);
  RowOfSplits row(of, results, random);
  for (std::size_t batch = 0; batch < of.kv_lengths.size(); ++batch) {
    std::normal_distribution<float> element(0, 8);  // large enough that sums are not e4m3 subnormals
    std::vector<float> v(static_cast<std::size_t>(of.kv_lengths[batch] * of.head_dim()));
    for (float& one : v)
      one = element(random);
    for (int token = 0; token < of.q_length(batch); ++token) {
      for (int head = 0; head < of.heads_q; ++head)
        row.add(batch, token, head, v);
    }
    results.begin.push_back(results.begin.back() + of.q_length(batch));
  }
  return results;
}

}  // namespace cubinet::test
