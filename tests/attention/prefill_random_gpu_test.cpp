// SPDX-License-Identifier: Apache-2.0
// Compares all families of prefill attention with float64 over random problems. Needs a GPU and
// NVRTC. CUBINET_TEST_SEED repeats a run. At full size (CUBINET_TEST_EVERY) there are 2,000
// problems.
#include "random_cases.hpp"
#include "support/sampled.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace cubinet {
namespace {

using test::Dice;
using test::ok;
using namespace test::gpu;

// Returns ten problems that kernels of the same features compute.
std::vector<Case> prefill_cases_of_a_kind(const Gpu& gpu, const AttentionBackends& backends,
                                          std::uint64_t seed) {
  Dice dice(seed);
  const AttentionProblem common = test::random_prefill_kind(dice);
  std::set<std::string> compiled;
  std::vector<Case> cases(10);
  for (Case& tried : cases) {
    tried.problem = test::random_prefill_sizes(common, dice);
    tried.lengths = test::random_lengths(tried.problem, dice);
    if (dice.one_of(2)) tried.problem.kv_lengths = tried.lengths;
    tried.seed = dice.number();
    const auto ways = ways_of(gpu, backends, tried.problem);
    REQUIRE_MESSAGE(!ways.empty(), words_of(tried));
    if (dice.one_of(5)) continue;
    tried.options = random_way(ways, compiled, dice);
    tried.options.split_tokens.reset();
  }
  return cases;
}

TEST_CASE("Every family of prefill computes random problems as float64 does, and the same bits twice") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const std::uint64_t seed = seed_of_run();
  MESSAGE("CUBINET_TEST_SEED=", seed);
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  const std::size_t kinds = test::at_full_size() ? 200 : 6;
  std::vector<std::vector<Case>> of_kinds(kinds);
  parallel_for(kinds, 0, [&](std::size_t kind) {
    of_kinds[kind] = prefill_cases_of_a_kind(*gpu, backends, seed + kind);
  });
  std::vector<Case> cases;
  for (std::vector<Case>& of_kind : of_kinds)
    std::move(of_kind.begin(), of_kind.end(), std::back_inserter(cases));
  check_all(*gpu, std::move(cases));
}

}  // namespace
}  // namespace cubinet
