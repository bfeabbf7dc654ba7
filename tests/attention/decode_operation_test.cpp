// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_operation.hpp"

#include "decode_fixture.hpp"
#include "support/ok.hpp"

namespace cubinet {
namespace {

using namespace test::decode;
using test::ok;

std::shared_ptr<const TemplateFamily> family_named(std::string_view name, const PlanRequest& request) {
  for (const auto& family : decode_operation()->families(request)) {
    if (family->name() == name) return family;
  }
  FAIL("no such family");
  return nullptr;
}

std::vector<std::string> names_of(const PlanRequest& request) {
  std::vector<std::string> names;
  for (const auto& family : decode_operation()->families(request))
    names.emplace_back(family->name());
  return names;
}

TEST_CASE("decode has a gap for prefill, and its families in their order for the rest") {
  AttentionProblem problem = llama(4, 5000);
  CHECK(decode_operation()->gap(problem, kHopper.capability).empty());
  std::vector<std::string> names;
  for (const DecodeFamily* family : decode_families(problem, kHopper.capability))
    names.emplace_back(family->name);
  CHECK(names_of(request(problem)) == names);
  problem.prefill = true;
  CHECK(decode_operation()->gap(problem, kHopper.capability).find("prefill") != std::string::npos);
}

TEST_CASE("with splits of a fixed length the order of the families does not depend on the batch") {
  AttentionProblem problem = llama(1, 8192, 4);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.head_dim_qk = problem.head_dim_v = 64;
  PlanRequest one = request(problem);
  PlanRequest many = one;
  many.problem.batch = 64;
  CHECK(names_of(one) != names_of(many));
  one.options.split_tokens = many.options.split_tokens = 512;
  CHECK(names_of(one) == names_of(many));
}

TEST_CASE("a plan of decode has one argument, and a second step if a second kernel combines") {
  PlanRequest asked = request(llama(4, 8192));
  asked.options.splits = 16;
  asked.options.starts_early = true;
  const DecodePlan decode = plan(asked);
  const auto family = family_named("attention_decode", asked);
  const FamilyPlan made = ok(family->plan(asked, {}));
  REQUIRE(made.steps.size() == 2);
  CHECK(made.steps[0].kernel == decode.spec);
  CHECK(made.steps[0].grid == decode.grid);
  CHECK(made.steps[0].starts_early);
  CHECK(made.steps[0].counts_on == decode.blocks_per_multiprocessor);
  CHECK(made.steps[1].kernel == decode.combine);
  CHECK(made.steps[1].grid == decode.combine_grid);
  CHECK(made.steps[1].starts_early);
  CHECK(made.arguments->size() == sizeof(decode.parameters));
  CHECK(made.workspace == decode.workspace);
  CHECK(made.division.kv_splits == 16);
  CHECK(made.division.kv_mode == MultiCtasKvMode::gmem_separate);
  FamilyKernels kernels;
  kernels.may_use = [](const KernelSpec&) { return false; };
  CHECK(ok(family->plan(asked, kernels)).steps.size() == 1);
}

TEST_CASE("a plan of decode takes one of the kernels that it may use") {
  const PlanRequest asked = request(llama(16, 4096));
  const auto family = family_named("attention_decode", asked);
  FamilyKernels kernels;
  kernels.of_family = {decode_specification(kAttentionDecode, asked.problem, {32, 32, 2})};
  CHECK(ok(family->plan(asked, kernels)).steps[0].kernel == kernels.of_family->front());
  kernels.of_family->clear();
  CHECK_FALSE(family->plan(asked, kernels));
}

TEST_CASE("the tile of another kernel or row gives the kernel for a problem, a tile of no size none") {
  const AttentionProblem problem = llama(4, 5000);
  AttentionProblem other = problem;
  other.soft_cap = 30;
  const DecodeTile tile{16, 64, 3};
  const auto family = family_named("attention_decode", request(problem));
  const KernelSpec expected = decode_specification(kAttentionDecode, problem, tile);
  CHECK(family->kernel_like(problem, decode_specification(kAttentionDecode, other, tile)) == expected);
  CHECK_FALSE(family->kernel_like(problem, family->specification(problem)));
  KernelRow row;
  row.selector.tile_size_q = 16;
  row.selector.tile_size_kv = 64;
  row.traits.stages = 3;
  CHECK(family->kernel_like(problem, row) == expected);
  row.selector.tile_size_kv = 0;
  CHECK_FALSE(family->kernel_like(problem, row));
}

}  // namespace
}  // namespace cubinet
