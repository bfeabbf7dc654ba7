// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decode_gpu_fixture.hpp"
#include "random_problems.hpp"
#include "support/counted.hpp"
#include "tuning/tuned_plan.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sstream>

// Random problems of attention, each with a kernel that runs it, and their comparison with float64.
namespace cubinet::test::gpu {

// A problem and one way to run it.
struct Case {
  AttentionProblem problem;
  std::vector<std::int32_t> lengths;
  PlanOptions options;
  std::uint64_t seed = 0;
};

inline DeviceFacts facts_of(const Gpu& gpu) {
  const DeviceProperties& properties = gpu.device->properties();
  return {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block};
}

// Returns the ways in which templates run a problem, by family: the kernels of every tile, with
// every number of splits that a tuner would time.
inline std::map<std::string, std::vector<PlanOptions>> ways_of(const Gpu& gpu,
                                                               const AttentionBackends& backends,
                                                               const AttentionProblem& problem) {
  const PlanRequest request{problem, facts_of(gpu), {}, {}};
  std::map<std::string, std::vector<PlanOptions>> ways;
  for (PlanOptions& way : ok(backends.find(kTemplatesBackend)->alternatives(request)))
    ways[way.kernel->name].push_back(std::move(way));
  return ways;
}

// Returns one way of a random family. In four cases out of five it prefers a kernel that is already
// compiled, if there is one.
inline PlanOptions random_way(const std::map<std::string, std::vector<PlanOptions>>& ways,
                              std::set<std::string>& compiled, Dice& dice) {
  auto family = ways.begin();
  std::advance(family, dice.number() % ways.size());
  std::vector<PlanOptions> chosen;
  for (const PlanOptions& way : family->second) {
    if (compiled.count(way.kernel->to_string()) != 0) chosen.push_back(way);
  }
  PlanOptions way = dice.pick(chosen.empty() || dice.one_of(5) ? family->second : chosen);
  compiled.insert(way.kernel->to_string());
  // Tiles of prompts split generation in equal parts alone.
  if (family->first != "attention_prefill_wgmma" && dice.one_of(10)) {
    way.splits.reset();
    way.split_tokens = dice.pick({128U, 512U});
  }
  return way;
}

inline std::string words_of(const Case& tried) {
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
inline std::string seen_again(const Gpu& gpu, const BoundAttention& attention, const AttentionInputs& inputs,
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
inline double narrow_limit(const AttentionProblem& problem, const Limits& limits) {
  const double tokens = std::min(problem.kv_len, problem.window);
  return limits.all_rows * std::sqrt(std::max(tokens / 4096, 1.0));
}

// Returns the error, or an empty string if the result is correct. `family` receives the family of
// the kernel that ran.
inline std::string fault_of(const Gpu& gpu, const AttentionBackends& backends, const Case& tried,
                            unsigned threads, std::string& family) {
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
  const Limits limits = limits_of(problem, family);
  if (narrow && error.worst_steps > limits.steps)
    words << "an element is off by " << error.worst_steps << " steps; ";
  if (narrow && !(error.all_rows < narrow_limit(problem, limits)))
    words << "all rows by " << error.all_rows << "; ";
  if (!narrow && !(error.worst_row < limits.row))
    words << "row " << error.worst_index << " by " << error.worst_row << "; ";
  if (!(error.worst_lse < limits.lse)) words << "a log-sum-exp by " << error.worst_lse << "; ";
  if (words.tellp() > 0) words << seen_again(gpu, attention, inputs, buffers, runs[0]);
  return words.str();
}

// Slow cases run first, so that no core waits for one at the end.
inline void check_all(const Gpu& gpu, std::vector<Case> cases) {
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

inline std::uint64_t seed_of_run() {
  if (const char* given = std::getenv("CUBINET_TEST_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device()();
}

}  // namespace cubinet::test::gpu
