// SPDX-License-Identifier: Apache-2.0
// The distribution of serving problems that `bench attention --sample` draws from
// (docs/benchmarks.md).
#include <cubinet/attention/measure.hpp>
#include <cubinet/session/benchmark.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

namespace cubinet {
namespace {

constexpr std::uint32_t kMostRows = 1024;  // of one KV head: more is prefill
// The largest problem. The first limit keeps the copies of KV small against a device's memory, the
// second keeps the reference on the CPU below a few seconds.
constexpr double kMostKvBytes = 1e9;
constexpr double kMostOperations = 4e10;

// The heads of a model on one device, without tensor parallelism.
struct Heads {
  std::uint32_t q;
  std::uint32_t kv;
  std::uint32_t dim;
  bool sinks = false;
};
constexpr std::array kModels = {
    Heads{32, 8, 128},       // Llama 3 8B, Mistral 7B
    Heads{64, 8, 128},       // Llama 3 70B, Qwen3 32B
    Heads{128, 8, 128},      // Llama 3 405B
    Heads{40, 8, 128},       // Qwen3 14B, Llama 4
    Heads{28, 4, 128},       // Qwen2.5 7B
    Heads{32, 4, 128},       // Qwen3 30B-A3B
    Heads{64, 4, 128},       // Qwen3 235B-A22B
    Heads{96, 8, 128},       // GLM 4.5
    Heads{32, 32, 128},      // Llama 2 7B
    Heads{32, 16, 128},      // Gemma 3 27B
    Heads{16, 8, 256},       // Gemma 3 12B
    Heads{32, 8, 64},        // Llama 3.2 1B
    Heads{64, 8, 64, true},  // gpt-oss
};
constexpr std::array kLatentHeads = {8U, 16U, 32U, 64U, 128U};  // DeepSeek-V3 on 16 to 1 devices
constexpr std::array kDevices = {1U, 2U, 4U, 8U};
// Decode, and verification of drafts. Repetitions are weights.
constexpr std::array kQueryTokens = {1U, 1U, 1U, 1U, 1U, 1U, 2U, 3U, 4U, 5U, 8U, 16U};

// Random integers. The standard does not define the results of its distributions, so they may
// differ between libraries; those of the generator are defined.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  // Returns an integer below `end`. REQUIRES: 0 < end.
  std::uint32_t below(std::uint32_t end) {
    return static_cast<std::uint32_t>(((generator_() >> 32U) * end) >> 32U);
  }
  bool one_in(std::uint32_t count) { return below(count) == 0; }
  template <class T, std::size_t n>
  const T& of(const std::array<T, n>& values) {
    return values[below(n)];
  }
  // Returns an integer from 2^least to 2^most, uniform on a logarithmic scale. Every second one is
  // a power of two.
  std::uint32_t log_uniform(std::uint32_t least, std::uint32_t most) {
    const std::uint32_t power = 1U << (least + below(most - least + 1));
    return one_in(2) ? power : std::min(power + below(power), 1U << most);
  }

 private:
  std::mt19937_64 generator_;
};

void draw_heads(Draw& draw, AttentionProblem& problem) {
  if (draw.one_in(5)) {
    problem.heads_q = draw.of(kLatentHeads);
    problem.heads_kv = 1;
    problem.head_dim_qk = 576;
    problem.head_dim_v = 512;
    return;
  }
  const Heads& model = draw.of(kModels);
  std::uint32_t devices = draw.of(kDevices);
  while (model.q % devices != 0)
    devices /= 2;
  problem.heads_q = model.q / devices;
  problem.heads_kv = std::max(model.kv / devices, 1U);
  problem.head_dim_qk = problem.head_dim_v = model.dim;
  problem.sinks = model.sinks;
}

// Draws e4m3 KV in one of three problems. Latent attention then has e4m3 Q too.
void draw_types(Draw& draw, AttentionProblem& problem) {
  if (!draw.one_in(3)) return;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  if (problem.is_mla_generation()) problem.data_type_q = DataType::e4m3;
}

// Returns the length of one sequence of an uneven batch whose longest has `longest` tokens.
std::uint32_t uneven_length(Draw& draw, std::uint32_t pattern, std::uint32_t longest) {
  switch (pattern) {
    case 0:  // uniform
      return 1 + draw.below(longest);
    case 1:  // one long sequence among short ones
      return longest / 64 + draw.below(longest / 32);
    default:  // short ones are more frequent
      return (longest >> draw.below(6)) - draw.below(longest / 64);
  }
}

// Draws even lengths in every second problem. Returns the lengths of an uneven batch, or nothing.
std::vector<std::int32_t> draw_lengths(Draw& draw, const AttentionProblem& problem) {
  if (draw.one_in(2) || problem.batch == 1) return {};
  const std::uint32_t pattern = draw.below(3);
  std::vector<std::int32_t> lengths(problem.batch);
  for (std::int32_t& length : lengths)
    length = static_cast<std::int32_t>(std::max(uneven_length(draw, pattern, problem.kv_len), problem.q_len));
  lengths[draw.below(problem.batch)] = static_cast<std::int32_t>(problem.kv_len);
  return lengths;
}

BenchmarkCase draw_case(Draw& draw) {
  BenchmarkCase drawn;
  AttentionProblem& problem = drawn.problem;
  draw_heads(draw, problem);
  draw_types(draw, problem);
  problem.q_len = draw.of(kQueryTokens);
  problem.tokens_per_page = draw.one_in(2) ? 16 : 64;
  problem.batch = draw.log_uniform(0, 10);
  problem.kv_len = draw.log_uniform(6, 17);
  drawn.kv_lengths = draw_lengths(draw, problem);
  drawn.lengths_unknown = draw.one_in(3);
  return drawn;
}

bool is_within_limits(const BenchmarkCase& drawn) {
  const AttentionProblem& problem = drawn.problem;
  if (problem.group_size() * problem.q_len > kMostRows) return false;
  std::vector<std::int32_t> lengths = drawn.kv_lengths;
  if (lengths.empty()) lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  const AttentionWork work = attention_work(problem, lengths);
  return work.kv_bytes <= kMostKvBytes && work.operations <= kMostOperations;
}

}  // namespace

std::vector<BenchmarkCase> sample_cases(std::uint32_t count, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<BenchmarkCase> cases;
  while (cases.size() < count) {
    BenchmarkCase drawn = draw_case(draw);
    if (!is_within_limits(drawn)) continue;
    drawn.tag = fmt::format("sample-{}-{}", seed, cases.size());
    cases.push_back(std::move(drawn));
  }
  return cases;
}

}  // namespace cubinet
