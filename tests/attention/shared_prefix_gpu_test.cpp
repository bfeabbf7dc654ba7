// SPDX-License-Identifier: Apache-2.0
// Compares attention over shared prefixes with float64. Needs a GPU and NVRTC. CUBINET_TEST_SEED
// repeats a run. At full size (CUBINET_TEST_EVERY) there are 240 problems.
#include "random_cases.hpp"
#include "support/sampled.hpp"

#include <cubinet/attention/shared_prefix_inputs.hpp>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace cubinet {
namespace {

using test::Dice;
using test::ok;
using namespace test::gpu;

// A problem and its lengths: of the prefix of each group, and of the own tokens of each sequence.
struct SharedCase {
  SharedPrefixProblem problem;
  std::vector<std::uint32_t> group_sequences;  // sequences of each group
  std::vector<std::int32_t> prefix_lengths;
  std::vector<std::int32_t> own_lengths;
  std::uint64_t seed = 0;

  std::string to_string() const {
    std::ostringstream words;
    words << tuning_problem(problem.own) << " batch " << problem.own.batch << " groups " << problem.groups
          << " group_tokens " << problem.group_tokens << " prefixes";
    for (const std::int32_t length : prefix_lengths)
      words << ' ' << length;
    words << " seed " << seed;
    return words.str();
  }
};

SharedPrefixInputs shared_inputs(const SharedCase& tried) {
  return ok(make_shared_prefix_inputs(
      tried.problem, {tried.prefix_lengths, tried.own_lengths, tried.group_sequences}, tried.seed, 1));
}

// Returns attention over both parts in double precision.
AttentionOutputs shared_reference(const SharedCase& tried, const SharedPrefixInputs& inputs) {
  return merge_reference(inputs.merge, ok(attention_reference(inputs.prefix_problem, inputs.prefix, 1)),
                         ok(attention_reference(tried.problem.own, inputs.own, 1)));
}

SharedPrefixBuffers padded_buffers(const Gpu& gpu, const SharedPrefixAttention& attention,
                                   SharedPrefixInputs inputs) {
  pad_page_table(inputs.prefix_problem, inputs.prefix);
  pad_page_table(attention.problem().own, inputs.own);
  return ok(SharedPrefixBuffers::create(gpu.device, attention, inputs));
}

AttentionPlanner planner_of(const Gpu& gpu) {
  return ok(AttentionPlanner::over({}, facts_of(gpu)));
}

// Returns the error, or an empty string if the result is correct.
std::string shared_fault(const Gpu& gpu, const AttentionPlanner& planner, const SharedCase& tried) {
  const auto plan = plan_shared_prefix(tried.problem, planner);
  if (!plan) return plan.error().to_line() + "; ";
  const auto attention = ok(SharedPrefixAttention::bind(*gpu.runtime, *plan, 0));
  const SharedPrefixInputs inputs = shared_inputs(tried);
  const SharedPrefixBuffers buffers = padded_buffers(gpu, attention, inputs);
  const bool lse = tried.problem.own.lse;
  ok(attention.check(buffers.tensors(lse)));
  const Stream stream = ok(Stream::create(gpu.device));
  std::vector<Outputs> runs;
  for (int run = 0; run < 2; ++run) {
    ok(buffers.own.poison(/*scratch=*/true));
    ok(attention.run(buffers.tensors(lse), stream.handle()));
    ok(stream.synchronize());
    runs.push_back({ok(buffers.own.output()), lse ? ok(buffers.own.lse()) : std::vector<float>()});
  }
  if (runs[0].o != runs[1].o || runs[0].lse != runs[1].lse) return "a second run has other bits; ";
  const AttentionDeviation error =
      ok(compare_attention(tried.problem.own, shared_reference(tried, inputs), runs[0].o, runs[0].lse));
  std::ostringstream words;
  const bool narrow = tried.problem.own.data_type_o == DataType::e4m3;
  if (narrow ? error.worst_steps > 1 : !(error.worst_row < 1e-2))
    words << "row " << error.worst_index << " by " << error.worst_row << ", " << error.worst_steps
          << " steps; ";
  if (!(error.worst_lse < 1e-3)) words << "a log-sum-exp by " << error.worst_lse << "; ";
  return words.str();
}

AttentionProblem random_own(Dice& dice) {
  AttentionProblem own;
  own.data_type_q = dice.pick({DataType::bf16, DataType::bf16, DataType::fp16});
  own.data_type_k = own.data_type_v = own.data_type_o = own.data_type_q;
  own.head_dim_qk = own.head_dim_v = dice.pick({64U, 128U, 128U, 256U});
  own.heads_kv = dice.pick({1U, 1U, 2U, 3U});
  own.heads_q = own.heads_kv * dice.pick({1U, 2U, 5U, 8U});
  own.tokens_per_page = dice.pick({8U, 16U, 24U, 64U, 64U});
  own.kv_order = dice.pick({KvOrder::nhd, KvOrder::hnd});
  own.q_len = dice.pick({1U, 1U, 1U, 4U, 9U});
  own.ragged_q = own.q_len > 1 && dice.one_of(2);
  own.sinks = dice.one_of(3);
  own.lse = dice.one_of(2);
  own.scales_on_device = dice.one_of(4);
  if (dice.one_of(4)) own.soft_cap = 30.0;
  if (own.tokens_per_page != 24) {
    if (dice.one_of(4)) own.data_type_k = own.data_type_v = DataType::e4m3;
    if (dice.one_of(4)) own.data_type_o = dice.pick({DataType::fp32, DataType::e4m3});
    if (own.data_type_o == DataType::e4m3) own.output_scale = 0.125;
    if (own.data_type_o == DataType::e4m3) own.sinks = false;
    if (own.data_type_k == DataType::e4m3 && own.data_type_o != DataType::e4m3 && dice.one_of(2))
      own.kv_scales = KvScales::head;
    if (own.data_type_k == own.data_type_q && dice.one_of(4)) {
      own.append.emplace();
      own.append->data_type = own.data_type_q;
      own.append->rope_dim = dice.one_of(2) ? 64 : 0;
      own.append->positions = own.append->rope_dim != 0;
    }
  }
  return own;
}

constexpr double kMostMultiplications = 3e8;  // of the reference, about a second

double multiplications(const SharedCase& tried) {
  const AttentionProblem& own = tried.problem.own;
  double tokens = 0;
  for (std::size_t g = 0; g < tried.prefix_lengths.size(); ++g)
    tokens += double{1} * tried.group_sequences[g] * own.q_len * tried.prefix_lengths[g];
  return tokens * own.heads_q * (own.head_dim_qk + own.head_dim_v);
}

SharedCase random_shared(std::uint64_t seed) {
  Dice dice(seed);
  SharedCase tried;
  tried.seed = seed;
  SharedPrefixProblem& problem = tried.problem;
  AttentionProblem& own = problem.own;
  own = random_own(dice);
  problem.groups = dice.size(1, 8);
  const std::int32_t tile = dice.pick({64, 128});
  for (std::uint32_t g = 0; g < problem.groups; ++g) {
    tried.group_sequences.push_back(dice.size(1, 12));
    tried.prefix_lengths.push_back(
        dice.pick({0, 1, tile - 1, tile, tile + 1, static_cast<std::int32_t>(dice.size(1, 1000)), 4096}));
  }
  own.batch = std::accumulate(tried.group_sequences.begin(), tried.group_sequences.end(), 0U);
  own.kv_len = std::max(dice.size(1, 300), own.q_len);
  for (std::uint32_t i = 0; i < own.batch; ++i) {
    const bool empty = !own.append && dice.one_of(4);
    tried.own_lengths.push_back(empty ? 0 : static_cast<std::int32_t>(dice.size(own.q_len, own.kv_len)));
  }
  tried.own_lengths.front() = static_cast<std::int32_t>(own.kv_len);
  while (multiplications(tried) > kMostMultiplications) {
    const auto most = std::max_element(tried.prefix_lengths.begin(), tried.prefix_lengths.end());
    *most = *most / 2 + 1;
  }
  const std::int32_t longest =
      std::max(*std::max_element(tried.prefix_lengths.begin(), tried.prefix_lengths.end()), 1);
  problem.prefix_len = static_cast<std::uint32_t>(longest) + dice.pick({0U, 0U, 77U});
  if (dice.one_of(2)) {
    const std::uint32_t most = *std::max_element(tried.group_sequences.begin(), tried.group_sequences.end());
    problem.group_tokens = most * own.q_len;
  }
  if (dice.one_of(3)) problem.prefix_lengths = tried.prefix_lengths;
  return tried;
}

TEST_CASE("Attention over random shared prefixes agrees with float64, and has the same bits twice") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const std::uint64_t seed = seed_of_run();
  MESSAGE("CUBINET_TEST_SEED=", seed);
  const AttentionPlanner planner = planner_of(*gpu);
  std::vector<std::string> faults(test::at_full_size() ? 240 : 24);
  parallel_for(faults.size(), 0, [&](std::size_t i) {
    const SharedCase tried = random_shared(seed + i);
    const std::string fault = shared_fault(*gpu, planner, tried);
    if (!fault.empty()) faults[i] = fault + tried.to_string();
  });
  for (const std::string& fault : faults)
    CHECK_MESSAGE(fault.empty(), fault);
}

TEST_CASE("The rows of latent attention and of prompts agree over shared prefixes") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  SharedCase latent;
  latent.problem.own.head_dim_qk = 576;
  latent.problem.own.head_dim_v = 512;
  latent.problem.own.heads_q = 16;
  latent.problem.own.batch = 7;
  latent.problem.own.kv_len = 90;
  latent.problem.own.lse = true;
  latent.problem.groups = 2;
  latent.problem.prefix_len = 700;
  latent.group_sequences = {4, 3};
  latent.prefix_lengths = {700, 65};
  latent.own_lengths = {90, 0, 1, 64, 33, 2, 90};
  SharedCase prompts;
  prompts.problem.own.prefill = prompts.problem.own.ragged_q = true;
  prompts.problem.own.heads_q = 16;
  prompts.problem.own.heads_kv = 2;
  prompts.problem.own.batch = 5;
  prompts.problem.own.q_len = prompts.problem.own.kv_len = 200;
  prompts.problem.groups = 2;
  prompts.problem.prefix_len = 1000;
  prompts.group_sequences = {3, 2};
  prompts.prefix_lengths = {999, 257};
  prompts.own_lengths = {200, 200, 200, 200, 200};
  const AttentionPlanner planner = planner_of(*gpu);
  for (const SharedCase* tried : {&latent, &prompts}) {
    const std::string fault = shared_fault(*gpu, planner, *tried);
    CHECK_MESSAGE(fault.empty(), fault, tried->to_string());
  }
}

// The prefixes end with pages, so each sequence also has a page table of all its tokens.
TEST_CASE("One graph serves all lengths, and equals attention without shared prefixes") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  constexpr std::int32_t kPage = 16;
  SharedCase tried;
  AttentionProblem& own = tried.problem.own;
  own.batch = 6;
  own.heads_q = 8;
  own.heads_kv = 2;
  own.kv_len = 100;
  own.tokens_per_page = kPage;
  own.lse = true;
  tried.problem.groups = 3;
  tried.problem.prefix_len = 20 * kPage;
  tried.group_sequences = {3, 1, 2};
  tried.prefix_lengths = {20 * kPage, 0, 3 * kPage};
  tried.own_lengths = {100, 1, 17, 64, 16, 99};
  const SharedPrefixInputs inputs = shared_inputs(tried);
  const auto attention = ok(
      SharedPrefixAttention::bind(*gpu->runtime, ok(plan_shared_prefix(tried.problem, planner_of(*gpu))), 0));
  const SharedPrefixBuffers buffers = padded_buffers(*gpu, attention, inputs);
  const Stream stream = ok(Stream::create(gpu->device));
  const Graph graph =
      ok(Graph::capture(stream, [&] { return attention.run(buffers.tensors(true), stream.handle()); }));

  AttentionProblem whole = own;
  whole.kv_len += tried.problem.prefix_len;
  AttentionInputs all = inputs.own;
  const std::size_t own_pages = own.pages_per_sequence();
  const std::size_t prefix_pages = tried.problem.prefix_len / kPage;
  for (const std::int32_t shorter : {0, kPage}) {
    all.page_table.clear();
    all.kv_lengths.clear();
    std::vector<std::int32_t> prefixes = tried.prefix_lengths;
    std::vector<std::int32_t> lengths = tried.own_lengths;
    for (std::int32_t& length : prefixes)
      length = std::max(length - shorter, 0);
    for (std::int32_t& length : lengths)
      length = std::max(length - shorter, 1);
    std::size_t sequence = 0;
    for (std::size_t group = 0; group < prefixes.size(); ++group) {
      for (std::uint32_t i = 0; i < tried.group_sequences[group]; ++i, ++sequence) {
        const auto shared =
            inputs.prefix.page_table.begin() + static_cast<std::ptrdiff_t>(group * prefix_pages);
        const auto alone = inputs.own.page_table.begin() + static_cast<std::ptrdiff_t>(sequence * own_pages);
        std::vector<std::int32_t> row(shared, shared + prefixes[group] / kPage);
        row.insert(row.end(), alone, alone + static_cast<std::ptrdiff_t>(own_pages));
        row.resize(whole.pages_per_sequence(), 0);
        all.page_table.insert(all.page_table.end(), row.begin(), row.end());
        all.kv_lengths.push_back(prefixes[group] + lengths[sequence]);
      }
    }
    ok(buffers.lengths.copy_from(prefixes));
    ok(buffers.own.set_kv_lengths(lengths));
    ok(buffers.own.poison(/*scratch=*/true));
    ok(graph.launch(stream));
    ok(stream.synchronize());
    compare(whole, all, ok(buffers.own.output()), ok(buffers.own.lse()));
  }
}

}  // namespace
}  // namespace cubinet
