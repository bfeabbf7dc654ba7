// SPDX-License-Identifier: Apache-2.0
// Tests the matrix of the bundle in the Python package without a compiler and without a GPU.
#include "builtin_kernels.hpp"
#include "support/ok.hpp"

#include <cubinet/session/matrix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace cubinet::test {
namespace {

constexpr std::uint32_t kProblems = 300;
// The bundle has at most 7 MB in a wheel of at most 12.
constexpr std::size_t kMostKernels = 600;

std::string checked_in_matrix() {
  std::ifstream file(CUBINET_BUILTIN_MATRIX);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

MatrixExpansion expansion() {
  const auto elements = ok(parse_matrix(checked_in_matrix(), "builtin_matrix.json"));
  return ok(expand_matrix(elements, ok(TemplateCatalog::builtin())));
}

const KernelSet& matrix_kernels() {
  static const KernelSet kKernels = [] {
    KernelSet kernels(ok(TemplateCatalog::builtin()));
    for (const MatrixKernel& kernel : expansion().kernels)
      kernels.add(kernel.spec, kernel.target.target);
    return kernels;
  }();
  return kKernels;
}

}  // namespace

TEST_CASE("the matrix names kernels that their templates have, for every target") {
  const MatrixExpansion expanded = expansion();
  CHECK(expanded.refused.empty());
  CHECK(expanded.kernels.size() == matrix_kernels().size());
  CHECK(matrix_kernels().size() <= kMostKernels);
  for (const BuiltinDevice& device : builtin_devices()) {
    CHECK(matrix_kernels().size(device.target) > 80);
    CHECK(matrix_kernels().has(KernelSpec{"attention_merge", {}}.set("dtype", "bf16"), device.target));
  }
  CHECK(matrix_kernels().matrix() == checked_in_matrix());
}

TEST_CASE("plans of random problems that may compile use kernels of the matrix alone") {
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  const std::vector<std::uint32_t> pages = existing_pages();
  for (const BuiltinDevice& device : builtin_devices()) {
    CAPTURE(device.target.to_string());
    const AvailableKernels available = matrix_kernels().available(device);
    const std::vector<BuiltinType> types = builtin_types(device.target);
    std::mt19937 random(33);
    for (std::uint32_t i = 0; i < kProblems; ++i) {
      const AttentionProblem problem =
          random_problem(random, types[random() % types.size()], pages[random() % pages.size()]);
      CAPTURE(problem.batch);
      CAPTURE(problem.kv_len);
      CAPTURE(problem.q_len);
      CAPTURE(problem.heads_q);
      CAPTURE(problem.heads_kv);
      const AttentionPlan plan = ok(plan_attention(problem, device.facts, available, backends));
      CHECK(plan.exists());
      for (const PlanStep& step : plan.steps) {
        const auto& spec = std::get<KernelSpec>(step.kernel);
        CHECK_MESSAGE(matrix_kernels().has(spec, device.target), spec.to_string());
      }
    }
  }
}

TEST_CASE("the matrix has the kernels of generation of many rows on Hopper, whatever the page and lengths") {
  const BuiltinDevice device = builtin_devices()[1];
  REQUIRE(device.target.to_string() == "sm_90a");
  const AvailableKernels available = matrix_kernels().available(device);
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  AttentionProblem problem;
  problem.heads_q = 128;
  problem.heads_kv = 8;
  problem.q_len = 8;
  for (const std::uint32_t page : kBuiltinPages) {
    for (const std::uint32_t batch : {2U, 64U}) {
      for (const std::uint32_t kv_len : {300U, 8192U, 131072U}) {
        CAPTURE(page);
        CAPTURE(batch);
        CAPTURE(kv_len);
        problem.tokens_per_page = page;
        problem.batch = batch;
        problem.kv_len = kv_len;
        problem.kv_lengths.clear();
        CHECK(ok(plan_attention(problem, device.facts, available, backends)).exists());
        problem.kv_lengths.assign(batch, 200);
        CHECK(ok(plan_attention(problem, device.facts, available, backends)).exists());
      }
    }
  }
}

TEST_CASE("the templates have every page size of the matrix") {
  CHECK(existing_pages().size() == std::size(kBuiltinPages));
}

TEST_CASE("a problem of a type that the matrix lacks still compiles its best kernel") {
  const BuiltinDevice device = builtin_devices()[1];
  std::mt19937 random(33);
  const AttentionProblem problem = random_problem(random, {DataType::bf16, 128, false}, /*page=*/32);
  const AttentionPlan plan = ok(plan_attention(problem, device.facts, matrix_kernels().available(device),
                                               ok(AttentionBackends::builtin())));
  CHECK_FALSE(plan.exists());
  CHECK(plan.choice == KernelChoice::best);
}

}  // namespace cubinet::test
