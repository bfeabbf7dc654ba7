// SPDX-License-Identifier: Apache-2.0
// Compares all families of decode attention with float64, over random problems and over the
// problems of the prior system's tests. Needs a GPU and NVRTC. CUBINET_TEST_SEED repeats a run. At
// full size (CUBINET_TEST_EVERY) there are 2,500 problems and the whole matrix.
#include "decode_gpu_fixture.hpp"
#include "random_problems.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"
#include "tuning/tuned_plan.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

namespace cubinet {
namespace {

using test::Dice;
using test::ok;
using namespace test::gpu;

// A problem and one way to run it.
struct Case {
  AttentionProblem problem;
  std::vector<std::int32_t> lengths;
  PlanOptions options;
  std::uint64_t seed = 0;
};

DeviceFacts facts_of(const Gpu& gpu) {
  const DeviceProperties& properties = gpu.device->properties();
  return {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block};
}

// Returns the ways in which templates run a problem, by family: the kernels of every tile, with
// every number of splits that a tuner would time.
std::map<std::string, std::vector<PlanOptions>> ways_of(const Gpu& gpu, const AttentionBackends& backends,
                                                        const AttentionProblem& problem) {
  const PlanRequest request{problem, facts_of(gpu), {}, {}};
  std::map<std::string, std::vector<PlanOptions>> ways;
  for (PlanOptions& way : ok(backends.find(kTemplatesBackend)->alternatives(request)))
    ways[way.kernel->name].push_back(std::move(way));
  return ways;
}

// Returns one way of a random family. In four cases out of five it prefers a kernel that is already
// compiled, if there is one.
PlanOptions random_way(const std::map<std::string, std::vector<PlanOptions>>& ways,
                       std::set<std::string>& compiled, Dice& dice) {
  auto family = ways.begin();
  std::advance(family, dice.number() % ways.size());
  std::vector<PlanOptions> chosen;
  for (const PlanOptions& way : family->second) {
    if (compiled.count(way.kernel->to_string()) != 0) chosen.push_back(way);
  }
  PlanOptions way = dice.pick(chosen.empty() || dice.one_of(5) ? family->second : chosen);
  compiled.insert(way.kernel->to_string());
  if (dice.one_of(10)) {
    way.splits.reset();
    way.split_tokens = dice.pick({128U, 512U});
  }
  return way;
}

std::string words_of(const Case& tried) {
  std::ostringstream words;
  words << tuning_problem(tried.problem) << " batch " << tried.problem.batch << " kv_len "
        << tried.problem.kv_len << " window " << tried.problem.window << " sinks " << tried.problem.sinks
        << " seed " << tried.seed;
  if (tried.options.kernel) words << " by " << tried.options.kernel->to_string();
  if (tried.options.splits) words << " splits " << *tried.options.splits;
  if (tried.options.split_tokens) words << " of " << *tried.options.split_tokens << " tokens";
  return words.str();
}

// Examines a wrong result. Returns whether Q, K and V are still equal to the uploaded tensors, and
// whether freshly uploaded tensors give the same result. Another kernel may have caused an error
// that does not repeat.
std::string seen_again(const Gpu& gpu, const BoundAttention& attention, const AttentionInputs& inputs,
                       const TensorBuffers& buffers, const Outputs& first) {
  const AttentionProblem& problem = attention.plan().request.problem;
  const std::array<Bytes, 3> there = ok(buffers.appended());
  const Bytes brought[] = {packed_elements(inputs.q, problem.data_type_q),
                           packed_elements(inputs.k, problem.data_type_k),
                           packed_elements(inputs.v, problem.data_type_v)};
  std::string words;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (!brought[i].empty() && there[i] != brought[i])
      words += std::string(1, "QKV"[i]) + " is not what was brought; ";
  }
  const TensorBuffers anew = upload(gpu, attention, inputs);
  const Stream stream = ok(Stream::create(gpu.device));
  ok(attention.run(anew.tensors(), stream.handle()));
  ok(stream.synchronize());
  return words + (ok(anew.output()) == first.o ? "the same of tensors brought anew; "
                                               : "another result of tensors brought anew; ");
}

// Returns the largest deviation of all rows that e4m3 outputs may have from the rounded reference.
// Kernel and reference may round a value that is near the middle of two e4m3 numbers to different
// ones. Random V of unit variance averages to 1 / sqrt(tokens). Below 2^-6, from 4096 tokens on,
// e4m3 numbers have a constant distance, so that one step is an ever larger part of the value.
double narrow_limit(const AttentionProblem& problem) {
  const double tokens = std::min(problem.kv_len, problem.window);
  return 4e-2 * std::sqrt(std::max(tokens / 4096, 1.0));
}

// Returns the error, or an empty string if the result is correct. `family` receives the family of
// the kernel that ran.
std::string fault_of(const Gpu& gpu, const AttentionBackends& backends, const Case& tried, unsigned threads,
                     std::string& family) {
  const AttentionProblem& problem = tried.problem;
  const AttentionPlan plan = ok(plan_attention(problem, facts_of(gpu), {}, backends, tried.options));
  family = plan.row.implementation;
  const BoundAttention attention = ok(BoundAttention::bind(*gpu.runtime, plan, 0));
  AttentionInputs inputs = ok(make_attention_inputs(problem, tried.lengths, tried.seed, threads));
  std::vector<std::int32_t> table = pad_page_table(problem, inputs);
  const TensorBuffers buffers = upload(gpu, attention, inputs);
  const Stream stream = ok(Stream::create(gpu.device));
  std::vector<Outputs> runs;
  for (int run = 0; run < 2; ++run) {
    ok(buffers.poison(/*scratch=*/true));
    ok(attention.run(buffers.tensors(), stream.handle()));
    ok(stream.synchronize());
    runs.push_back({ok(buffers.output()), problem.lse ? ok(buffers.lse()) : std::vector<float>()});
  }
  if (runs[0].o != runs[1].o || runs[0].lse != runs[1].lse) return "a second run has other bits; ";
  inputs.page_table = std::move(table);
  const AttentionOutputs reference = ok(attention_reference(problem, inputs, threads));
  const AttentionDeviation error = ok(compare_attention(problem, reference, runs[0].o, runs[0].lse));
  std::ostringstream words;
  const bool narrow = problem.data_type_o == DataType::e4m3;
  if (narrow && error.worst_steps > 1) words << "an element is off by " << error.worst_steps << " steps; ";
  if (narrow && !(error.all_rows < narrow_limit(problem))) words << "all rows by " << error.all_rows << "; ";
  if (!narrow && !(error.worst_row < 1e-2))
    words << "row " << error.worst_index << " by " << error.worst_row << "; ";
  if (!(error.worst_lse < 1e-3)) words << "a log-sum-exp by " << error.worst_lse << "; ";
  if (words.tellp() > 0) words << seen_again(gpu, attention, inputs, buffers, runs[0]);
  return words.str();
}

// Slow cases run first, so that no core waits for one at the end.
void check_all(const Gpu& gpu, std::vector<Case> cases) {
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return test::reference_work(a.problem) > test::reference_work(b.problem);
  });
  std::mutex mutex;
  std::map<std::string, std::size_t> by_family;
  std::vector<std::string> faults;
  parallel_for(cases.size(), 0, [&](std::size_t i) {
    std::string family;
    const std::string fault = fault_of(gpu, backends, cases[i], 1, family);
    const std::lock_guard lock(mutex);
    ++by_family[family];
    if (!fault.empty()) faults.push_back(fault + words_of(cases[i]));
  });
  for (const auto& [family, count] : by_family) {
    MESSAGE(family, ": ", count, " problems");
    test::counted(count, family + " problems");
  }
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
}

// Returns ten problems that kernels of the same features compute.
std::vector<Case> cases_of_a_kind(const Gpu& gpu, const AttentionBackends& backends, std::uint64_t seed) {
  Dice dice(seed);
  const AttentionProblem common = test::random_kind(dice);
  std::set<std::string> compiled;
  std::vector<Case> cases(10);
  for (Case& tried : cases) {
    tried.problem = test::random_sizes(common, dice);
    tried.lengths = test::random_lengths(tried.problem, dice);
    if (dice.one_of(2)) tried.problem.kv_lengths = tried.lengths;
    tried.seed = dice.number();
    const auto ways = ways_of(gpu, backends, tried.problem);
    REQUIRE_MESSAGE(!ways.empty(), words_of(tried));
    if (!dice.one_of(5)) tried.options = random_way(ways, compiled, dice);
  }
  return cases;
}

std::uint64_t seed_of_run() {
  if (const char* given = std::getenv("CUBINET_TEST_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device()();
}

TEST_CASE("Every family computes random problems as float64 does, and the same bits twice") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const std::uint64_t seed = seed_of_run();
  MESSAGE("CUBINET_TEST_SEED=", seed);
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  const std::size_t kinds = test::at_full_size() ? 250 : 6;
  std::vector<std::vector<Case>> of_kinds(kinds);
  parallel_for(kinds, 0,
               [&](std::size_t kind) { of_kinds[kind] = cases_of_a_kind(*gpu, backends, seed + kind); });
  std::vector<Case> cases;
  for (std::vector<Case>& of_kind : of_kinds)
    std::move(of_kind.begin(), of_kind.end(), std::back_inserter(cases));
  check_all(*gpu, std::move(cases));
}

// The shapes of the prior system's own decode tests: batch, query tokens, page, KV heads, group.
constexpr std::uint32_t kShapes[][5] = {
    {4, 1, 16, 2, 1},   {4, 1, 32, 2, 5},   {4, 2, 64, 2, 5},   {4, 3, 32, 2, 5},   {4, 3, 64, 2, 1},
    {4, 4, 64, 4, 1},   {4, 5, 64, 4, 8},   {128, 1, 64, 2, 5}, {128, 2, 32, 4, 1}, {128, 3, 16, 4, 8},
    {128, 4, 16, 2, 5}, {128, 5, 16, 2, 5}, {256, 1, 64, 4, 8}, {256, 2, 16, 2, 8}, {256, 3, 64, 4, 5},
    {256, 4, 32, 2, 8}, {256, 5, 32, 2, 1}, {4, 1, 64, 2, 7},   {4, 16, 32, 2, 7},  {1024, 1, 16, 2, 5},
};

// The types of Q, KV and output.
constexpr DataType kTypes[][3] = {
    {DataType::bf16, DataType::bf16, DataType::bf16}, {DataType::fp16, DataType::fp16, DataType::fp16},
    {DataType::bf16, DataType::e4m3, DataType::bf16}, {DataType::fp16, DataType::e4m3, DataType::fp16},
    {DataType::bf16, DataType::e4m3, DataType::e4m3}, {DataType::fp16, DataType::e4m3, DataType::e4m3},
    {DataType::e4m3, DataType::e4m3, DataType::bf16}, {DataType::e4m3, DataType::e4m3, DataType::fp16},
    {DataType::e4m3, DataType::e4m3, DataType::e4m3},
};

TEST_CASE("The shapes that the prior system is tested with are computed as float64 does") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::vector<Case> all;
  for (const auto& [batch, q_len, page, heads_kv, group] : kShapes) {
    for (const auto& [q, kv, o] : kTypes) {
      for (const std::uint32_t variant : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
        Case tried;
        AttentionProblem& problem = tried.problem;
        problem.batch = batch;
        problem.q_len = q_len;
        problem.tokens_per_page = page;
        problem.heads_kv = heads_kv;
        problem.heads_q = heads_kv * group;
        problem.kv_len = 110;
        problem.data_type_q = q;
        problem.data_type_k = problem.data_type_v = kv;
        problem.data_type_o = o;
        if ((variant & 1U) != 0) problem.kv_order = KvOrder::hnd;
        if ((variant & 2U) != 0) problem.window = variant == 2 ? 1 : 90;
        problem.sinks = (variant & 4U) != 0 && o == DataType::bf16;
        problem.ragged_q = (variant & 4U) != 0;
        problem.lse = true;
        tried.lengths = make_kv_lengths(problem, LengthPattern::borders);
        tried.options.starts_early = (variant & 1U) != 0;
        tried.seed = all.size();
        all.push_back(std::move(tried));
      }
    }
  }
  std::vector<Case> cases;
  for (const std::size_t at : test::sampled(all.size(), 48))
    cases.push_back(all[at]);
  check_all(*gpu, std::move(cases));
}

TEST_CASE("Long sequences, latent attention and large batches are computed as float64 does") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::vector<Case> all;
  const auto add = [&](const AttentionProblem& problem, LengthPattern pattern) {
    Case tried;
    tried.problem = problem;
    tried.lengths = make_kv_lengths(problem, pattern);
    tried.seed = all.size();
    all.push_back(std::move(tried));
  };
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t kv_len : {4'096U, 8'192U, 32'768U, 131'072U}) {
      for (const std::uint32_t q_len : {1U, 3U, 4U}) {
        AttentionProblem problem;
        problem.q_len = q_len;
        problem.kv_len = kv_len;
        problem.heads_kv = q_len == 4 ? 4 : 2;
        problem.heads_q = q_len == 1 ? 10 : problem.heads_kv;
        problem.tokens_per_page = q_len == 1 ? 16 : 64;
        problem.data_type_k = problem.data_type_v = type;
        problem.lse = true;
        add(problem, LengthPattern::uniform);
      }
    }
    for (const std::uint32_t batch : {1U, 2U, 4U, 16U, 32U, 64U, 128U, 256U, 512U, 768U, 1'024U}) {
      for (const std::uint32_t page : {32U, 64U}) {
        AttentionProblem problem;
        problem.batch = batch;
        problem.q_len = page == 32 ? 1 : 2;
        problem.kv_len = batch > 64 ? 40 : 700;
        problem.heads_q = batch > 64 ? 16 : 128;
        problem.head_dim_qk = 576;
        problem.head_dim_v = 512;
        problem.tokens_per_page = page;
        problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
        problem.output_scale = page == 32 ? 1 : 0.5;
        problem.lse = true;
        add(problem, LengthPattern::borders);
      }
    }
  }
  std::vector<Case> cases;
  for (const std::size_t at : test::sampled(all.size(), 12))
    cases.push_back(all[at]);
  check_all(*gpu, std::move(cases));
}

}  // namespace
}  // namespace cubinet
