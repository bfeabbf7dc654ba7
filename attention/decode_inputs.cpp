// SPDX-License-Identifier: Apache-2.0
#include "visible_range.hpp"

#include <cubinet/attention/decode_inputs.hpp>
#include <cubinet/base/parallel.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace cubinet {
namespace {

constexpr double kLogitDeviation = 4.0;
constexpr std::uint16_t kNan = 0x7fff;  // in bf16 and in fp16
// Pages that no sequence uses, beside the one that spare entries name.
constexpr std::int64_t kSparePages = 3;

// SplitMix64: one addition and a mix, so that every page can have a stream of its own.
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In (0, 1).
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t tensor, std::uint64_t part) {
  RandomBits mix(seed ^ (tensor << 56));
  return mix.next() + part * 0xd1342543de82ef95u;
}

// 2^16 draws from a normal distribution, rounded to the element type: a pool of gigabytes then takes a table
// look-up an element, and is bound by memory.
class NormalTable {
 public:
  NormalTable(DataType type, double deviation, std::uint64_t seed) {
    RandomBits bits(seed);
    for (std::size_t i = 0; i < values_.size(); i += 2) {
      const double radius = deviation * std::sqrt(-2.0 * std::log(bits.uniform()));
      const double angle = 2.0 * std::numbers::pi * bits.uniform();
      values_[i] = from_float(static_cast<float>(radius * std::cos(angle)), type);
      values_[i + 1] = from_float(static_cast<float>(radius * std::sin(angle)), type);
    }
  }

  void fill(std::span<std::uint16_t> target, std::uint64_t seed) const {
    RandomBits bits(seed);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < target.size(); ++i) {
      word = i % 4 == 0 ? bits.next() : word >> 16;
      target[i] = values_[word & 0xffffu];
    }
  }

 private:
  std::array<std::uint16_t, 65536> values_;
};

// The part of the KV of one logical page that some query of its sequence reads.
struct PageUse {
  std::int64_t page = 0;
  int begin = 0;  // tokens within the page
  int end = 0;
};

struct PageLayout {
  std::vector<std::int32_t> table;
  std::vector<PageUse> uses;
  std::int64_t pages = 0;
};

PageLayout lay_out_pages(const DecodeProblem& problem, const std::vector<std::int32_t>& lengths,
                         std::uint64_t seed) {
  PageLayout layout;
  const int width = problem.pages_per_sequence();
  layout.table.assign(static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(width), 0);
  std::vector<std::size_t> entries;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const TokenRange readable{visible_range(problem, lengths[b], 0).begin, lengths[b]};
    for (int page = readable.begin / problem.page_size; page * problem.page_size < readable.end; ++page) {
      const int first = page * problem.page_size;
      layout.uses.push_back(
          {0, std::max(readable.begin - first, 0), std::min(readable.end - first, problem.page_size)});
      entries.push_back(b * static_cast<std::size_t>(width) + static_cast<std::size_t>(page));
    }
  }
  layout.pages = static_cast<std::int64_t>(layout.uses.size()) + kSparePages;
  if (layout.pages > std::numeric_limits<std::int32_t>::max()) return layout;

  std::vector<std::int32_t> order(static_cast<std::size_t>(layout.pages));
  std::iota(order.begin(), order.end(), 0);
  RandomBits bits(stream_seed(seed, 4, 0));
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[bits.below(i + 1)]);
  for (std::int32_t& entry : layout.table)
    entry = order.back();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    layout.table[entries[i]] = order[i];
    layout.uses[i].page = order[i];
  }
  return layout;
}

HalfBits make_pool(const DecodeProblem& problem, const PageLayout& layout, int head_dim, std::uint64_t seed,
                   std::uint64_t tensor, unsigned threads) {
  const NormalTable normal(problem.dtype_kv, 1.0, stream_seed(seed, tensor, 0));
  const std::size_t page_elements = pool_offset(problem, 1, 0, 0, head_dim);
  HalfBits pool(page_elements * static_cast<std::size_t>(layout.pages), kNan);
  parallel_for(layout.uses.size(), threads, [&](std::size_t i) {
    const PageUse& use = layout.uses[i];
    const auto row = [&](int token, int head) {
      return std::span(pool).subspan(pool_offset(problem, use.page, token, head, head_dim),
                                     static_cast<std::size_t>(head_dim));
    };
    if (use.begin == 0 && use.end == problem.page_size) {
      normal.fill(std::span(pool).subspan(pool_offset(problem, use.page, 0, 0, head_dim), page_elements),
                  stream_seed(seed, tensor, i + 1));
      return;
    }
    for (int token = use.begin; token < use.end; ++token) {
      for (int head = 0; head < problem.heads_kv; ++head) {
        const auto part = static_cast<std::uint64_t>(token) << 40 | static_cast<std::uint64_t>(head) << 24;
        normal.fill(row(token, head), stream_seed(seed, tensor, (i + 1) ^ part));
      }
    }
  });
  return pool;
}

}  // namespace

std::vector<std::int32_t> make_decode_lengths(const DecodeProblem& problem, LengthPattern pattern) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(problem.batch), problem.kv_len_max);
  if (pattern == LengthPattern::uniform) return lengths;
  // Beside 0, a warp's slice, a page, the tiles of 32, 64 and 128, and the longest.
  const int page = problem.page_size;
  const std::array<int, 24> candidates = {0,
                                          1,
                                          15,
                                          16,
                                          17,
                                          page - 1,
                                          page,
                                          page + 1,
                                          31,
                                          33,
                                          63,
                                          65,
                                          127,
                                          128,
                                          129,
                                          257,
                                          3 * page - 1,
                                          3 * page + 1,
                                          problem.kv_len_max - 1,
                                          problem.kv_len_max - page,
                                          problem.kv_len_max / 2,
                                          problem.kv_len_max / 2 + 1,
                                          problem.kv_len_max - page - 1,
                                          problem.kv_len_max - 64};
  for (std::size_t b = 1; b < lengths.size(); ++b) {
    lengths[b] = std::clamp(candidates[(b - 1) % candidates.size()], 0, problem.kv_len_max);
  }
  return lengths;
}

Result<DecodeInputs> make_decode_inputs(const DecodeProblem& problem,
                                        const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                        unsigned threads) {
  DecodeProblem checked = problem;
  checked.kv_lengths = kv_lengths;
  CUBINET_TRY(check(checked));
  if (kv_lengths.empty() || problem.dtype_q != problem.dtype_kv ||
      (problem.dtype_kv != DataType::bf16 && problem.dtype_kv != DataType::fp16)) {
    return Error{ErrorCode::invalid_argument,
                 "decode inputs: need a length a sequence, and bf16 or fp16 for both dtype_q and dtype_kv"};
  }
  PageLayout layout = lay_out_pages(problem, kv_lengths, seed);
  if (layout.pages > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument, "decode inputs: the pool would have " +
                                                  std::to_string(layout.pages) +
                                                  " pages, and page numbers have 32 bits"};
  }
  DecodeInputs inputs;
  // q . k has the standard deviation of a Q element times sqrt(head_dim_qk), K's being 1.
  const double q_deviation =
      kLogitDeviation / (static_cast<double>(problem.scale()) * std::sqrt(problem.head_dim_qk));
  inputs.q.resize(static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(problem.q_len) *
                  static_cast<std::size_t>(problem.heads_q) * static_cast<std::size_t>(problem.head_dim_qk));
  NormalTable(problem.dtype_q, q_deviation, stream_seed(seed, 1, 0)).fill(inputs.q, stream_seed(seed, 1, 1));
  inputs.k = make_pool(problem, layout, problem.head_dim_qk, seed, 2, threads);
  inputs.v = make_pool(problem, layout, problem.head_dim_v, seed, 3, threads);
  inputs.page_table = std::move(layout.table);
  inputs.kv_lengths = kv_lengths;
  inputs.pages = layout.pages;
  return inputs;
}

}  // namespace cubinet
