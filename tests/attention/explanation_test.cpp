// SPDX-License-Identifier: Apache-2.0
#include "published/explanation.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

std::string joined(const AttentionProblem& problem, const DeviceFacts& device, const KernelIndex& index,
                   const SelectionPolicy& policy = {}) {
  const auto selection = select(problem, device, index, policy);
  REQUIRE(selection);
  std::string text;
  for (const std::string& line : explain(problem, device, index, *selection))
    text += line + "\n";
  return text;
}

TEST_CASE("a choice is explained by its candidates and passes") {
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  const std::string text = joined(problem, test::kB200, test::index_of(test::rows_for(problem)));
  CHECK(text.find("swaps8_cga_static_sm_100f (sm_100f): swaps 8x128") == 0);
  CHECK(text.find("tile 64: 4 splits, 8 CTAs, time 1474.6") != std::string::npos);
  CHECK(text.find(
            "pass 2: swaps 8x128, 128 columns of V a CTA, cga, static, 4 splits, 64 CTAs: the splits fit") !=
        std::string::npos);
}

TEST_CASE("a miss names the nearest rows and the fields that differ") {
  AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  const KernelIndex index = test::index_of(test::rows_for(problem));
  problem.tokens_per_page = 32;
  const std::string text = joined(problem, test::kB200, index);
  CHECK(text.find("no kernel for bf16 Q, bf16 KV, head dims 128/128 on 10.0") == 0);
  CHECK(text.find("nearest: keeps64_gmem_static_sm_100f (sm_100f): tokens_per_page 64 instead of 32") !=
        std::string::npos);
}

TEST_CASE("a miss on another device says that the rows do not run there") {
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  const KernelIndex index = test::index_of(test::rows_for(problem), {9, 0});
  const std::string text = joined(problem, {{9, 0}, 132, 0}, index);
  CHECK(text.find("the device is 9.0") != std::string::npos);
}

TEST_CASE("rows over the limit of shared memory and refused targets are counted") {
  const AttentionProblem problem = test::generation(64, 1, 8192, 64, 8);
  const KernelIndex index = test::index_of(test::rows_for(problem));
  CHECK(joined(problem, {{10, 0}, 148, 1000}, index).find("1000 bytes of shared memory") !=
        std::string::npos);
  SelectionPolicy policy;
  policy.targets.forbidden = {{10, 0, TargetKind::family}};
  CHECK(joined(problem, test::kB200, index, policy).find("a target that the policy refuses") !=
        std::string::npos);
}

TEST_CASE("rows that are not understood are part of the answer, of a hit and of a miss") {
  AttentionProblem problem = test::generation(64, 1, 8192, 64, 8);
  std::vector<KernelRow> rows = test::rows_for(problem);
  rows.push_back(rows.front());
  rows.back().extras = {{"mFuture", "true"}};
  CHECK(joined(problem, test::kB200, test::index_of(rows)).find("(mFuture)") != std::string::npos);
  const std::string miss = joined(problem, test::kB200, test::index_of({rows.back()}));
  CHECK(miss.find("no kernel for bf16") == 0);
  CHECK(miss.find("\n1 row passed over") != std::string::npos);
  CHECK(miss.find("nearest: " + rows.back().function_name) != std::string::npos);
}

}  // namespace
}  // namespace cubinet
