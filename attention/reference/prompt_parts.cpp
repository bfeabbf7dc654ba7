// SPDX-License-Identifier: Apache-2.0
#include "sequence_rows.hpp"

#include <cubinet/attention/prompt_parts.hpp>
#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace cubinet {
namespace {

constexpr std::uint16_t kNotANumber = 0x7fff;  // in bf16 and fp16

// The pages of each part, numbered in order of first use. Page 0 is that of spare entries.
struct PartPages {
  std::vector<std::vector<std::int32_t>> of_part;
  std::int32_t count = 1;
};

PartPages number_pages(std::span<const PromptPart> parts, std::size_t page_size, bool shares_pages) {
  PartPages pages;
  std::map<std::size_t, std::vector<std::int32_t>> shared;
  for (const PromptPart& part : parts) {
    std::vector<std::int32_t>& known = shared[part.prompt];
    std::vector<std::int32_t> own = shares_pages ? known : std::vector<std::int32_t>();
    while (own.size() * page_size < part.end)
      own.push_back(pages.count++);
    if (own.size() > known.size()) known = own;
    pages.of_part.push_back(std::move(own));
  }
  return pages;
}

std::vector<std::int32_t> shuffled_order(std::int32_t count, std::uint64_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 bits(seed);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[bits() % (i + 1)]);
  return order;
}

std::ptrdiff_t signed_of(std::size_t offset) {
  return static_cast<std::ptrdiff_t>(offset);
}

// Copies the tokens that rows of a part see into its pages. `table` is its row of the page table.
void copy_tokens(const Prompts& prompts, const AttentionProblem& problem, const PromptPart& part,
                 std::span<const std::int32_t> table, AttentionInputs& inputs) {
  const std::size_t page_size = problem.tokens_per_page;
  const std::size_t oldest = part.begin + 1 - std::min<std::size_t>(part.begin + 1, problem.window);
  for (std::size_t token = oldest; token < part.end; ++token) {
    for (std::size_t head = 0; head < problem.heads_kv; ++head) {
      const std::size_t from = (part.prompt * prompts.length() + token) * problem.heads_kv + head;
      const auto copy = [&](const ElementBits& rows, ElementBits& pool, std::size_t columns) {
        const std::size_t to =
            pool_offset(problem, table[token / page_size], token % page_size, head, columns);
        std::copy_n(rows.begin() + signed_of(from * columns), columns, pool.begin() + signed_of(to));
      };
      copy(prompts.inputs.k, inputs.k, problem.head_dim_qk);
      copy(prompts.inputs.v, inputs.v, problem.head_dim_v);
    }
  }
}

std::size_t rows_of(const Prompts& prompts, const PromptPart& part) {
  return (part.end - part.begin) * prompts.problem.heads_q;
}

}  // namespace

Result<Prompts> make_prompts(AttentionProblem problem, std::uint64_t seed, unsigned threads) {
  problem.prefill = true;
  problem.layout = QkvLayout::contiguous_kv;
  problem.q_len = problem.kv_len;
  CUBINET_TRY(check_problem(problem));
  CUBINET_TRY_ASSIGN(
      AttentionInputs inputs,
      make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), seed, threads));
  return Prompts{std::move(problem), std::move(inputs)};
}

AttentionInputs inputs_of_parts(const Prompts& prompts, const AttentionProblem& problem,
                                std::span<const PromptPart> parts, bool shares_pages, std::uint64_t seed) {
  const std::size_t page_size = problem.tokens_per_page;
  const PartPages pages = number_pages(parts, page_size, shares_pages);
  const std::vector<std::int32_t> order = shuffled_order(pages.count, seed);

  AttentionInputs inputs;
  inputs.pages = pages.count;
  inputs.sinks = prompts.inputs.sinks;
  const std::size_t width = problem.pages_per_sequence();
  inputs.page_table.assign(parts.size() * width, order[0]);
  const std::size_t elements = static_cast<std::size_t>(pages.count) * page_size * problem.heads_kv;
  inputs.k.assign(elements * problem.head_dim_qk, kNotANumber);
  inputs.v.assign(elements * problem.head_dim_v, kNotANumber);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PromptPart& part = parts[i];
    const std::span<std::int32_t> table = std::span(inputs.page_table).subspan(i * width, width);
    for (std::size_t page = 0; page < pages.of_part[i].size(); ++page)
      table[page] = order[static_cast<std::size_t>(pages.of_part[i][page])];
    copy_tokens(prompts, problem, part, table, inputs);
    const std::size_t row = std::size_t{problem.heads_q} * problem.head_dim_qk;
    const auto first =
        prompts.inputs.q.begin() + signed_of((part.prompt * prompts.length() + part.begin) * row);
    inputs.q.insert(inputs.q.end(), first, first + signed_of((part.end - part.begin) * row));
    inputs.kv_lengths.push_back(static_cast<std::int32_t>(part.end));
    if (problem.ragged_q) inputs.q_lengths.push_back(static_cast<std::int32_t>(part.end - part.begin));
  }
  return inputs;
}

std::size_t row_count(const Prompts& prompts, std::span<const PromptPart> parts) {
  std::size_t rows = 0;
  for (const PromptPart& part : parts)
    rows += rows_of(prompts, part);
  return rows;
}

std::size_t equal_rows(const Prompts& prompts, const OutputBits& whole, std::span<const PromptPart> parts,
                       const OutputBits& outputs) {
  const AttentionProblem& problem = prompts.problem;
  const std::size_t bytes = problem.head_dim_v * static_cast<std::size_t>(bits_of(problem.data_type_o)) / 8;
  const bool has_lse = !whole.lse.empty() && !outputs.lse.empty();
  std::size_t equal = 0;
  std::size_t row = 0;
  for (const PromptPart& part : parts) {
    const std::size_t first = (part.prompt * prompts.length() + part.begin) * problem.heads_q;
    for (std::size_t i = 0; i < rows_of(prompts, part); ++i, ++row) {
      const bool same_o =
          std::memcmp(outputs.o.data() + row * bytes, whole.o.data() + (first + i) * bytes, bytes) == 0;
      const bool same_lse =
          !has_lse || std::memcmp(&outputs.lse[row], &whole.lse[first + i], sizeof(float)) == 0;
      equal += same_o && same_lse ? 1 : 0;
    }
  }
  return equal;
}

}  // namespace cubinet
