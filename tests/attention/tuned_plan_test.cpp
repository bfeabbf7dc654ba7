// SPDX-License-Identifier: Apache-2.0
#include "tuning/tuned_plan.hpp"

#include "decode_fixture.hpp"
#include "fake_backend.hpp"
#include "support/measured_row.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/tuning_candidates.hpp>

namespace cubinet {
namespace {

using namespace test;
using decode::llama;

// Returns a problem whose sequences are all known to be as long as the longest.
AttentionProblem full(std::uint32_t batch, std::uint32_t kv_len) {
  AttentionProblem problem = llama(batch, kv_len);
  problem.kv_lengths.assign(batch, static_cast<std::int32_t>(kv_len));
  return problem;
}

constexpr const char* kName = "NVIDIA H200";
const DeviceFacts kFacts = decode::kHopper;

// Returns a tuner's result for a problem: a tile and splits that no rule gives.
TuningTable::Row row_of(const AttentionProblem& problem) {
  TuningTable::Row row = measured_row(problem.batch);
  row.kv_len = problem.kv_len;
  row.problem = tuning_problem(problem);
  row.device = tuning_device(kName, kFacts);
  row.version = version_of(*decode::template_of(kAttentionDecode));
  row.kernel = decode_specification(kAttentionDecode, problem, {16, 32, 3});
  row.splits = 7;
  return row;
}

AttentionResolution resolve_with(const AttentionProblem& problem, const TuningTable& table,
                                 PlanOptions options = {}, std::string_view name = kName,
                                 const DeviceFacts& device = kFacts) {
  AvailableKernels kernels;
  kernels.use_tuning(table, name);
  return ok(resolve_attention(problem, device, kernels, builtin_backends(), options));
}

std::string kernel_of(const AttentionResolution& resolution) {
  REQUIRE(resolution.plan);
  return std::get<KernelSpec>(resolution.plan->steps.front().kernel).to_string();
}

TEST_CASE("a plan takes what was measured of its problem, and says when and where") {
  const AttentionProblem problem = full(8, 8192);
  const TuningTable::Row row = row_of(problem);
  const AttentionResolution tuned = resolve_with(problem, table_of(row));
  CHECK(kernel_of(tuned) == row.kernel.to_string());
  CHECK(tuned.plan->division.kv_splits == 7);
  CHECK(tuned.plan->measured ==
        "measured 2027-01-15 on NVIDIA H200, 9.0, 132 multiprocessors, driver 13.0: 41.5 us where the "
        "model's choice takes 44.2");
  CHECK(tuned.order == tuned.plan->measured);
  CHECK(tuned.requested == kAutomaticBackend);
  const AttentionResolution modelled = resolve_with(problem, {});
  CHECK(kernel_of(modelled) != row.kernel.to_string());
  CHECK(modelled.plan->measured.empty());
}

TEST_CASE("a problem of the same bucket takes the kernel, and divides the work by its own batch") {
  const TuningTable table = table_of(row_of(llama(8, 8192)));
  const AttentionResolution longer = resolve_with(full(8, 5000), table);
  CHECK(longer.plan->division.kv_splits == 7);
  const AttentionResolution fewer = resolve_with(full(5, 8192), table);
  CHECK_FALSE(fewer.plan->measured.empty());
  CHECK(fewer.plan->division.kv_splits != 7);
  CHECK(resolve_with(llama(4, 8192), table).plan->measured.empty());
  CHECK(resolve_with(llama(8, 4096), table).plan->measured.empty());
}

TEST_CASE("prompts share a row if their query lengths round up to the same power of two") {
  const auto problem_of = [](std::uint32_t q_len) {
    AttentionProblem problem = llama(4, 8192);
    problem.prefill = true;
    problem.q_len = q_len;
    return tuning_problem(problem);
  };
  CHECK(problem_of(300) == problem_of(512));
  CHECK(problem_of(512) != problem_of(513));
  CHECK(problem_of(512) != problem_of(8192));
}

TEST_CASE("the longest problem that a row serves is of its bucket, and one token more is not") {
  const TuningTable table = table_of(row_of(llama(8, 5000)));
  const AttentionProblem longest = longest_served(llama(8, 5000));
  CHECK(longest.kv_len == 8192);
  CHECK(longest.kv_lengths == std::vector<std::int32_t>(4, 8192));
  CHECK(longest.batch == 4);  // 32768 of 40000 tokens
  CHECK_FALSE(resolve_with(full(8, longest.kv_len), table).plan->measured.empty());
  CHECK(resolve_with(full(8, longest.kv_len + 1), table).plan->measured.empty());
  AttentionProblem window = llama(1, 8192);
  window.window = 1000;
  CHECK(longest_served(window).kv_len == 8192);
  CHECK(longest_served(window).window == 1024);
  CHECK(longest_served(window).batch == 1);
  CHECK(tuning_problem(longest_served(window)) == tuning_problem(window));
  CHECK(longest_served(llama(1, 5000)).batch == 1);
  CHECK(longest_served(llama(1, 5000)).window == kUnlimited);
}

TEST_CASE("invariant numerics have rows of their own") {
  AttentionProblem problem = llama(8, 8192);
  const std::string fast = tuning_problem(problem);
  CHECK(fast.find("numerics") == std::string::npos);
  problem.numerics = AttentionNumerics::invariant;
  CHECK(tuning_problem(problem) != fast);
}

TEST_CASE("splits are those of sequences that are long") {
  AttentionProblem problem = llama(2, 8192);
  const TuningTable table = table_of(row_of(problem));
  problem.kv_lengths = {8192, 8000};
  CHECK(resolve_with(problem, table).plan->division.kv_splits == 7);
  problem.kv_lengths = {8192, 100};
  const AttentionResolution ragged = resolve_with(problem, table);
  CHECK_FALSE(ragged.plan->measured.empty());
  CHECK_FALSE(ragged.plan->request.options.splits);
  problem.kv_lengths.clear();
  CHECK_FALSE(resolve_with(problem, table).plan->request.options.splits);
  const TuningTable of_one = table_of(row_of(llama(1, 8192)));
  CHECK(resolve_with(llama(1, 8192), of_one).plan->division.kv_splits == 7);
}

TEST_CASE("what is asked for by number, or without measurements, is planned so") {
  const AttentionProblem problem = llama(8, 8192);
  const TuningTable table = table_of(row_of(problem));
  PlanOptions splits;
  splits.splits = 3;
  CHECK(resolve_with(problem, table, splits).plan->measured.empty());
  PlanOptions tokens;
  tokens.split_tokens = 1024;
  CHECK(resolve_with(problem, table, tokens).plan->measured.empty());
  PlanOptions without;
  without.uses_tuning = false;
  CHECK(resolve_with(problem, table, without).plan->measured.empty());
  PlanOptions named;
  named.backend = kTemplatesBackend;
  CHECK_FALSE(resolve_with(problem, table, named).plan->measured.empty());
}

TEST_CASE("a row of another device says nothing") {
  const AttentionProblem problem = llama(8, 8192);
  const TuningTable table = table_of(row_of(problem));
  CHECK(resolve_with(problem, table, {}, "NVIDIA H100").plan->measured.empty());
  CHECK(resolve_with(problem, table, {}, "").plan->measured.empty());
  CHECK(resolve_with(problem, table, {}, kName, {{9, 0}, 114, 227 * 1024}).plan->measured.empty());
}

TEST_CASE("a row of a tile that no template has is passed over") {
  const AttentionProblem problem = full(8, 8192);
  for (const std::uint32_t size : {1U, 8U, 15U, 17U, 24U}) {
    for (const DecodeTile& tile : {DecodeTile{size, 32, 3}, DecodeTile{16, size, 3}}) {
      TuningTable::Row row = row_of(problem);
      row.kernel = decode_specification(kAttentionDecode, problem, tile);
      if (decode::template_of(kAttentionDecode)->resolve(row.kernel)) continue;
      CHECK(resolve_with(problem, table_of(row)).plan->measured.empty());
    }
  }
}

TEST_CASE("rows that do not hold are passed over with the reason, and the next is taken") {
  const AttentionProblem problem = llama(8, 8192);
  TuningTable::Row stale = row_of(problem);
  stale.version = "interface 1, text 0000000000000000";
  TuningTable::Row nowhere = row_of(problem);
  nowhere.backend = "of somebody else";
  nowhere.version += "'";
  TuningTable::Row other_kernel = row_of(problem);
  other_kernel.kernel.set("head_dim_qk", 64).set("head_dim_v", 64);
  other_kernel.driver = 12'080;
  TuningTable table;
  for (const TuningTable::Row& row : {stale, nowhere, other_kernel})
    table.add(row);
  PlanOptions explaining;
  explaining.explains = true;
  const AttentionResolution modelled = resolve_with(problem, table, explaining);
  CHECK(modelled.plan->measured.empty());
  std::string trace;
  for (const std::string& line : modelled.plan->trace)
    trace += line + "\n";
  CAPTURE(trace);
  CHECK(holds(trace, "not used: it was measured of another version of the kernel: interface 1"));
  CHECK(holds(trace, "not used: there is no attention backend 'of somebody else'"));
  CHECK(holds(trace, "is not for this problem"));
  table.add(row_of(problem));
  CHECK_FALSE(resolve_with(problem, table).plan->measured.empty());
}

TEST_CASE("where nothing may be compiled a row counts as far as its kernel exists") {
  const AttentionProblem problem = llama(8, 8192);
  const TuningTable::Row row = row_of(problem);
  const auto kernel_template = decode::template_of(kAttentionDecode);
  const auto built = [&](const DecodeTile& tile) {
    const KernelSpec spec =
        ok(kernel_template->resolve(decode_specification(kAttentionDecode, problem, tile)));
    KernelRow made = *ok(kernel_template->row(spec));
    made.target = SmTarget{9, 0, TargetKind::specific};
    made.function_name = "attention_decode";
    made.digest = sha256(as_bytes("a cubin"));
    return made;
  };
  PlanOptions options;
  options.may_compile = false;
  for (const bool there : {true, false}) {
    std::vector<KernelRow> rows = {built({16, 64, 4})};
    if (there) rows.push_back(built({16, 32, 3}));
    AvailableKernels kernels = available(rows, {9, 0});
    kernels.use_tuning(table_of(row), kName);
    const auto resolution = ok(resolve_attention(problem, kFacts, kernels, builtin_backends(), options));
    REQUIRE(resolution.plan);
    CHECK(resolution.plan->exists());
    CHECK(resolution.plan->measured.empty() != there);
  }
}

TEST_CASE("a backend of a program takes part by its name alone") {
  const AttentionProblem problem = llama(8, 8192);
  TuningTable::Row row = row_of(problem);
  row.backend = "mine";
  row.kernel = {};
  row.splits = 0;
  row.version = "";
  AttentionBackends backends = builtin_backends();
  ok(backends.add(std::make_shared<const FakeBackend>("mine")));
  AvailableKernels kernels;
  kernels.use_tuning(table_of(row), kName);
  const auto resolution = ok(resolve_attention(problem, kFacts, kernels, backends));
  REQUIRE(resolution.plan);
  CHECK(resolution.plan->backend_name() == "mine");
}

TEST_CASE("the key of a problem has what changes a choice, and nothing else") {
  const AttentionProblem problem = llama(8, 8192);
  const auto differs = [&](void (*change)(AttentionProblem&)) {
    AttentionProblem changed = problem;
    change(changed);
    return tuning_problem(changed) != tuning_problem(problem);
  };
  CHECK(differs([](AttentionProblem& p) { p.q_len = 2; }));
  CHECK(differs([](AttentionProblem& p) { p.heads_kv = 4; }));
  CHECK(differs([](AttentionProblem& p) { p.tokens_per_page = 16; }));
  CHECK(differs([](AttentionProblem& p) { p.kv_order = KvOrder::hnd; }));
  CHECK(differs([](AttentionProblem& p) { p.window = 1000; }));
  CHECK(differs([](AttentionProblem& p) { p.data_type_k = p.data_type_v = DataType::e4m3; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.batch = 3; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.kv_len = 77; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.window = 100'000; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.mask = AttentionMask::dense; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.sinks = p.lse = true; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.softmax_scale = 0.1; }));
  CHECK_FALSE(differs([](AttentionProblem& p) { p.append.emplace(); }));
}

}  // namespace
}  // namespace cubinet
