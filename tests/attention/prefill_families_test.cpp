// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_families.hpp"

#include "prefill_fixture.hpp"
#include "templates/prefill/attention_prefill_wgmma_family.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

TEST_CASE("preferred families of prefill precede all others, and the portable one is among them") {
  const AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  const ComputeCapability device = prefill::kHopper.capability;
  const auto families = prefill_families(problem, device);
  CHECK(std::find(families.begin(), families.end(), &kAttentionPrefill) != families.end());
  CHECK(std::is_partitioned(families.begin(), families.end(),
                            [&](const PrefillFamily* family) { return family->preferred(problem, device); }));
}

TEST_CASE("every family of prefill is listed once, under the name of a template, with a source") {
  std::set<std::string> names;
  const AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  for (const PrefillFamily* family : prefill_families(problem, prefill::kHopper.capability)) {
    CHECK(prefill::template_of(*family)->name() == family->name);
    CHECK(names.insert(family->name).second);
    CHECK_FALSE(std::string(family->source).empty());
  }
}

TEST_CASE("warpgroups compute prefill on Hopper alone") {
  AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  CHECK(prefill_families(problem, {9, 0}).front() == &kAttentionPrefillWgmma);
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  CHECK(kAttentionPrefillWgmma.gap(problem, {10, 0}).find("9.0") != std::string::npos);
  CHECK_FALSE(kAttentionPrefillWgmma.preferred(problem, {10, 0}));
}

TEST_CASE("warpgroups pad the rows of head dims 72 to 96 of 16 bits, and leave those of e4m3") {
  AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  for (const std::uint32_t head_dim : {72U, 80U, 88U, 96U}) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    for (const DataType type : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
      problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
      const bool is_narrow = type == DataType::e4m3;
      CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty() != is_narrow);
      CHECK(kAttentionPrefillWgmma.preferred(problem, {9, 0}) != is_narrow);
    }
  }
}

TEST_CASE("warpgroups leave pages that are no groups of eight tokens to the portable family") {
  AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  problem.tokens_per_page = 4;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).find("pages have 4") != std::string::npos);
  CHECK_FALSE(kAttentionPrefillWgmma.preferred(problem, {9, 0}));
  problem.layout = QkvLayout::contiguous_kv;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  problem.layout = QkvLayout::paged_kv;
  problem.tokens_per_page = 24;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
}

TEST_CASE("warpgroups multiply e4m3 if Q and KV have it, with head dims 64 and 128") {
  AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).find("the type of Q") != std::string::npos);
  CHECK_FALSE(kAttentionPrefillWgmma.preferred(problem, {9, 0}));
  problem.data_type_q = DataType::e4m3;
  CHECK(prefill_families(problem, {9, 0}).front() == &kAttentionPrefillWgmma);
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  problem.head_dim_qk = problem.head_dim_v = 64;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  problem.head_dim_qk = problem.head_dim_v = 256;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).find("256") != std::string::npos);
}

TEST_CASE("every plan of warpgroups is a specification that the template accepts, with its shared memory") {
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  struct Rows {
    DataType type;
    std::uint32_t head_dim_qk;
    std::uint32_t head_dim_v;
  };
  for (const Rows& rows : {Rows{DataType::bf16, 64, 64},
                           {DataType::bf16, 72, 72},
                           {DataType::bf16, 80, 80},
                           {DataType::fp16, 88, 88},
                           {DataType::fp16, 96, 96},
                           {DataType::bf16, 128, 128},
                           {DataType::bf16, 192, 128},
                           {DataType::bf16, 256, 256},
                           {DataType::e4m3, 64, 64},
                           {DataType::e4m3, 128, 128}}) {
    for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv}) {
      for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::dense}) {
        for (const bool is_plain : {true, false}) {
          AttentionProblem problem = prefill::prompts(4, 5000, 5000);
          problem.data_type_q = problem.data_type_k = problem.data_type_v = rows.type;
          problem.head_dim_qk = rows.head_dim_qk;
          problem.head_dim_v = rows.head_dim_v;
          problem.layout = layout;
          problem.mask = mask;
          if (!is_plain) problem.soft_cap = 30;
          if (!is_plain && mask == AttentionMask::causal) problem.window = 100;
          const PrefillPlan made = prefill::plan(prefill::request(problem), kAttentionPrefillWgmma);
          const auto resolved = kernel_template->resolve(made.spec);
          REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
          CHECK(*resolved == made.spec);  // nothing is left to a default
          const auto entries = kernel_template->entry_points(*resolved);
          REQUIRE(entries);
          CHECK(entries->front().dynamic_shared_bytes == made.block.shared_bytes);
          CHECK(entries->front().threads == made.block.threads);
          CHECK(entries->front().parameter_bytes == sizeof(kernel_templates::AttentionPrefillMapParameters));
          CHECK(made.block.shared_bytes <= prefill::kHopper.shared_limit());
          CHECK(made.blocks == 132);
          CHECK(made.parameters.box_tokens % 8 == 0);
        }
      }
    }
  }
}

TEST_CASE("short prompts fill the tiles of warpgroups with the heads of a group, long ones with tokens") {
  const auto heads = [](std::uint32_t q_len) {
    return prefill::plan(prefill::request(prefill::prompts(4, 5000, q_len)), kAttentionPrefillWgmma)
        .block.tile_heads;
  };
  CHECK(heads(16) == 4);
  CHECK(heads(255) == 4);
  CHECK(heads(256) == 1);
}

TEST_CASE("long prompts of equal length have clusters, whose tiles have two heads of a group with a window") {
  AttentionProblem problem = prefill::prompts(4, 8192, 8192);
  const auto plan = [&] { return prefill::plan(prefill::request(problem), kAttentionPrefillWgmma); };
  CHECK(plan().tile.cluster == 2);
  CHECK(plan().block.tile_heads == 1);
  CHECK(plan().blocks == 132);
  problem.ragged_q = true;
  CHECK(plan().tile.cluster == 1);
  problem.ragged_q = false;
  problem.window = 1024;
  CHECK(plan().tile.cluster == 2);
  CHECK(plan().block.tile_heads == 2);
  problem.heads_q = problem.heads_kv * 5;
  CHECK(plan().tile.cluster == 1);  // the second tile would see too many steps
  problem.window = kUnlimited;
  CHECK(plan().tile.cluster == 2);
  problem.q_len = 300;
  problem.batch = problem.heads_q = problem.heads_kv = 2;  // fewer tiles than SMs
  CHECK(plan().tile.cluster == 1);
  problem = prefill::prompts(4, 8192, 8192);
  problem.numerics = AttentionNumerics::invariant;
  CHECK(plan().tile.cluster == 2);
  problem.soft_cap = 30;  // more registers than there are
  CHECK(plan().tile.cluster == 1);
  problem = prefill::prompts(4, 8192, 8192);
  problem.head_dim_qk = problem.head_dim_v = 96;  // 192 rows
  CHECK(plan().tile.cluster == 1);
}

TEST_CASE("clusters of prefill have whole tiles and an even number of blocks") {
  AttentionProblem problem = prefill::prompts(1, 300, 300);
  problem.heads_q = problem.heads_kv = 3;
  const PrefillTile tile{128, 128, 2, 0, 2};
  CHECK(prefill_tiles(problem, tile, kAttentionPrefillWgmma.block(problem, tile)) == 12);
  CHECK(prefill_tiles(problem, {128, 128, 2}, kAttentionPrefillWgmma.block(problem, {128, 128, 2})) == 9);
  PlanRequest request = prefill::request(problem);
  request.device.sm_count = 9;
  const auto made = plan_prefill(request, kAttentionPrefillWgmma, std::vector{tile});
  REQUIRE(made);
  CHECK(made->blocks == 8);
  request.device.sm_count = 1;
  CHECK_FALSE(plan_prefill(request, kAttentionPrefillWgmma, std::vector{tile}));
}

TEST_CASE("sequences of a ragged batch share tiles between the heads of a group, unless that wastes rows") {
  const auto heads = [](std::uint32_t group) {
    AttentionProblem problem = prefill::prompts(65, 10240, 2048);
    problem.ragged_q = true;
    problem.heads_q = 8 * group;
    return prefill::plan(prefill::request(problem), kAttentionPrefillWgmma).block.tile_heads;
  };
  for (const std::uint32_t group : {1U, 2U, 4U, 5U, 7U, 8U, 16U, 64U})
    CHECK(heads(group) == group);
  CHECK(heads(48) == 1);  // 96 of 128 rows
  CHECK(heads(65) == 1);
}

TEST_CASE("warpgroups take longer steps of long contiguous KV, and tiles of 192 rows of head dim 64") {
  DataType type = DataType::bf16;
  const auto tile = [&](std::uint32_t tokens, QkvLayout layout, std::uint32_t head_dim) {
    AttentionProblem problem = prefill::prompts(4, tokens, tokens);
    problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
    problem.layout = layout;
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    return prefill::plan(prefill::request(problem), kAttentionPrefillWgmma).tile;
  };
  CHECK(tile(8192, QkvLayout::contiguous_kv, 128) == PrefillTile{128, 176, 2, 0, 2});
  CHECK(tile(2048, QkvLayout::contiguous_kv, 128) == PrefillTile{128, 128, 2});
  CHECK(tile(8192, QkvLayout::paged_kv, 128) == PrefillTile{128, 128, 2, 0, 2});
  CHECK(tile(8192, QkvLayout::contiguous_kv, 64) == PrefillTile{192, 128, 2});
  type = DataType::e4m3;
  CHECK(tile(8192, QkvLayout::contiguous_kv, 64) == PrefillTile{192, 128, 2, 4});
  CHECK(tile(8192, QkvLayout::paged_kv, 64) == PrefillTile{192, 128, 2, 4});
  CHECK(tile(8192, QkvLayout::contiguous_kv, 128) == PrefillTile{128, 128, 2, 4});
  CHECK(tile(32768, QkvLayout::contiguous_kv, 128) == PrefillTile{128, 128, 2, 4, 2});
}

TEST_CASE("tiles of padded rows have 192 rows, with longer steps of plain contiguous KV") {
  for (const std::uint32_t head_dim : {72U, 80U, 88U, 96U}) {
    AttentionProblem problem = prefill::prompts(4, 8192, 8192);
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    const auto tile = [&] { return prefill::plan(prefill::request(problem), kAttentionPrefillWgmma).tile; };
    CHECK(tile() == PrefillTile{192, 96, 2});
    problem.layout = QkvLayout::contiguous_kv;
    CHECK(tile() == PrefillTile{192, 112, 2});
    problem.soft_cap = 30;
    CHECK(tile() == PrefillTile{192, 96, 2});
  }
}

TEST_CASE("the template of warpgroups has steps of 96, 112 and 192 tokens of padded rows alone") {
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  const auto resolves = [&](int head_dim, int tokens, const char* type = "bf16") {
    KernelSpec spec{kAttentionPrefillWgmma.name, {}};
    spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("tile_size_kv", tokens);
    spec.set("dtype", type);
    return static_cast<bool>(kernel_template->resolve(spec));
  };
  for (const int tokens : {96, 112, 192}) {
    CHECK(resolves(80, tokens));
    CHECK_FALSE(resolves(64, tokens));
    CHECK_FALSE(resolves(128, tokens));
  }
  CHECK_FALSE(resolves(80, 160));
  CHECK_FALSE(resolves(80, 224));
  CHECK_FALSE(resolves(80, 128, "e4m3"));
  CHECK_FALSE(resolves(128, 112, "e4m3"));
  CHECK(resolves(128, 96, "e4m3"));
}

TEST_CASE("tiles of e4m3 that fold less often have specifications and rows of their own") {
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  for (const std::uint32_t head_dim : {64U, 128U}) {
    for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv}) {
      AttentionProblem problem = prefill::prompts(4, 5000, 5000);
      CHECK(kAttentionPrefillWgmma.tiles_of_other_error(problem).empty());
      problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
      problem.head_dim_qk = problem.head_dim_v = head_dim;
      problem.layout = layout;
      std::vector<PrefillTile> tiles = kAttentionPrefillWgmma.tiles(problem);
      const std::vector<PrefillTile> others = kAttentionPrefillWgmma.tiles_of_other_error(problem);
      CHECK(others.size() == (layout == QkvLayout::paged_kv ? 1 : 2));
      AttentionProblem narrow = problem;
      narrow.data_type_o = DataType::e4m3;
      CHECK(kAttentionPrefillWgmma.tiles_of_other_error(narrow).empty());
      tiles.insert(tiles.end(), others.begin(), others.end());
      std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> shapes;
      for (const PrefillTile& tile : tiles) {
        const KernelSpec spec = prefill_specification(kAttentionPrefillWgmma, problem, tile);
        const auto resolved = kernel_template->resolve(spec);
        REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
        const PrefillBlock block = kAttentionPrefillWgmma.block(problem, tile);
        const auto entries = kernel_template->entry_points(*resolved);
        REQUIRE(entries);
        CHECK(entries->front().dynamic_shared_bytes == block.shared_bytes);
        CHECK(block.shared_bytes <= prefill::kHopper.shared_limit());
        const auto row = kernel_template->row(*resolved);
        REQUIRE(row);
        CHECK((*row)->traits.step_kv == tile.kv * std::max(tile.fold_steps, 1U));
        CHECK((*row)->traits.step_q == tile.q * tile.cluster);
        CHECK(shapes.insert({(*row)->traits.step_kv, tile.kv, tile.q, tile.cluster}).second);
      }
    }
  }
}

TEST_CASE("warpgroups have invariant numerics of the prompts whose output fits the registers twice") {
  AttentionProblem problem = prefill::prompts(4, 5000, 5000);
  problem.numerics = AttentionNumerics::invariant;
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  for (const auto& [qk, v, rows] : {std::tuple{64U, 64U, 192U},
                                    {72U, 72U, 128U},
                                    {96U, 96U, 128U},
                                    {128U, 128U, 128U},
                                    {192U, 128U, 128U}}) {
    for (const bool caps : {false, true}) {
      problem.head_dim_qk = qk;
      problem.head_dim_v = v;
      problem.soft_cap = caps ? std::optional(30.0) : std::nullopt;
      problem.window = caps ? 1000 : kUnlimited;
      CHECK(prefill_families(problem, {9, 0}).front() == &kAttentionPrefillWgmma);
      const PrefillPlan made = prefill::plan(prefill::request(problem), kAttentionPrefillWgmma);
      CHECK(made.spec.parameters.at("numerics") == ParameterValue(std::string("invariant")));
      CHECK(made.tile.q == (caps ? 128U : rows));
      CHECK(made.tile.kv == 128);
      const auto resolved = kernel_template->resolve(made.spec);
      REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
      CHECK(*resolved == made.spec);
      const auto entries = kernel_template->entry_points(*resolved);
      REQUIRE(entries);
      const PrefillBlock block = kAttentionPrefillWgmma.block(problem, made.tile);
      CHECK(entries->front().dynamic_shared_bytes == block.shared_bytes);
      CHECK(block.shared_bytes <= prefill::kHopper.shared_limit());
    }
  }
  problem.head_dim_qk = problem.head_dim_v = 256;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).find("up to 128") != std::string::npos);
  CHECK_FALSE(kAttentionPrefillWgmma.preferred(problem, {9, 0}));
  problem.numerics = AttentionNumerics::fast;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  problem.head_dim_qk = problem.head_dim_v = 128;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).empty());
  problem.numerics = AttentionNumerics::invariant;
  CHECK(kAttentionPrefillWgmma.gap(problem, {9, 0}).find("16 bits") != std::string::npos);
}

TEST_CASE(
    "the template of warpgroups refuses invariant numerics of other steps, wide heads, e4m3 and capped tall "
    "tiles") {
  const auto kernel_template = prefill::template_of(kAttentionPrefillWgmma);
  const auto message = [&](int head_dim, int tokens, const char* type = "bf16", int capped_rows = 0) {
    KernelSpec spec{kAttentionPrefillWgmma.name, {}};
    spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("numerics", "invariant");
    spec.set("tile_size_kv", tokens).set("dtype", type);
    if (capped_rows > 0) spec.set("tile_size_q", capped_rows).set("soft_cap", ParameterValue(true));
    const auto resolved = kernel_template->resolve(spec);
    return resolved ? std::string() : resolved.error().message;
  };
  CHECK(message(128, 128).empty());
  CHECK(message(128, 176).find("needs tile_size_kv 128") != std::string::npos);
  CHECK(message(64, 128, "bf16", 128).empty());
  CHECK(message(64, 128, "bf16", 192).find("a soft cap needs tile_size_q 128") != std::string::npos);
  CHECK(message(256, 128).find("needs head_dim_v up to 128") != std::string::npos);
  CHECK(message(128, 128, "e4m3").find("needs dtype bf16 or fp16") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
