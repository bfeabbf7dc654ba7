// SPDX-License-Identifier: Apache-2.0
#include "templates/decode_plan.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

namespace cubinet {
namespace {

constexpr DeviceFacts kH200{{9, 0}, 132, 227 * 1024};
constexpr DeviceFacts kA100{{8, 0}, 108, 163 * 1024};
constexpr DeviceFacts kGeForce{{8, 6}, 84, 99 * 1024};

// As dear as the splits are far from a number.
struct PrefersSplits final : CostModel {
  explicit PrefersSplits(std::uint32_t wanted) : splits(wanted) {}
  KernelCost cost(const KernelWork& work) const override {
    return {std::abs(static_cast<double>(work.splits) - splits), true};
  }
  double splits;
};

AttentionProblem llama(std::uint32_t batch, std::uint32_t kv_len, std::uint32_t q_len = 1) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.q_len = q_len;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len = kv_len;
  return problem;
}

PlanRequest request(const AttentionProblem& problem, const DeviceFacts& device = kH200) {
  return {problem, device, {}, {}};
}

PlanRequest preferring(const AttentionProblem& problem, std::uint32_t splits) {
  PlanRequest made = request(problem);
  made.options.costs = std::make_shared<const PrefersSplits>(splits);
  return made;
}

DecodePlan plan(const PlanRequest& asked) {
  const auto result = plan_decode(asked);
  REQUIRE_MESSAGE(result, (result ? std::string() : result.error().message));
  return *result;
}

DecodePlan plan(const AttentionProblem& problem, const DeviceFacts& device = kH200) {
  return plan(request(problem, device));
}

std::int64_t number(const DecodePlan& made, const char* name) {
  return std::get<std::int64_t>(made.spec.parameters.at(name));
}

std::shared_ptr<const KernelTemplate> decode_template() {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find("attention_decode");
  REQUIRE(found);
  return *found;
}

TEST_CASE(
    "Every plan is a specification that the template accepts, with the shared memory that the template "
    "computes") {
  const auto kernel_template = decode_template();
  for (const DeviceFacts& device : {kH200, kA100, kGeForce}) {
    for (const std::uint32_t head_dim_qk : {64U, 128U, 256U}) {
      for (const std::uint32_t head_dim_v : {64U, 128U, 256U}) {
        for (const std::uint32_t q_len : {1U, 3U, 8U, 100U}) {
          for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
            AttentionProblem problem = llama(4, 5000, q_len);
            problem.data_type_k = problem.data_type_v = kv;
            problem.head_dim_qk = head_dim_qk;
            problem.head_dim_v = head_dim_v;
            const DecodePlan made = plan(problem, device);
            const auto resolved = kernel_template->resolve(made.spec);
            REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
            CHECK(*resolved == made.spec);  // nothing is left to a default
            const auto entries = kernel_template->entry_points(*resolved);
            REQUIRE(entries);
            CHECK(entries->front().dynamic_shared_bytes == made.shared_bytes);
            CHECK(entries->front().parameter_bytes == sizeof(made.parameters));
            CHECK(entries->front().threads <= 256);
            CHECK(made.shared_bytes <= device.shared_limit());
          }
        }
      }
    }
  }
}

TEST_CASE("A plan that is not split has a block a tile, and the workspace of the lengths that may come") {
  const DecodePlan made = plan(preferring(llama(64, 8192), 1));
  CHECK(made.splits == 1);
  CHECK(made.grid == std::array<std::uint32_t, 3>{64 * 8, 1, 1});
  // Two slots a block, of the 8 rows of a KV head's tile.
  CHECK(made.reduces());
  CHECK_FALSE(made.reduces_apart());
  CHECK(made.workspace.partial_stats_bytes == std::uint64_t{2} * 64 * 8 * 8 * 4);
  CHECK(made.workspace.counter_bytes == 64 * 8 * 4);
}

TEST_CASE("One sequence that is not split, and tiles of one unit, need no workspace") {
  CHECK(plan(preferring(llama(1, 8192), 1)).workspace == WorkspaceSizes{});
  CHECK(plan(llama(64, 64)).workspace == WorkspaceSizes{});
  CHECK(plan(llama(64, 65)).workspace != WorkspaceSizes{});
  // With query tokens of its own a sequence may have fewer tiles than the plan counts blocks for.
  AttentionProblem ragged = llama(1, 8192, 16);
  CHECK(plan(preferring(ragged, 1)).workspace == WorkspaceSizes{});
  ragged.ragged_q = true;
  CHECK(plan(preferring(ragged, 1)).workspace != WorkspaceSizes{});
}

TEST_CASE(
    "The workspace does not depend on lengths that are known, and tiles beyond four waves share blocks") {
  AttentionProblem problem = llama(16, 4096);
  const WorkspaceSizes blind = plan(preferring(problem, 1)).workspace;
  problem.kv_lengths.assign(16, 100);
  CHECK(plan(preferring(problem, 1)).workspace == blind);
  const DecodePlan many = plan(llama(1024, 4096));
  CHECK(many.blocks_per_multiprocessor == 2);
  CHECK(many.parameters.blocks.divisor == 128);  // 8 tiles each; 132 are four waves of 264
  CHECK(many.workspace.partial_stats_bytes == std::uint64_t{2} * 128 * 8 * 8 * 4);
}

TEST_CASE("The number of splits with the least cost is taken, and partial results have their room") {
  const DecodePlan made = plan(preferring(llama(1, 4096), 16));
  CHECK(made.splits == 16);
  CHECK(made.reduces());
  CHECK(made.cost.time == 0);
  CHECK(made.grid[0] == 16 * 8);
  CHECK(made.reduces_apart());
  CHECK(made.reduce_grid == std::array<std::uint32_t, 3>{64, 1, 1});
  CHECK(made.workspace.counter_bytes == 0);
  // fp32 partial rows of head_dim_v, two slots of 8 for each block, and their log-sum-exps after them.
  const std::uint64_t rows = 2 * 16 * 8 * 8;
  CHECK(made.workspace.partial_output_bytes == rows * 128 * 4);
  CHECK(made.workspace.partial_stats_offset == rows * 128 * 4);
  CHECK(made.workspace.scratch_bytes == rows * 128 * 4 + rows * 4);
}

TEST_CASE("The built in model leaves a batch whole that fills the device, and splits one sequence") {
  CHECK(plan(llama(64, 8192)).splits == 1);
  CHECK(plan(llama(1, 16384)).splits > 1);
}

TEST_CASE("A KV of a tile or less is never split") {
  CHECK(plan(preferring(llama(1, 100), 8)).splits == 1);
  CHECK(plan(preferring(llama(1, 1), 8)).splits == 1);
}

TEST_CASE(
    "Units are whole steps of the tile, and blocks take two of them at least unless splits are asked for") {
  for (std::uint32_t length = 1; length < 20000; length = length * 5 / 4 + 1) {
    for (const std::uint32_t batch : {1U, 2U, 7U}) {
      PlanRequest asked = request(llama(batch, length));
      const DecodePlan made = plan(asked);
      CHECK(made.parameters.unit.divisor == static_cast<int>(made.tile.kv));
      CHECK(made.parameters.min_units == 2);
      CHECK(made.parameters.split_is_unit == 0);
      asked.options.splits = 3;
      CHECK(plan(asked).parameters.min_units == 1);
    }
  }
}

TEST_CASE("Splits of a fixed length are the same for every batch, and have a slot each") {
  for (const std::uint32_t batch : {1U, 3U, 500U}) {
    PlanRequest asked = request(llama(batch, 5000));
    asked.options.split_tokens = 512;
    const DecodePlan made = plan(asked);
    CHECK(made.splits == 10);
    CHECK(made.parameters.unit.divisor == 512);
    CHECK(made.parameters.min_units == 1);
    CHECK(made.parameters.split_is_unit == 1);
    CHECK(made.parameters.blocks.divisor == static_cast<int>(std::min(batch * 10, 132U)));
    CHECK(made.workspace.partial_stats_bytes == std::uint64_t{batch} * 10 * 8 * 8 * 4);
    CHECK(made.tile == plan(llama(1, 5000)).tile);
    asked.options.split_tokens = 5120;
    CHECK(plan(asked).splits == 1);
  }
}

TEST_CASE("A length of splits that is no multiple of a tile, or stands beside their number, is refused") {
  PlanRequest asked = request(llama(2, 5000));
  for (const std::uint32_t tokens : {0U, 64U, 200U, 1U << 31U}) {
    asked.options.split_tokens = tokens;
    CHECK(plan_decode(asked).error().code == ErrorCode::invalid_argument);
  }
  asked.options.split_tokens = 256;
  asked.options.splits = 2;
  CHECK(plan_decode(asked).error().message.find("both") != std::string::npos);
}

TEST_CASE("Query tokens and heads of a group are packed into the tile") {
  CHECK(number(plan(llama(16, 4096, 1)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 2)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 4)), "tile_size_q") == 32);
  const DecodePlan eight = plan(llama(16, 4096, 8));
  CHECK(number(eight, "tile_size_q") == 64);
  CHECK(eight.q_tiles == 1);
  const DecodePlan hundred = plan(llama(16, 4096, 100));
  CHECK(hundred.q_tiles == 13);  // 800 rows in tiles of 64
}

TEST_CASE("A window bounds the work that is divided") {
  AttentionProblem problem = llama(1, 100000);
  problem.window = 100;
  const DecodePlan made = plan(preferring(problem, 8));
  CHECK(made.splits == 1);
  CHECK(made.parameters.window == 100);
  CHECK(std::get<bool>(made.spec.parameters.at("sliding_window")));
  problem.kv_len = 100;  // it cuts nothing off
  CHECK_FALSE(std::get<bool>(plan(problem).spec.parameters.at("sliding_window")));
}

TEST_CASE("What the model is asked about is the work of the launch, known lengths each by itself") {
  struct Asked final : CostModel {
    KernelCost cost(const KernelWork& work) const override {
      if (work.blocks == 12 * 8) *seen = work;
      return {1, true};
    }
    std::shared_ptr<KernelWork> seen = std::make_shared<KernelWork>();
  };
  AttentionProblem problem = llama(3, 4096);
  problem.kv_lengths = {4096, 1024, 0};
  const auto model = std::make_shared<const Asked>();
  PlanRequest asked = request(problem);
  asked.options.costs = model;
  CHECK(plan(asked).splits == 1);  // of equals the fewest
  CHECK(model->seen->implementation == "attention_decode");
  CHECK(model->seen->multiprocessors == 132);
  // 64, 16 and 1 steps for 12 blocks a KV head: 7 each.
  CHECK(model->seen->blocks == 12 * 8);
  CHECK(model->seen->empty_blocks == 0);
  CHECK(model->seen->bytes == (4096.0 + 1024) * 8 * 512);
  CHECK(model->seen->longest_tokens == 7 * 64);
}

TEST_CASE("Very uneven lengths are divided into equal parts, and as many whether they are known or not") {
  AttentionProblem problem = llama(32, 131072);
  const DecodePlan blind = plan(problem);
  problem.kv_lengths.assign(32, 1024);
  problem.kv_lengths[0] = 131072;
  const DecodePlan known = plan(problem);
  CHECK(known.grid == blind.grid);
  CHECK(known.parameters.blocks == blind.parameters.blocks);
}

TEST_CASE("Strides follow the layout") {
  AttentionProblem problem = llama(2, 1000, 3);
  problem.head_dim_v = 64;
  const auto nhd = plan(problem).parameters;
  CHECK(nhd.q_batch_stride == 3 * 64 * 128);
  CHECK(nhd.q_token_stride == 64 * 128);
  CHECK(nhd.o_token_stride == 64 * 64);
  CHECK(nhd.k_page_stride == 64 * 8 * 128);
  CHECK(nhd.k_token_stride == 8 * 128);
  CHECK(nhd.k_head_stride == 128);
  CHECK(nhd.v_head_stride == 64);
  CHECK(nhd.page_table_stride == 16);
  problem.kv_order = KvOrder::hnd;
  const auto hnd = plan(problem).parameters;
  CHECK(hnd.k_page_stride == nhd.k_page_stride);
  CHECK(hnd.k_token_stride == 128);
  CHECK(hnd.k_head_stride == 64 * 128);
  CHECK(hnd.v_head_stride == 64 * 64);
}

TEST_CASE("The softmax scale is given in base 2") {
  AttentionProblem problem = llama(1, 4096);
  problem.softmax_scale = 0.5F;
  CHECK(plan(problem).parameters.softmax_scale_log2 == doctest::Approx(0.5 / std::log(2.0)));
}

TEST_CASE("A warp takes twice the tokens of eight bits, in rings of 64 KiB that two blocks share") {
  AttentionProblem problem = llama(16, 4096);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const DecodePlan made = plan(problem);
  CHECK(made.tile == DecodeTile{16, 128, 2});
  CHECK(made.blocks_per_multiprocessor == 2);
  const auto entries = decode_template()->entry_points(made.spec);
  REQUIRE(entries);
  CHECK(entries->front().threads == 128);
  problem.head_dim_qk = problem.head_dim_v = 64;
  CHECK(plan(problem).tile == DecodeTile{16, 128, 6});
}

TEST_CASE("Of sixty four rows a warp takes twice the tokens where its accumulators leave it the registers") {
  AttentionProblem problem = llama(16, 4096, 8);
  const auto threads = [&](std::uint32_t head_dim) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    const DecodePlan made = plan(problem);
    const auto entries = decode_template()->entry_points(made.spec);
    REQUIRE(entries);
    return std::pair(made.tile.kv, entries->front().threads);
  };
  CHECK(threads(64) == std::pair(64U, 256U));
  CHECK(threads(128) == std::pair(32U, 128U));
  CHECK(threads(256) == std::pair(32U, 256U));
}

TEST_CASE("A short sequence of eight bits is split as one of sixteen is, whose blocks take as long") {
  AttentionProblem problem = llama(1, 4096);
  const std::uint32_t wide = plan(problem).splits;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(plan(problem).splits >= wide * 3 / 4);
  problem.kv_len = 1024;
  CHECK(plan(problem).splits > 1);
}

TEST_CASE("The output scale is handed on") {
  AttentionProblem problem = llama(1, 4096);
  problem.output_scale = 0.25;
  CHECK(plan(problem).parameters.output_scale == 0.25F);
}

TEST_CASE("Smaller shared memory gets a shallower ring, none at all an error") {
  CHECK(number(plan(llama(16, 4096), kH200), "stages") == 3);
  CHECK(number(plan(llama(16, 4096), kA100), "stages") == 2);
  CHECK(number(plan(llama(16, 4096), kGeForce), "stages") == 2);
  const auto none = plan_decode(request(llama(16, 4096), {{8, 0}, 16, 8 * 1024}));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::unsupported);
}

TEST_CASE("A plan counts on no more blocks than the driver said fit") {
  const DecodePlan free = plan(llama(16, 4096));
  REQUIRE(free.blocks_per_multiprocessor == 2);
  PlanRequest measured = request(llama(16, 4096));
  measured.options.occupancy = {{free.spec, 1}};
  CHECK(plan(measured).blocks_per_multiprocessor == 1);
  CHECK(plan(measured).spec == free.spec);
  measured.options.occupancy = {{free.spec, 9}};
  CHECK(plan(measured).blocks_per_multiprocessor == 2);
  measured.options.occupancy = {{decode_specification(llama(16, 4096)), 1}};
  CHECK(plan(measured).blocks_per_multiprocessor == 2);
}

// As large as a problem may be in everything but the head dims.
PlanRequest largest() {
  AttentionProblem problem;
  problem.batch = problem.heads_q = problem.heads_kv = 65535;
  problem.q_len = static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()) / problem.heads_q;
  problem.kv_len = 1U << 30U;
  return request(problem);
}

TEST_CASE("Sizes whose product passes 64 bits have a plan, and a cost that follows them") {
  PlanRequest asked = largest();
  asked.options.splits = 1;
  const double bytes_of_kv = 512.0 * asked.problem.batch * asked.problem.heads_kv * asked.problem.kv_len;
  const double whole = plan(asked).cost.time;
  CHECK(whole > bytes_of_kv / 5e6);  // at 5 TB/s
  asked.problem.kv_len /= 1024;
  CHECK(whole / plan(asked).cost.time == doctest::Approx(1024).epsilon(0.01));
}

TEST_CASE("A workspace whose size passes 64 bits is refused by what makes it") {
  PlanRequest asked = largest();
  asked.options.split_tokens = 128;
  asked.problem.head_dim_v = 1024;
  const auto made = plan_decode(asked);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::invalid_argument);
  for (const char* part : {"workspace", "batch 65535", "8388608 KV splits", "head_dim_v 1024"})
    CHECK_MESSAGE(made.error().message.find(part) != std::string::npos, made.error().message);
}

TEST_CASE("Lengths and grids beyond what the kernels count with are refused") {
  PlanRequest asked = request(llama(1, (1U << 30U) + 1));
  CHECK(plan_decode(asked).error().message.find("kv_len") != std::string::npos);
  asked = request(llama(1, 1U << 30U, 1U << 26U));
  CHECK(plan_decode(asked).error().message.find("q_len") != std::string::npos);
}

TEST_CASE("What only the template knows is refused when the specification is resolved") {
  const auto kernel_template = decode_template();
  AttentionProblem problem = llama(1, 4096);
  problem.head_dim_qk = 100;
  auto resolved = kernel_template->resolve(plan(problem).spec);
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().message.find("head_dim_qk") != std::string::npos);
  problem = llama(1, 4096);
  problem.data_type_k = DataType::fp16;
  resolved = kernel_template->resolve(plan(problem).spec);
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().message.find("dtype_kv") != std::string::npos);
}

TEST_CASE("Of the tiles that are allowed the fastest is taken, those that do not fit are passed over") {
  const auto limited = [](std::vector<DecodeTile> tiles, const DeviceFacts& device = kH200) {
    return plan_decode(request(llama(16, 4096), device), std::move(tiles));
  };
  const DecodePlan free = plan(llama(16, 4096));
  const auto same = limited({free.tile});
  REQUIRE(same);
  CHECK(same->spec == free.spec);
  CHECK(same->grid == free.grid);
  const auto faster = limited({{64, 32, 2}, free.tile});
  REQUIRE(faster);
  CHECK(faster->cost.time <= limited({{64, 32, 2}})->cost.time);
  CHECK(faster->cost.time <= same->cost.time);
  // 16 x 128 with six stages takes 400 KB.
  const auto fitting = limited({{16, 128, 6}, {16, 32, 2}}, kGeForce);
  REQUIRE(fitting);
  CHECK(fitting->tile.kv == 32);
  CHECK(limited({{16, 128, 6}}).error().code == ErrorCode::unsupported);
  CHECK(limited({}).error().code == ErrorCode::unsupported);
}

TEST_CASE("A number of splits that is asked for is planned, whatever the length") {
  for (const std::uint32_t splits : {1U, 2U, 7U, 256U}) {
    for (const std::uint32_t length : {1U, 100U, 5000U}) {
      PlanRequest asked = request(llama(3, length));
      asked.options.splits = splits;
      const DecodePlan made = plan(asked);
      CHECK(made.splits == splits);
      CHECK(made.parameters.blocks.divisor == static_cast<int>(3 * splits));
      CHECK(made.grid[0] == 3 * splits * 8);
    }
  }
  PlanRequest asked = request(llama(3, 100));
  for (const std::uint32_t splits : {0U, 257U}) {
    asked.options.splits = splits;
    CHECK(plan_decode(asked).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("The numbers that kernels divide by are those of the plan") {
  const DecodePlan made = plan(llama(1, 4096, 3));
  CHECK(made.parameters.heads_kv.divisor == 8);
  CHECK(made.parameters.group.divisor == 8);
  CHECK(made.parameters.unit.divisor == 64);
  CHECK(static_cast<std::uint32_t>(made.parameters.blocks.divisor) * 8 == made.grid[0]);
  CHECK(made.q_tiles * made.splits * 8 == made.grid[0]);
  CHECK(made.parameters.group.quotient(23) == 2);
  CHECK(made.parameters.group.remainder(23) == 7);
}

}  // namespace
}  // namespace cubinet
