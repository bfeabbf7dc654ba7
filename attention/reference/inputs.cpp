// SPDX-License-Identifier: Apache-2.0
#include "reference/check_reference.hpp"
#include "sequence_rows.hpp"
#include "size_limits.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/parallel.hpp>

#include <algorithm>
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
constexpr std::uint16_t kNan = 0x7fff;  // NaN in bf16, in fp16 and, in its lower half, in e4m3
// The unused pages, in addition to the one that spare entries name.
constexpr std::int64_t kSparePages = 3;

// SplitMix64: one addition and a mix, cheap enough for a separate stream per page.
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a number in (0, 1).
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t tensor, std::uint64_t part) {
  RandomBits mix(seed ^ (tensor << 56));
  return mix.next() + part * 0xd1342543de82ef95u;
}

// 2^16 draws from a normal distribution, rounded to the element type. A pool of gigabytes then
// takes one table lookup per element and is bound by memory.
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

// The tokens of one logical page that some query of its sequence reads.
struct PageUse {
  std::size_t entry = 0;  // entry of K's page table
  std::size_t begin = 0;  // tokens within the page
  std::size_t end = 0;
};

// Returns the tokens of a sequence that some query reads.
TokenRange readable(const AttentionInputs& inputs, const SequenceRows& rows, std::size_t sequence) {
  const std::int64_t length = inputs.kv_lengths[sequence];
  return {rows.q_length(sequence) == 0 ? length : rows.visible(sequence, 0).begin, length};
}

std::vector<PageUse> page_uses(const AttentionProblem& problem, const AttentionInputs& inputs) {
  std::vector<PageUse> uses;
  const SequenceRows rows(problem, inputs);
  const std::size_t width = page_table_rows(problem) * std::size_t{problem.pages_per_sequence()};
  const std::int64_t page_size = problem.tokens_per_page;
  for (std::size_t b = 0; b < problem.batch; ++b) {
    const TokenRange range = readable(inputs, rows, b);
    for (std::int64_t page = range.begin / page_size; page * page_size < range.end; ++page) {
      const std::int64_t first = page * page_size;
      uses.push_back({b * width + static_cast<std::size_t>(page),
                      static_cast<std::size_t>(std::max<std::int64_t>(range.begin - first, 0)),
                      static_cast<std::size_t>(std::min(range.end - first, page_size))});
    }
  }
  return uses;
}

// Assigns each use a page of the pools, which have inputs.pages pages: one of K and, with separate
// page tables, another of V.
void assign_pages(const AttentionProblem& problem, const std::vector<PageUse>& uses, std::uint64_t seed,
                  AttentionInputs& inputs) {
  const std::size_t width = problem.pages_per_sequence();
  inputs.page_table.resize(problem.batch * page_table_rows(problem) * width);
  std::vector<std::int32_t> order(static_cast<std::size_t>(inputs.pages));
  for (std::size_t table = 0; table < page_table_rows(problem); ++table) {
    std::iota(order.begin(), order.end(), 0);
    RandomBits bits(stream_seed(seed, 4, table));
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[bits.below(i + 1)]);
    for (std::size_t row = table; row < problem.batch * page_table_rows(problem);
         row += page_table_rows(problem))
      std::fill_n(inputs.page_table.begin() + static_cast<std::ptrdiff_t>(row * width), width, order.back());
    for (std::size_t i = 0; i < uses.size(); ++i)
      inputs.page_table[uses[i].entry + table * width] = order[i];
  }
}

// The parameters of K or V.
struct KvInput {
  DataType type;
  std::size_t head_dim;
  std::uint64_t tensor;   // index of the random stream
  std::size_t table = 0;  // row of a sequence's page tables
};

ElementBits make_pool(const AttentionProblem& problem, const AttentionInputs& inputs,
                      const std::vector<PageUse>& uses, const KvInput& shape, std::uint64_t seed,
                      unsigned threads) {
  const NormalTable normal(shape.type, 1.0, stream_seed(seed, shape.tensor, 0));
  const std::size_t page_elements = pool_offset(problem, 1, 0, 0, shape.head_dim);
  ElementBits pool(page_elements * static_cast<std::size_t>(inputs.pages));
  const auto page_of = [&](std::size_t use) {
    return inputs.page_table[uses[use].entry + shape.table * problem.pages_per_sequence()];
  };
  std::vector<bool> is_used(static_cast<std::size_t>(inputs.pages));
  for (std::size_t i = 0; i < uses.size(); ++i)
    is_used[static_cast<std::size_t>(page_of(i))] = true;
  for (std::size_t page = 0; page < is_used.size(); ++page) {
    if (!is_used[page]) std::ranges::fill(std::span(pool).subspan(page * page_elements, page_elements), kNan);
  }
  parallel_for(uses.size(), threads, [&](std::size_t i) {
    const PageUse& use = uses[i];
    const std::int64_t page = page_of(i);
    const auto elements = [&](std::size_t token, std::size_t head, std::size_t count) {
      return std::span(pool).subspan(pool_offset(problem, page, token, head, shape.head_dim), count);
    };
    if (use.begin == 0 && use.end == problem.tokens_per_page) {
      normal.fill(elements(0, 0, page_elements), stream_seed(seed, shape.tensor, i + 1));
      return;
    }
    std::ranges::fill(elements(0, 0, page_elements), kNan);
    for (std::size_t token = use.begin; token < use.end; ++token) {
      for (std::size_t head = 0; head < problem.heads_kv; ++head) {
        const std::uint64_t part = token << 40U | head << 24U;
        normal.fill(elements(token, head, shape.head_dim), stream_seed(seed, shape.tensor, (i + 1) ^ part));
      }
    }
  });
  return pool;
}

// Makes K or V without pages: one sequence after the other.
ElementBits make_sequences(const AttentionProblem& problem, const AttentionInputs& inputs,
                           const KvInput& shape, std::uint64_t seed, unsigned threads) {
  const NormalTable normal(shape.type, 1.0, stream_seed(seed, shape.tensor, 0));
  const SequenceRows rows(problem, inputs);
  const std::size_t token_elements = problem.heads_kv * shape.head_dim;
  ElementBits values(rows.kv_tokens() * token_elements, kNan);
  parallel_for(problem.batch, threads, [&](std::size_t b) {
    const TokenRange range = readable(inputs, rows, b);
    const auto first = static_cast<std::size_t>(range.begin);
    const auto count = static_cast<std::size_t>(range.end - range.begin);
    const std::size_t offset = (rows.kv_begin(b) + first) * token_elements;
    normal.fill(std::span(values).subspan(offset, count * token_elements),
                stream_seed(seed, shape.tensor, b + 1));
  });
  return values;
}

// Returns the query tokens of each sequence: its KV tokens if prompts are whole, otherwise the most
// for the first sequence and at least 1 for the others.
std::vector<std::int32_t> make_q_lengths(const AttentionProblem& problem,
                                         const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed) {
  if (problem.prefill && problem.q_len == problem.kv_len) return kv_lengths;
  std::vector<std::int32_t> lengths(problem.batch, static_cast<std::int32_t>(problem.q_len));
  RandomBits bits(stream_seed(seed, 5, 0));
  for (std::size_t b = 1; b < lengths.size(); ++b)
    lengths[b] = static_cast<std::int32_t>(1 + bits.below(problem.q_len));
  return lengths;
}

// Returns sinks as large as the largest logits, so that they have weight.
std::vector<float> make_sinks(const AttentionProblem& problem, std::uint64_t seed) {
  std::vector<float> sinks(problem.heads_q);
  RandomBits bits(stream_seed(seed, 6, 0));
  for (float& sink : sinks)
    sink = static_cast<float>(kLogitDeviation * (4 * bits.uniform() - 1));
  return sinks;
}

// Returns scales of KV heads from 1/4 to 4, all magnitudes alike.
std::vector<float> make_head_scales(const AttentionProblem& problem, std::uint64_t seed,
                                    std::uint64_t tensor) {
  std::vector<float> scales(head_scale_count(problem));
  RandomBits bits(stream_seed(seed, tensor, 0));
  for (float& scale : scales)
    scale = static_cast<float>(std::exp2(4 * bits.uniform() - 2));
  return scales;
}

// Divides Q by the scales of K, so that all logits have the same deviation.
void divide_q(const AttentionProblem& problem, AttentionInputs& inputs) {
  if (problem.kv_scales == KvScales::none) return;
  const SequenceRows rows(problem, inputs);
  const std::size_t head_elements = std::size_t{problem.group_size()} * problem.head_dim_qk;
  for (std::size_t b = 0; b < problem.batch; ++b) {
    for (std::size_t i = 0; i < std::size_t{rows.q_length(b)} * problem.heads_kv; ++i) {
      const float scale = head_scale(problem, inputs.k_head_scales, b, i % problem.heads_kv);
      const std::size_t first = (rows.q_begin(b) * problem.heads_kv + i) * head_elements;
      for (std::uint16_t& element : std::span(inputs.q).subspan(first, head_elements))
        element = from_float(to_float(element, problem.data_type_q) / scale, problem.data_type_q);
    }
  }
}

std::vector<std::uint32_t> make_mask(const AttentionProblem& problem, const SequenceRows& rows,
                                     std::uint64_t seed) {
  std::vector<std::uint32_t> mask(rows.q_tokens() * problem.mask_words());
  RandomBits bits(stream_seed(seed, 7, 0));
  for (std::size_t b = 0; b < problem.batch; ++b) {
    for (std::uint32_t token = 0; token < rows.q_length(b); ++token) {
      for (std::uint32_t other = 0; other < rows.q_length(b); ++other) {
        const bool seen = bits.below(2) == 0 || other == token;
        if (seen) mask[(rows.q_begin(b) + token) * problem.mask_words() + other / 32] |= 1U << (other % 32);
      }
    }
  }
  return mask;
}

// Writes NaN to everything that the append must write.
void poison_new_tokens(const AttentionProblem& problem, AttentionInputs& inputs) {
  const SequenceRows rows(problem, inputs);
  const auto poison = [](ElementBits& pool, std::size_t first, std::size_t count) {
    std::fill_n(pool.begin() + static_cast<std::ptrdiff_t>(first), count, kNan);
  };
  for (std::size_t b = 0; b < problem.batch; ++b) {
    const std::int64_t length = inputs.kv_lengths[b];
    for (std::int64_t token = std::max<std::int64_t>(length - rows.q_length(b), 0); token < length; ++token) {
      for (std::size_t head = 0; head < problem.heads_kv; ++head) {
        const auto place = static_cast<std::size_t>(token);
        poison(inputs.k, rows.k_row(b, place, head), problem.head_dim_qk);
        poison(inputs.v, rows.v_row(b, place, head), problem.head_dim_v);
      }
    }
  }
  if (problem.appends_q()) inputs.q.assign(inputs.q.size(), kNan);
}

// Makes the new rows, scaled so that their stored values resemble the rest of the cache and Q.
void make_new_rows(const AttentionProblem& problem, double q_deviation, std::uint64_t seed,
                   AttentionInputs& inputs) {
  const AttentionProblem::Append& append = *problem.append;
  const std::size_t tokens = SequenceRows(problem, inputs).q_tokens();
  const auto fill = [&](ElementBits& rows, std::size_t elements, double deviation, std::uint64_t tensor) {
    rows.resize(elements);
    NormalTable(append.data_type, deviation, stream_seed(seed, tensor, 0))
        .fill(rows, stream_seed(seed, tensor, 1));
  };
  if (problem.appends_q()) fill(inputs.new_q, inputs.q.size(), q_deviation * append.q_scale, 8);
  fill(inputs.new_k, tokens * problem.heads_kv * problem.head_dim_qk, append.k_scale, 9);
  fill(inputs.new_v, tokens * problem.heads_kv * problem.head_dim_v, append.v_scale, 10);
  if (append.positions) {
    RandomBits bits(stream_seed(seed, 11, 0));
    inputs.positions.resize(tokens);
    for (std::int32_t& position : inputs.positions)
      position = static_cast<std::int32_t>(bits.below(problem.kv_len));
  }
  if (append.rope_dim != 0) inputs.cos_sin = rope_table(rope_frequencies(append.rope_dim), problem.kv_len);
  poison_new_tokens(problem, inputs);
}

// Checks the pool size. Every sequence of the test pool has pages of its own.
Result<void> check_pool_size(const AttentionProblem& problem) {
  const std::uint64_t tokens = problem.layout == QkvLayout::paged_kv
                                   ? std::uint64_t{problem.pages_per_sequence()} * problem.tokens_per_page
                                   : problem.kv_len;
  const std::uint64_t columns = std::max(problem.head_dim_qk, problem.head_dim_v);
  const std::uint64_t bytes = saturating_product(std::uint64_t{problem.batch} * problem.heads_kv,
                                                 saturating_product(tokens, columns * sizeof(std::uint16_t)));
  if (bytes <= kLargestTensorBytes) return {};
  return Error{ErrorCode::invalid_argument,
               "attention inputs: K of `AttentionProblem::batch` " + std::to_string(problem.batch) +
                   ", `AttentionProblem::kv_len` " + std::to_string(problem.kv_len) +
                   " and `AttentionProblem::heads_kv` " + std::to_string(problem.heads_kv) +
                   " exceeds 2^56 bytes",
               "ask for a smaller batch or fewer tokens"};
}

}  // namespace

std::vector<std::int32_t> make_kv_lengths(const AttentionProblem& problem, LengthPattern pattern) {
  const auto longest = static_cast<std::int32_t>(problem.kv_len);
  std::vector<std::int32_t> lengths(problem.batch, longest);
  if (pattern == LengthPattern::uniform) return lengths;
  // 0, and lengths around a warp's slice, a page, the tiles of 32, 64 and 128, and the longest
  // length.
  const auto page = static_cast<std::int32_t>(problem.tokens_per_page);
  const std::array<std::int32_t, 24> candidates = {0,
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
                                                   longest - 1,
                                                   longest - page,
                                                   longest / 2,
                                                   longest / 2 + 1,
                                                   longest - page - 1,
                                                   longest - 64};
  for (std::size_t b = 1; b < lengths.size(); ++b) {
    lengths[b] = std::clamp(candidates[(b - 1) % candidates.size()], 0, longest);
  }
  return lengths;
}

Result<AttentionInputs> make_attention_inputs(const AttentionProblem& problem,
                                              const std::vector<std::int32_t>& kv_lengths, std::uint64_t seed,
                                              unsigned threads, const std::vector<std::int32_t>& q_lengths) {
  CUBINET_TRY(check_reference(problem, kv_lengths));
  CUBINET_TRY(check_pool_size(problem));
  if (!q_lengths.empty()) CUBINET_TRY(check_q_lengths(problem, q_lengths));
  AttentionInputs inputs;
  inputs.kv_lengths = kv_lengths;
  if (problem.ragged_q)
    inputs.q_lengths = q_lengths.empty() ? make_q_lengths(problem, kv_lengths, seed) : q_lengths;
  if (problem.sinks) inputs.sinks = make_sinks(problem, seed);
  inputs.k_head_scales = make_head_scales(problem, seed, 12);
  inputs.v_head_scales = make_head_scales(problem, seed, 13);
  if (problem.mask == AttentionMask::custom)
    inputs.mask = make_mask(problem, SequenceRows(problem, inputs), seed);
  // The standard deviation of q . k is that of a Q element times sqrt(head_dim_qk), because K's is
  // 1.
  const double q_deviation = kLogitDeviation / (problem.scale() * std::sqrt(problem.head_dim_qk));
  inputs.q.resize(SequenceRows(problem, inputs).q_tokens() * problem.heads_q * problem.head_dim_qk);
  NormalTable(problem.data_type_q, q_deviation, stream_seed(seed, 1, 0))
      .fill(inputs.q, stream_seed(seed, 1, 1));
  divide_q(problem, inputs);
  const KvInput k{problem.data_type_k, problem.head_dim_qk, 2, 0};
  const KvInput v{problem.data_type_v, problem.head_dim_v, 3, page_table_rows(problem) - 1};
  if (problem.layout != QkvLayout::paged_kv) {
    inputs.k = make_sequences(problem, inputs, k, seed, threads);
    inputs.v = make_sequences(problem, inputs, v, seed, threads);
    return inputs;
  }
  const std::vector<PageUse> uses = page_uses(problem, inputs);
  inputs.pages = static_cast<std::int64_t>(uses.size()) + kSparePages;
  if (inputs.pages > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument, "attention inputs: the pool would have " +
                                                  std::to_string(inputs.pages) +
                                                  " pages, and page numbers have 32 bits"};
  }
  assign_pages(problem, uses, seed, inputs);
  inputs.k = make_pool(problem, inputs, uses, k, seed, threads);
  if (!problem.is_mla_generation()) inputs.v = make_pool(problem, inputs, uses, v, seed, threads);
  if (problem.append) make_new_rows(problem, q_deviation, seed, inputs);
  return inputs;
}

}  // namespace cubinet
