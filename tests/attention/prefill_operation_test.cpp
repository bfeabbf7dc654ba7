// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_operation.hpp"

#include "backend_fixture.hpp"
#include "prefill_fixture.hpp"
#include "templates/prefill/attention_prefill_wgmma_family.hpp"

#include <cubinet/attention/backend.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

Result<AttentionPlan> plan_with_templates(const AttentionProblem& problem, const PlanOptions& options = {}) {
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  return plan_attention(problem, prefill::kHopper, {}, *backends, options);
}

TEST_CASE("a plan of prefill is one launch, with counters and the offsets that the layout needs") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  auto plan = plan_with_templates(problem);
  REQUIRE(plan);
  REQUIRE(plan->steps.size() == 1);
  CHECK(plan->workspace.counter_bytes > 0);
  CHECK(plan->workspace.scratch_bytes == 0);
  CHECK(plan->division.kv_splits == 1);
  CHECK_FALSE(plan->rules.reads_offsets);
  CHECK_FALSE(plan->rules.reads_kv_offsets);
  problem.ragged_q = true;
  plan = plan_with_templates(problem);
  REQUIRE(plan);
  CHECK(plan->rules.reads_offsets);
  CHECK_FALSE(plan->rules.reads_kv_offsets);
  problem.layout = QkvLayout::separate_qkv;
  plan = plan_with_templates(problem);
  REQUIRE(plan);
  CHECK(plan->rules.reads_kv_offsets);
}

TEST_CASE("a chunk and decode rows are one launch, whose workspace does not depend on the batch") {
  AttentionProblem problem = prefill::prompts(65, 8192, 2048);
  problem.ragged_q = true;
  const auto plan = plan_with_templates(problem);
  REQUIRE(plan);
  REQUIRE(plan->steps.size() == 1);
  CHECK(plan->steps.front().grid == std::array<std::uint32_t, 3>{132, 1, 1});
  CHECK(plan->rules.reads_offsets);
  CHECK(plan->division.heads_per_block == 4);
  CHECK(plan->division.tokens_per_block == 32);
  CHECK(plan->workspace.scratch_bytes == 0);
  problem.batch = 2;
  const auto smaller = plan_with_templates(problem);
  REQUIRE(smaller);
  CHECK(smaller->workspace.counter_bytes == plan->workspace.counter_bytes);
  CHECK(smaller->workspace.scratch_bytes == 0);
}

TEST_CASE("e4m3 of head dims between 64 and 128 has the portable kernel, for prompts and for decode") {
  for (const std::uint32_t head_dim : {72U, 80U, 88U, 96U}) {
    CAPTURE(head_dim);
    for (const DataType type_q : {DataType::bf16, DataType::e4m3}) {
      for (const bool prompts : {true, false}) {
        AttentionProblem problem = prefill::prompts(2, 1000, prompts ? 500 : 1);
        problem.prefill = prompts;
        problem.head_dim_qk = problem.head_dim_v = head_dim;
        problem.data_type_q = type_q;
        problem.data_type_k = problem.data_type_v = DataType::e4m3;
        const auto plan = plan_with_templates(problem);
        REQUIRE(plan);
        CHECK(std::get<KernelSpec>(plan->steps.front().kernel).name == "attention_prefill");
      }
    }
  }
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  problem.head_dim_qk = problem.head_dim_v = 88;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.append.emplace();
  const auto refused = plan_with_templates(problem);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("a multiple of 16 with append") != std::string::npos);
}

TEST_CASE("the row of a prefill kernel states the kind of kernel and no page size") {
  const auto plan = plan_with_templates(prefill::prompts(2, 1000, 500));
  REQUIRE(plan);
  CHECK(plan->row.selector.kernel_type == KernelType::context);
  CHECK(plan->row.selector.layout == QkvLayout::paged_kv);
  CHECK(plan->row.selector.tokens_per_page == 0);
}

TEST_CASE("a named tile of prefill is planned with, and one of another template is refused") {
  const AttentionProblem problem = prefill::prompts(2, 1000, 500);
  PlanOptions options;
  options.kernel = prefill_specification(kAttentionPrefill, problem, {64, 64, 3});
  const auto plan = plan_with_templates(problem, options);
  REQUIRE(plan);
  CHECK(std::get<KernelSpec>(plan->steps.front().kernel) == *options.kernel);
  options.kernel->name = "attention_decode";
  CHECK(plan_with_templates(problem, options).error().code == ErrorCode::unsupported);
}

TEST_CASE(
    "kernels of e4m3 that fold less often are candidates of the tuner, and plans use them only by name") {
  AttentionProblem problem = prefill::prompts(2, 8192, 8192);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  PlanRequest request = prefill::request(problem);
  std::optional<KernelSpec> rare;
  const auto alternatives = backends->find(kTemplatesBackend)->alternatives(request);
  REQUIRE(alternatives);
  for (const PlanOptions& other : *alternatives) {
    if (other.kernel->name == kAttentionPrefillWgmma.name && prefill_tile_of(*other.kernel)->fold_steps == 8)
      rare = other.kernel;
  }
  REQUIRE(rare);
  // A build exists of this kernel alone.
  auto row = **kernel_template->row(*rare);
  row.target = *SmTarget::parse("sm_90a");
  row.digest = sha256(as_bytes(std::string("rare")));
  const AvailableKernels existing = test::available({row}, prefill::kHopper.capability);
  PlanOptions options;
  options.may_compile = false;
  const auto planned_kernel = [&]() -> std::optional<KernelSpec> {
    const auto plan = plan_attention(problem, prefill::kHopper, existing, *backends, options);
    if (!plan) return std::nullopt;
    return std::get<KernelSpec>(plan->steps.front().kernel);
  };
  CHECK_FALSE(planned_kernel());
  options.kernel = rare;
  CHECK(planned_kernel() == rare);
  options = {};
  CHECK(prefill_tile_of(*planned_kernel())->fold_steps == 4);
}

TEST_CASE("a kernel of clusters of which a build exists is planned although nothing may be compiled") {
  const AttentionProblem problem = prefill::prompts(4, 8192, 8192);
  const PrefillPlan made = prefill::plan(prefill::request(problem), kAttentionPrefillWgmma);
  REQUIRE(made.tile.cluster == 2);
  auto row = **prefill::template_of(kAttentionPrefillWgmma)->row(made.spec);
  row.target = *SmTarget::parse("sm_90a");
  row.digest = sha256(as_bytes(std::string("cluster")));
  const AvailableKernels existing = test::available({row}, prefill::kHopper.capability);
  PlanOptions options;
  options.may_compile = false;
  const auto plan =
      plan_attention(problem, prefill::kHopper, existing, *AttentionBackends::builtin(), options);
  REQUIRE(plan);
  CHECK(std::get<KernelSpec>(plan->steps.front().kernel) == made.spec);
}

// Returns generation of 128 rows per KV head.
AttentionProblem drafts(std::uint32_t batch, std::uint32_t kv_len) {
  AttentionProblem problem = prefill::prompts(batch, kv_len, 16);
  problem.prefill = false;
  problem.heads_q = 16;
  problem.heads_kv = 2;
  return problem;
}

std::string kernel_of(const AttentionProblem& problem, const PlanOptions& options = {}) {
  const auto plan = plan_with_templates(problem, options);
  REQUIRE(plan);
  return std::get<KernelSpec>(plan->steps.front().kernel).name;
}

TEST_CASE("generation of many rows has tiles of prompts on Hopper if there is work for many SMs") {
  CHECK(kernel_of(drafts(16, 200)) == "attention_prefill_wgmma");
  CHECK(kernel_of(drafts(1, 20000)) == "attention_prefill_wgmma");
  CHECK(kernel_of(drafts(8, 700)).starts_with("attention_decode"));
  CHECK(kernel_of(drafts(1, 12000)) == "attention_decode_wgmma");
  AttentionProblem problem = drafts(8, 32768);
  problem.kv_lengths = {500, 500, 500, 500, 500, 500, 500, 32768};
  CHECK(kernel_of(problem) == "attention_prefill_wgmma");
  problem.kv_lengths.back() = 2000;
  CHECK(kernel_of(problem).starts_with("attention_decode"));
  problem = drafts(1, 131072);
  CHECK(kernel_of(problem) == "attention_prefill_wgmma");
  problem.window = 1000;  // hides most of the tokens
  CHECK(kernel_of(problem).starts_with("attention_decode"));
  problem.kv_lengths = {131072};
  CHECK(kernel_of(problem).starts_with("attention_decode"));
  problem = drafts(16, 200);
  problem.q_len = 8;
  CHECK(kernel_of(problem).starts_with("attention_decode"));
  problem = drafts(16, 200);
  problem.numerics = AttentionNumerics::invariant;
  CHECK(kernel_of(problem).starts_with("attention_decode"));
  problem = drafts(16, 200);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(kernel_of(problem).starts_with("attention_decode"));
}

// Returns generation of `rows` rows for one KV head.
AttentionProblem half_tiles(std::uint32_t batch, std::uint32_t rows, std::uint32_t kv_len) {
  AttentionProblem problem = prefill::prompts(batch, kv_len, 1);
  problem.prefill = false;
  problem.heads_q = rows;
  problem.heads_kv = 1;
  problem.kv_lengths.assign(batch, static_cast<std::int32_t>(kv_len));
  return problem;
}

TEST_CASE("many sequences of 33 to 64 rows are an alternative for tiles of prompts, few are not") {
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  const auto is_alternative = [&](const AttentionProblem& problem) {
    const auto found = backends->find(kTemplatesBackend)->alternatives({problem, prefill::kHopper, {}, {}});
    REQUIRE(found);
    return std::any_of(found->begin(), found->end(), [](const PlanOptions& options) {
      return options.kernel->name == kAttentionPrefillWgmma.name;
    });
  };
  CHECK(is_alternative(half_tiles(132, 64, 300)));
  CHECK(is_alternative(half_tiles(132, 33, 300)));
  CHECK_FALSE(is_alternative(half_tiles(131, 64, 300)));
  CHECK_FALSE(is_alternative(half_tiles(1024, 32, 300)));
  // Each alternative can be planned by its name.
  PlanOptions named;
  named.kernel = prefill_specification(kAttentionPrefillWgmma, half_tiles(132, 64, 300), {128, 128, 2});
  CHECK(kernel_of(half_tiles(132, 64, 300), named) == "attention_prefill_wgmma");
}

TEST_CASE("half tiles of prompts serve generation if the model estimates that they are clearly faster") {
  AttentionProblem uneven = half_tiles(1024, 64, 1024);
  for (std::size_t i = 0; i < uneven.kv_lengths.size(); ++i)
    uneven.kv_lengths[i] = static_cast<std::int32_t>(20 + i * 389 % 620);
  CHECK(kernel_of(uneven) == "attention_prefill_wgmma");
  uneven.numerics = AttentionNumerics::invariant;
  CHECK(kernel_of(uneven).starts_with("attention_decode"));
  // With long KV both wait for memory.
  CHECK(kernel_of(half_tiles(1024, 64, 4096)) == "attention_decode_wgmma");
  PlanOptions fixed;
  fixed.split_tokens = 512;
  CHECK(kernel_of(half_tiles(1024, 64, 1024), fixed).starts_with("attention_decode"));
}

TEST_CASE("kernels built for the bounds of a batch serve its known lengths if nothing may be compiled") {
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  AttentionProblem problem = drafts(3, 32768);
  const auto built = plan_with_templates(problem);
  REQUIRE(built);
  REQUIRE(std::get<KernelSpec>(built->steps.front().kernel).name == kAttentionPrefillWgmma.name);
  std::vector<KernelRow> rows;
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  for (const PlanStep& step : built->steps) {
    const auto& spec = std::get<KernelSpec>(step.kernel);
    auto row = **(*catalog->find(spec.name))->row(spec);
    row.target = *SmTarget::parse("sm_90a");
    row.digest = sha256(as_bytes(spec.name));
    rows.push_back(row);
  }
  const AvailableKernels existing = test::available(rows, prefill::kHopper.capability);
  problem.kv_lengths = {100, 200, 300};
  REQUIRE(kernel_of(problem).starts_with("attention_decode"));
  PlanOptions options;
  options.may_compile = false;
  const auto plan = plan_attention(problem, prefill::kHopper, existing, *backends, options);
  REQUIRE_MESSAGE(plan, plan.error().to_line());
  CHECK(plan->steps.front().kernel == built->steps.front().kernel);
  options.may_compile = true;
  const auto compiled = plan_attention(problem, prefill::kHopper, existing, *backends, options);
  REQUIRE(compiled);
  CHECK(std::get<KernelSpec>(compiled->steps.front().kernel).name == kernel_of(problem));
}

TEST_CASE("generation of many rows has a kernel of decode if it is named or splits have a fixed length") {
  const AttentionProblem problem = drafts(16, 4096);
  PlanOptions options;
  options.split_tokens = 512;
  CHECK(kernel_of(problem, options).starts_with("attention_decode"));
  AttentionProblem few = problem;
  few.q_len = 8;
  const auto plan = plan_with_templates(few);
  REQUIRE(plan);
  options = {};
  options.kernel = std::get<KernelSpec>(plan->steps.front().kernel);
  CHECK(kernel_of(problem, options) == options.kernel->name);
}

TEST_CASE("splits of generation are short if its lengths are not known") {
  AttentionProblem problem = drafts(16, 131072);
  CHECK(plan_with_templates(problem)->division.kv_splits >= 16);
  problem.kv_lengths.assign(16, 131072);
  CHECK(plan_with_templates(problem)->division.kv_splits < 16);
  problem.kv_lengths.clear();
  problem.window = 128;
  CHECK(plan_with_templates(problem)->division.kv_splits == 1);
  CHECK(plan_with_templates(problem)->workspace.scratch_bytes == 0);
  problem.window = 65536;
  CHECK(plan_with_templates(problem)->division.kv_splits >= 16);
}

TEST_CASE("the tuner gets every tile of every family of prefill that fits the device") {
  const PlanRequest request = prefill::request(prefill::prompts(2, 1000, 500));
  const auto operation = prefill_operation();
  for (const auto& family : operation->families(request)) {
    if (family->name() != kAttentionPrefill.name) continue;
    const auto alternatives = family->alternatives(request, *prefill::template_of(kAttentionPrefill));
    CHECK(alternatives.size() == kAttentionPrefill.tiles(request.problem).size());
    CHECK(std::all_of(alternatives.begin(), alternatives.end(),
                      [](const FamilyAlternative& other) { return other.options.kernel && other.time > 0; }));
  }
}

}  // namespace
}  // namespace cubinet
