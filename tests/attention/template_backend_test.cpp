// SPDX-License-Identifier: Apache-2.0
#include "templates/template_backend.hpp"

#include "backend_fixture.hpp"
#include "fake_family.hpp"
#include "support/ok.hpp"
#include "templates/decode/attention_decode_family.hpp"
#include "templates/decode/attention_latent_family.hpp"
#include "templates/decode/decode_families.hpp"
#include "templates/decode/decode_plan.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace cubinet {
namespace {

const AttentionProblem kTemplateDecode = test::generation(4, 1, 8192, 32, 4);

using test::Known;
using test::ok;

AttentionPlan plan_of(const AttentionProblem& problem, const Known& known = Known::on(test::kH200)) {
  return test::plan_of(problem, "templates", known, /*launches=*/true);
}

std::string reason(const AttentionProblem& problem, const Known& known = Known::on(test::kH200)) {
  return test::decline_of(problem, kTemplatesBackend, known);
}

DecodePlan decode_of(const AttentionPlan& plan) {
  const auto decode = plan_decode(plan.request, kAttentionDecode);
  REQUIRE(decode);
  return *decode;
}

template <class Change>
std::string changed(Change change) {
  AttentionProblem problem = kTemplateDecode;
  change(problem);
  return reason(problem);
}

TEST_CASE("a plan of the template holds its row, steps, workspace and cost") {
  Known known = Known::on(test::kH200);
  known.options.splits = 5;
  const AttentionPlan plan = plan_of(kTemplateDecode, known);
  const DecodePlan decode = decode_of(plan);
  CHECK(plan.launchable());
  CHECK_FALSE(plan.exists());
  CHECK(plan.row.implementation == "attention_decode");
  CHECK(plan.row.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(plan.row.function_name == "attention_decode");
  CHECK(plan.row.selector.tokens_per_page == 64);
  CHECK(plan.row.selector.head_dim_qk == 128);
  CHECK(check_ranges(plan.row));
  REQUIRE(plan.steps.size() == 2);
  CHECK(plan.steps[0].kernel == KernelRequest(decode.spec));
  CHECK(plan.steps[0].entry_point == "attention_decode");
  CHECK(plan.steps[0].grid == decode.grid);
  CHECK(plan.steps[0].shared_bytes == decode.shared_bytes);
  CHECK(plan.steps[0].counts_on == decode.blocks_per_multiprocessor);
  CHECK_FALSE(plan.steps[0].starts_early);
  CHECK(plan.steps[1].kernel == KernelRequest(decode.combine));
  CHECK(plan.steps[1].threads == 128);
  CHECK(plan.steps[1].entry_point == "attention_combine");
  CHECK(plan.steps[1].grid == decode.combine_grid);
  CHECK(plan.steps[1].starts_early);
  CHECK(plan.steps[1].arguments == plan.steps[0].arguments);
  CHECK(plan.division.kv_splits == 5);
  CHECK(plan.division.heads_per_block == 4);
  CHECK(plan.division.wasted_rows == 12);
  CHECK(plan.workspace == decode.workspace);
  CHECK(plan.workspace.counter_bytes == 0);
  CHECK(plan.division.kv_mode == MultiCtasKvMode::gmem_separate);
  CHECK(plan.cost.in_microseconds);
  CHECK(plan.cost.time > 0);
}

TEST_CASE(
    "a sequence that is not split needs no workspace, and the step starts early where that is wished for") {
  Known known = Known::on(test::kH200);
  known.options.splits = 1;
  known.options.starts_early = true;
  AttentionProblem problem = kTemplateDecode;
  problem.batch = 1;
  const AttentionPlan plan = plan_of(problem, known);
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].starts_early);
  CHECK(plan.division.kv_mode == MultiCtasKvMode::disabled);
  CHECK(plan.workspace == WorkspaceSizes{});
}

TEST_CASE(
    "an unsplit batch is one step, whose last blocks combine where lengths are such that they share tiles") {
  Known known = Known::on(test::kH200);
  known.options.splits = 1;
  const AttentionPlan plan = plan_of(kTemplateDecode, known);
  CHECK(plan.steps.size() == 1);
  CHECK(plan.division.kv_mode == MultiCtasKvMode::gmem);
  CHECK(plan.workspace.counter_bytes > 0);
}

TEST_CASE("what the template would ignore or does not know is declined by name") {
  using P = AttentionProblem;
  CHECK(changed([](P&) {}).empty());
  CHECK(test::holds(changed([](P& p) { p.prefill = true, p.mask = AttentionMask::custom; }), "custom mask"));
  CHECK(test::holds(changed([](P& p) { p.q_len = 300, p.data_type_q = DataType::e4m3; }), "1200 rows"));
  CHECK(changed([](P& p) { p.q_len = 256; }).empty());
  CHECK(test::holds(changed([](P& p) { p.sparse = SparseAttention::static_token, p.top_k = 64; }), "top k"));
  CHECK(test::holds(changed([](P& p) { p.chunk = 1024; }), "chunks"));
  CHECK(test::holds(changed([](P& p) { p.skips_softmax = true; }), "softmax"));
  CHECK(test::holds(changed([](P& p) { p.sage_block[0] = 16; }), "Sage"));
  CHECK(test::holds(changed([](P& p) { p.layout = QkvLayout::packed_qkv; }), "packed_qkv"));
  const std::string unknown = changed([](P& p) { p.head_dim_qk = 72; });  // the reason of every family
  CHECK(test::holds(unknown, "attention_decode"));
  CHECK(test::holds(unknown, "attention_wide"));
  CHECK(test::holds(unknown, "head_dim_qk"));
  CHECK(test::holds(changed([](P& p) { p.head_dim_qk = p.head_dim_v = 112; }), "64, 72, 80, 88, 96, 128"));
  CHECK(changed([](P& p) { p.tokens_per_page = 512; }).empty());
  CHECK(changed([](P& p) { p.head_dim_qk = p.head_dim_v = 80; }).empty());
  CHECK(test::holds(changed([](P& p) { p.tokens_per_page = 512, p.mask = AttentionMask::custom; }),
                    "page_size"));
  CHECK(test::holds(changed([](P& p) { p.data_type_k = p.data_type_v = DataType::fp16; }), "dtype_kv"));
  CHECK(test::holds(changed([](P& p) { p.data_type_v = DataType::fp16; }), "one type for KV"));
  CHECK(test::holds(changed([](P& p) { p.data_type_o = DataType::e2m1; }), "dtype_o"));
  CHECK(test::holds(changed([](P& p) { p.data_type_k = p.data_type_v = DataType::e2m1; }), "dtype_kv"));
  CHECK(test::holds(changed([](P& p) { p.data_type_q = DataType::e4m3; }), "dtype_kv"));
}

TEST_CASE("a reason of several classes is stated once") {
  AttentionProblem problem = generation(1, 1, 4096, 32, 1);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.numerics = AttentionNumerics::invariant;
  CHECK(decline_of(problem, kTemplatesBackend, Known::on(kH200)) ==
        "invariant numerics needs Q and KV of 16 bits, and the problem has e4m3");
  Known known = Known::on(kH200);
  known.options.splits = 300;
  const std::string splits = decline_of(generation(16, 16, 4096, 64, 8), kTemplatesBackend, known);
  const std::string reason = "the number of KV splits is 300, but must be 1 to 256";
  CHECK(test::holds(splits, reason));
  CHECK(splits.find(reason) == splits.rfind(reason));
}

TEST_CASE("the family that has the head dims makes the plan, and what others lack stands in its trace") {
  Known known = Known::on({{8, 0}, 108, 0});
  known.options.explains = true;
  AttentionProblem problem = kTemplateDecode;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  const AttentionPlan plan = plan_of(problem, known);
  CHECK(plan.row.implementation == "attention_wide");
  CHECK(plan.steps.front().entry_point == "attention_wide");
  REQUIRE(plan.trace.size() == 3);
  CHECK(test::holds(plan.trace[0], "latent"));
  CHECK(test::holds(plan.trace[1], "attention_wide("));
  CHECK(plan.trace[2] == to_string(KernelChoice::best));
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(plan_of(problem, known).row.implementation == "attention_wide");
  problem.head_dim_qk = 512;  // an A100 has no room for a tile of it
  CHECK(plan_of(problem, Known::on(test::kH200)).row.implementation == "attention_wide");
}

TEST_CASE(
    "sinks, soft caps, page tables, ragged queries, scales of both kinds and KV of eight bits are served") {
  using P = AttentionProblem;
  CHECK(changed([](P& p) { p.sinks = true; }).empty());
  CHECK(changed([](P& p) { p.soft_cap = 50; }).empty());
  CHECK(changed([](P& p) { p.separate_page_tables = true; }).empty());
  CHECK(changed([](P& p) { p.tokens_per_page = 8; }).empty());
  CHECK(changed([](P& p) { p.output_scale = 2; }).empty());
  CHECK(changed([](P& p) { p.scales_on_device = true; }).empty());
  CHECK(changed([](P& p) { p.data_type_k = p.data_type_v = DataType::e4m3; }).empty());
  for (const KvScales scales : {KvScales::head, KvScales::sequence}) {
    CHECK(
        changed([&](P& p) { p.data_type_k = p.data_type_v = DataType::e4m3, p.kv_scales = scales; }).empty());
  }
  CHECK(changed([](P& p) { p.data_type_o = DataType::e4m3; }).empty());
  CHECK(changed([](P& p) { p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3; }).empty());
  AttentionProblem ragged = kTemplateDecode;
  CHECK_FALSE(plan_of(ragged).rules.reads_offsets);
  ragged.ragged_q = true;
  CHECK(plan_of(ragged).rules.reads_offsets);
}

TEST_CASE("an output of eight bits is declined by devices without the conversion") {
  AttentionProblem problem = kTemplateDecode;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(reason(problem, Known::on({{8, 6}, 84, 0})).empty());
  problem.data_type_o = DataType::e4m3;
  CHECK(test::holds(reason(problem, Known::on({{8, 6}, 84, 0})), "from 8.9 on"));
  CHECK(reason(problem, Known::on({{8, 9}, 84, 0})).empty());
}

TEST_CASE("devices below compute capability 8 and requests that leave no target are declined") {
  CHECK(test::holds(reason(kTemplateDecode, Known::on({{7, 5}, 68, 0})), "sm_75"));
  Known context = Known::on(test::kH200);
  context.options.targets.pinned = SmTarget{10, 0, TargetKind::family};
  CHECK(test::holds(reason(kTemplateDecode, context), "pins sm_100f"));
  context.options.targets = {};
  context.options.targets.forbidden = {{9, 0, TargetKind::specific}};
  CHECK(plan_of(kTemplateDecode, context).row.target == SmTarget{9, 0, TargetKind::baseline});
}

TEST_CASE("several query tokens are causal unless the mask is dense") {
  AttentionProblem problem = kTemplateDecode;
  problem.q_len = 4;
  CHECK(plan_of(problem, Known::on(test::kH200)).row.selector.mask == AttentionMask::causal);
  problem.mask = AttentionMask::dense;
  CHECK(plan_of(problem, Known::on(test::kH200)).row.selector.mask == AttentionMask::dense);
  problem.q_len = 1;
  CHECK(plan_of(problem, Known::on(test::kH200)).row.selector.mask == AttentionMask::causal);
  problem.window = 128;
  const AttentionPlan windowed = plan_of(problem, Known::on(test::kH200));
  CHECK(windowed.row.selector.mask == AttentionMask::sliding_or_chunked_causal);
  CHECK(decode_of(windowed).parameters.window == 128);
}

TEST_CASE("a custom mask is one kernel, with a window and without") {
  AttentionProblem problem = kTemplateDecode;
  problem.q_len = 4;
  problem.mask = AttentionMask::custom;
  const AttentionPlan whole = plan_of(problem, Known::on(test::kH200));
  CHECK(whole.row.selector.mask == AttentionMask::custom);
  CHECK(decode_of(whole).parameters.mask_words == 1);
  problem.window = 128;
  const AttentionPlan windowed = plan_of(problem, Known::on(test::kH200));
  KernelSpec same_tile = decode_of(windowed).spec;
  for (const char* size : {"tile_size_q", "tile_size_kv", "stages"})
    same_tile.parameters[size] = decode_of(whole).spec.parameters.at(size);
  CHECK(same_tile == decode_of(whole).spec);
  CHECK(decode_of(windowed).parameters.window == 128);
}

TEST_CASE("the kernel of another soft cap is the same, that of none another, and so with page tables") {
  AttentionProblem problem = kTemplateDecode;
  const KernelRow plain = plan_of(problem, Known::on(test::kH200)).row;
  problem.soft_cap = 50;
  const AttentionPlan capped = plan_of(problem, Known::on(test::kH200));
  CHECK(decode_of(capped).parameters.soft_cap == 50);
  CHECK(capped.row.selector != plain.selector);
  problem.soft_cap = 30;
  CHECK(plan_of(problem, Known::on(test::kH200)).row.selector == capped.row.selector);
  problem.soft_cap = std::nullopt;
  problem.separate_page_tables = true;
  const AttentionPlan apart = plan_of(problem, Known::on(test::kH200));
  CHECK(apart.row.selector != plain.selector);
  const auto pages = static_cast<int>(problem.pages_per_sequence());
  CHECK(decode_of(apart).parameters.page_table_stride == 2 * pages);
  CHECK(decode_of(apart).parameters.v_page_table_offset == pages);
}

TEST_CASE("a kernel that exists is named with its digest") {
  KernelRow row = plan_of(kTemplateDecode, Known::on(test::kH200)).row;
  row.digest = sha256(as_bytes("image"));
  row.target = {9, 0, TargetKind::baseline};
  const AttentionPlan plan = plan_of(kTemplateDecode, Known::on(test::kH200, {row}));
  CHECK(plan.exists());
  CHECK(plan.row.target.kind == TargetKind::baseline);
  Known context = Known::on(test::kH200, {row});
  context.options.targets.forbidden = {row.target};
  CHECK_FALSE(plan_of(kTemplateDecode, context).exists());
}

TEST_CASE("without a compiler the fastest of the kernels that exist is taken, and none is a reason") {
  const AttentionPlan wanted = plan_of(kTemplateDecode, Known::on(test::kH200));
  const auto with_tile = [&](std::uint16_t q, std::uint16_t kv, std::uint16_t stages) {
    KernelRow row = wanted.row;
    row.selector.tile_size_q = q;
    row.selector.tile_size_kv = kv;
    row.traits.step_q = q;
    row.traits.step_kv = kv;
    row.traits.stages = stages;
    row.digest = sha256(as_bytes(std::to_string(q * 1000 + kv)));
    return row;
  };
  Known context = Known::on(test::kH200, {with_tile(32, 16, 2), with_tile(64, 32, 2)});
  context.options.may_compile = false;
  const AttentionPlan plan = plan_of(kTemplateDecode, context);
  CHECK(plan.exists());
  CHECK(plan.row.selector.tile_size_q != wanted.row.selector.tile_size_q);
  CHECK(plan.steps[0].threads > 0);
  context.kernels = {};
  CHECK(test::holds(reason(kTemplateDecode, context), "none may be compiled"));
  // The template does not have these sizes. Only a file can name them.
  for (const std::uint16_t size : std::array<std::uint16_t, 6>{0, 1, 8, 15, 17, 24}) {
    context.kernels = Known::on(test::kH200, {with_tile(size, 64, 2), with_tile(16, size, 2)}).kernels;
    CHECK(test::holds(reason(kTemplateDecode, context), "none may be compiled"));
  }
  // Another page size requires another kernel.
  context = Known::on(test::kH200, {with_tile(16, 64, 2)});
  context.options.may_compile = false;
  AttentionProblem other = kTemplateDecode;
  other.tokens_per_page = 16;
  CHECK_FALSE(reason(other, context).empty());
}

TEST_CASE("without a compiler a plan has a second kernel if a build of it exists") {
  Known wanted = Known::on(test::kH200);
  wanted.options.splits = 16;
  const AttentionPlan compiled = plan_of(kTemplateDecode, wanted);
  REQUIRE(compiled.steps.size() == 2);
  const auto combine = TemplateCatalog::builtin()->find("attention_combine");
  KernelRow second = *ok((*combine)->row(std::get<KernelSpec>(compiled.steps[1].kernel)));
  second.target = compiled.row.target;
  Known context = Known::on(test::kH200, {compiled.row, second});
  context.options.may_compile = false;
  context.options.splits = 16;
  const AttentionPlan both = plan_of(kTemplateDecode, context);
  REQUIRE(both.steps.size() == 2);
  CHECK(both.steps[1].kernel == compiled.steps[1].kernel);
  // A combine kernel of another output type does not serve this problem. Without a combine kernel
  // the plan has one step.
  second.selector.data_type_o = DataType::fp32;
  for (const auto& rows : {std::vector{compiled.row, second}, std::vector{compiled.row}}) {
    context.kernels = Known::on(test::kH200, rows).kernels;
    const AttentionPlan alone = plan_of(kTemplateDecode, context);
    CHECK(alone.steps.size() == 1);
    CHECK(alone.division.kv_splits == 16);
    CHECK(alone.division.kv_mode == MultiCtasKvMode::gmem);
    CHECK(alone.workspace.counter_bytes > 0);
  }
}

TEST_CASE("without a compiler a kernel of blocks alone serves no tiles that go in clusters") {
  AttentionProblem latent = kTemplateDecode;
  latent.heads_q = 128;
  latent.heads_kv = 1;
  latent.head_dim_qk = 576;
  latent.head_dim_v = 512;
  KernelRow row = plan_of(latent, Known::on(test::kH200)).row;
  REQUIRE(row.implementation == "attention_latent");
  Known context = Known::on(test::kH200, {row});
  context.options.may_compile = false;
  CHECK(plan_of(latent, context).row.implementation == "attention_latent");
  row.traits.step_q = row.selector.tile_size_q;
  context.kernels = Known::on(test::kH200, {row}).kernels;
  CHECK(test::holds(reason(latent, context), "none may be compiled"));
}

TEST_CASE("a kernel that is named with a size that its template does not have is declined by the value") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  AttentionProblem windowed = kTemplateDecode;
  windowed.data_type_k = windowed.data_type_v = DataType::e4m3;
  windowed.window = 1024;
  AttentionProblem wide = kTemplateDecode;
  wide.head_dim_qk = wide.head_dim_v = 512;
  AttentionProblem latent = kTemplateDecode;
  latent.heads_q = 16;
  latent.heads_kv = 1;
  latent.head_dim_qk = 576;
  latent.head_dim_v = 512;
  AttentionProblem many_heads = latent;
  many_heads.heads_q = 128;
  AttentionProblem many_rows = kTemplateDecode;
  many_rows.q_len = 16;
  std::set<std::string> planned;
  std::set<std::string> serving;
  for (const AttentionProblem& problem : {kTemplateDecode, windowed, wide, latent, many_heads, many_rows}) {
    for (const DecodeFamily* family : decode_families(problem, test::kH200.capability)) {
      if (!family->gap(problem, test::kH200.capability).empty()) continue;
      const auto kernel_template = catalog->find(family->name);
      REQUIRE(kernel_template);
      const DecodeTile usual = family->tiles(problem).back().tile;
      if ((*kernel_template)->resolve(decode_specification(*family, problem, usual)))
        serving.insert(family->name);
      for (std::uint32_t size = 0; size <= 300; ++size) {
        // Every size of a template is below 13, or a multiple of 16.
        if (size > 12 && size % 16 > 1) continue;
        for (const DecodeTile& tile :
             {DecodeTile{size, usual.kv, usual.stages}, DecodeTile{usual.q, size, usual.stages},
              DecodeTile{usual.q, usual.kv, size}}) {
          Known known = Known::on(test::kH200);
          known.options.kernel = decode_specification(*family, problem, usual);
          known.options.kernel->set("tile_size_q", tile.q)
              .set("tile_size_kv", tile.kv)
              .set("stages", tile.stages);
          const std::string why = reason(problem, known);
          const bool exists = (*kernel_template)->resolve(*known.options.kernel).has_value();
          CAPTURE(why);
          CAPTURE(known.options.kernel->to_string());
          if (why.empty()) {
            CHECK(exists);
            planned.insert(family->name);
          } else if (!exists) {
            CHECK(test::holds(why, known.options.kernel->to_string() + " is no kernel"));
          }
        }
      }
    }
  }
  CHECK(planned == serving);
  CHECK(planned.size() >= 5);
}

TEST_CASE("a kernel that is named with a tile that only other problems have is declined") {
  // A tile of 64 rows may have 16 tokens with head dim 256, but only multiples of 32 with 128.
  AttentionProblem wide = kTemplateDecode;
  wide.head_dim_qk = wide.head_dim_v = 256;
  Known known = Known::on(test::kH200);
  known.options.kernel = decode_specification(kAttentionDecode, wide, {64, 16, 2});
  CHECK(reason(wide, known).empty());
  CHECK(test::holds(reason(kTemplateDecode, known), "is not for this problem"));
}

TEST_CASE("splits of a fixed length are computed by the same kernel in every batch") {
  Known known = Known::on(test::kH200);
  known.options.split_tokens = 512;
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t head_dim : {64U, 128U, 256U, 512U}) {
      for (const std::uint32_t q_len : {1U, 4U, 8U, 12U}) {
        AttentionProblem problem = test::generation(1, q_len, 8192, 64, 8);
        problem.data_type_k = problem.data_type_v = kv;
        problem.head_dim_qk = problem.head_dim_v = head_dim;
        const KernelRequest alone = plan_of(problem, known).steps[0].kernel;
        for (const std::uint32_t batch : {2U, 24U, 25U, 64U, 1000U}) {
          problem.batch = batch;
          CAPTURE(batch);
          CAPTURE(head_dim);
          CAPTURE(q_len);
          CHECK(plan_of(problem, known).steps[0].kernel == alone);
        }
      }
    }
  }
}

TEST_CASE("a number of splits may be wished for, and one out of range is a reason") {
  Known context = Known::on(test::kH200);
  context.options.splits = 7;
  CHECK(plan_of(kTemplateDecode, context).division.kv_splits == 7);
  context.options.splits = 1000;
  CHECK(test::holds(reason(kTemplateDecode, context), "splits"));
  context.options.splits = std::nullopt;
  context.options.split_tokens = 256;
  CHECK(decode_of(plan_of(kTemplateDecode, context)).parameters.split_is_unit == 1);
  context.options.split_tokens = 100;
  CHECK(test::holds(reason(kTemplateDecode, context), "multiple of 128"));
}

using Classes = std::vector<std::shared_ptr<const OperationClass>>;

// Returns what a backend of these classes answers.
PlanDecision answer_of(const Classes& classes) {
  PlanRequest request{kTemplateDecode, test::kH200, {}, {}};
  request.options.explains = true;
  return ok(ok(make_template_backend(classes))->consider(request));
}

TEST_CASE("classes and their families are queried in their order until one serves, and the trace has why") {
  test::FakeFamily serves;
  test::FakeFamily declines;
  declines.missing = "the first family lacks it";
  const auto without =
      std::make_shared<const test::FakeClass>(std::vector{serves}, "the class is not for it");
  const auto with = std::make_shared<const test::FakeClass>(std::vector{declines, serves, declines});
  const auto plan = std::get<AttentionPlan>(answer_of({without, with}));
  CHECK(plan.trace == std::vector<std::string>{"the class is not for it", "the first family lacks it",
                                               serves.kernel(kTemplateDecode, 3).to_string(),
                                               std::string(to_string(KernelChoice::best))});
  CHECK(plan.kernel_version.starts_with("interface "));
  const auto none = std::make_shared<const test::FakeClass>(std::vector{declines});
  CHECK(std::get<BackendDecline>(answer_of({without, none})).reason ==
        "the class is not for it; the first family lacks it");
}

TEST_CASE(
    "of families that are compared the fastest serves, and one that is built counts as faster by a tenth") {
  test::FakeFamily first;
  first.compared = true;
  test::FakeFamily second = first;
  second.template_name = "attention_decode_wgmma";
  const auto served_by = [&](const PlanRequest& request) {
    const auto operation = std::make_shared<const test::FakeClass>(std::vector{first, second});
    const auto answer = ok(ok(make_template_backend({operation}))->consider(request));
    return std::get<AttentionPlan>(answer).row.implementation;
  };
  PlanRequest request{kTemplateDecode, test::kH200, {}, {}};
  CHECK(served_by(request) == "attention_decode");
  second.best_time = 39;
  CHECK(served_by(request) == "attention_decode_wgmma");
  second.compared = false;
  CHECK(served_by(request) == "attention_decode");
  second.compared = true;
  first.compared = false;
  CHECK(served_by(request) == "attention_decode");
  first.compared = true;
  request.options.split_tokens = 256;
  CHECK(served_by(request) == "attention_decode");
  request.options.split_tokens = std::nullopt;
  const auto kernel_template = ok(ok(TemplateCatalog::builtin()).find("attention_decode"));
  KernelRow row = *ok(kernel_template->row(ok(kernel_template->resolve(first.kernel(kTemplateDecode, 3)))));
  row.target = {9, 0, TargetKind::specific};
  row.function_name = "built";
  row.digest = sha256(as_bytes("built"));
  request.kernels = test::available({row}, test::kH200.capability);
  CHECK(served_by(request) == "attention_decode");
  second.best_time = 36;
  CHECK(served_by(request) == "attention_decode_wgmma");
}

TEST_CASE("latent attention of a short sequence is served by small tiles, of long ones by large tiles") {
  AttentionProblem problem = test::generation(8, 1, 171, 128, 128, 576, 512);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(plan_of(problem).row.implementation == "attention_latent_narrow");
  problem = test::generation(64, 1, 8192, 128, 128, 576, 512);
  CHECK(plan_of(problem).row.implementation == "attention_latent");
  problem = test::generation(64, 1, 8192, 16, 16, 576, 512);
  CHECK(plan_of(problem).row.implementation == "attention_latent_narrow");
}

TEST_CASE("a kernel of latent attention that is named serves, whichever family is faster") {
  for (const std::uint32_t heads : {16U, 24U, 100U, 128U}) {
    for (const std::uint32_t splits : {1U, 3U}) {
      const AttentionProblem problem = test::generation(19, 1, 700, heads, heads, 576, 512);
      Known known = Known::on(test::kH200);
      known.options.splits = splits;
      const PlanRequest request{problem, known.device, {}, known.options};
      known.options.kernel = ok(plan_decode(request, kAttentionLatent)).spec;
      CHECK(plan_of(problem, known).row.implementation == "attention_latent");
    }
  }
}

TEST_CASE("alternatives of all classes are ordered by their times") {
  test::FakeFamily one;
  one.times = {5, 2};
  test::FakeFamily two;
  two.times = {4, 1};
  test::FakeFamily gap = two;
  gap.missing = "not for it";
  const Classes classes = {std::make_shared<const test::FakeClass>(std::vector{one, gap}),
                           std::make_shared<const test::FakeClass>(std::vector{two}),
                           std::make_shared<const test::FakeClass>(std::vector{two}, "not for it")};
  std::vector<std::uint32_t> splits;
  for (const PlanOptions& options :
       ok(ok(make_template_backend(classes))->alternatives({kTemplateDecode, test::kH200, {}, {}})))
    splits.push_back(options.splits.value_or(0));
  CHECK(splits == std::vector{1U, 2U, 4U, 5U});
}

}  // namespace
}  // namespace cubinet
