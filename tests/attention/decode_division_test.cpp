// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_division.hpp"

#include "decode_fixture.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace cubinet {
namespace {

using namespace test::decode;

TEST_CASE("A plan that is not split has a block a tile, and the workspace of the lengths that may come") {
  const DecodePlan made = plan(preferring(llama(64, 8192), 1));
  CHECK(made.splits == 1);
  CHECK(made.grid == std::array<std::uint32_t, 3>{64 * 8, 1, 1});
  // Each block has two slots for the 8 rows of a KV head's tile.
  CHECK(made.combines());
  CHECK_FALSE(made.combines_apart());
  CHECK(made.workspace.partial_stats_bytes == std::uint64_t{2} * 64 * 8 * 8 * 4);
  CHECK(made.workspace.counter_bytes == 64 * 8 * 4);
}

TEST_CASE("One sequence that is not split, and tiles of one unit, need no workspace") {
  CHECK(plan(preferring(llama(1, 8192), 1)).workspace == WorkspaceSizes{});
  CHECK(plan(llama(16, 64)).workspace == WorkspaceSizes{});
  CHECK(plan(llama(16, 65)).workspace != WorkspaceSizes{});
  // A sequence with its own number of query tokens may have fewer tiles than the plan assumes.
  AttentionProblem ragged = llama(1, 8192, 16);
  CHECK(plan(preferring(ragged, 1)).workspace == WorkspaceSizes{});
  ragged.ragged_q = true;
  CHECK(plan(preferring(ragged, 1)).workspace != WorkspaceSizes{});
}

TEST_CASE(
    "The workspace does not depend on lengths that are known, and tiles beyond eight for each multiprocessor "
    "share blocks") {
  AttentionProblem problem = llama(16, 4096);
  const WorkspaceSizes blind = plan(preferring(problem, 1)).workspace;
  problem.kv_lengths.assign(16, 100);
  CHECK(plan(preferring(problem, 1)).workspace == blind);
  const DecodePlan many = plan(llama(1024, 4096));
  CHECK(many.parameters.blocks.divisor == 128);  // 8 tiles each; 132 blocks would be eight per SM
  CHECK(many.workspace.partial_stats_bytes == std::uint64_t{2} * 128 * 8 * 8 * 4);
}

TEST_CASE("The number of splits with the least cost is taken, and partial results have their room") {
  const DecodePlan made = plan(preferring(llama(1, 4096), 16));
  CHECK(made.splits == 16);
  CHECK(made.combines());
  CHECK(made.cost.time == 0);
  CHECK(made.grid[0] == 16 * 8);
  CHECK(made.combines_apart());
  CHECK(made.combine_grid == std::array<std::uint32_t, 3>{64, 1, 1});
  CHECK(made.workspace.counter_bytes == 0);
  // The workspace holds fp32 partial rows of head_dim_v, two slots of 8 for each block, followed by
  // their log-sum-exps.
  const std::uint64_t rows = 2 * 16 * 8 * 8;
  CHECK(made.workspace.partial_output_bytes == rows * 128 * 4);
  CHECK(made.workspace.partial_stats_offset == rows * 128 * 4);
  CHECK(made.workspace.scratch_bytes == rows * 128 * 4 + rows * 4);
}

TEST_CASE("The built in model leaves a batch whole that fills the device, and splits one sequence") {
  CHECK(plan(llama(64, 8192)).splits == 1);
  CHECK(plan(llama(1, 16384)).splits > 1);
}

TEST_CASE("A KV of a step or less is never split, a longer one may be split into single steps") {
  CHECK(plan(preferring(llama(1, 16), 8)).splits == 1);
  CHECK(plan(preferring(llama(1, 100), 7)).splits == 7);
  CHECK(plan(preferring(llama(1, 1), 8)).splits == 1);
}

TEST_CASE(
    "Units are whole steps of the tile, and blocks of split tiles take two of them at least unless the plan "
    "counts on one or on uneven lengths, or splits are asked for") {
  for (std::uint32_t length = 1; length < 20000; length = length * 5 / 4 + 1) {
    for (const std::uint32_t batch : {1U, 2U, 7U}) {
      PlanRequest asked = request(llama(batch, length));
      const DecodePlan made = plan(asked);
      CHECK(made.parameters.unit.divisor == static_cast<int>(made.tile.kv));
      const std::int64_t units = std::int64_t{batch} * ((length + made.tile.kv - 1) / made.tile.kv);
      const int least = units > made.parameters.blocks.divisor ? 2 : 1;
      const bool may_be_one = batch > 1 || made.splits == 1;
      CHECK((made.parameters.min_units == least || (may_be_one && made.parameters.min_units == 1)));
      CHECK(made.parameters.split_is_unit == 0);
      asked.options.splits = 3;
      CHECK(plan(asked).parameters.min_units == 1);
    }
  }
}

TEST_CASE("Tiles that are not split have a block each, also if the sequences are shorter than planned") {
  AttentionProblem problem = llama(64, 129);
  problem.heads_q = 20;
  problem.heads_kv = 4;
  const DecodePlan made = plan(request(problem));
  CHECK(made.splits == 1);
  CHECK(made.parameters.blocks.divisor == 64);
  CHECK(made.parameters.min_units == 1);
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
    PlanRequest one = request(llama(1, 5000));
    one.options.split_tokens = 512;
    CHECK(made.tile == plan(one).tile);
    asked.options.split_tokens = 5120;
    CHECK(plan(asked).splits == 1);
  }
}

TEST_CASE("A window bounds the work that is divided") {
  AttentionProblem problem = llama(1, 100000);
  problem.window = 100;
  const DecodePlan made = plan(preferring(problem, 200));
  CHECK(made.splits == 8);  // single steps of 16 tokens
  CHECK(made.parameters.window == 100);
  CHECK(std::get<bool>(made.spec.parameters.at("sliding_window")));
  problem.kv_len = 100;  // it cuts off nothing
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
  const auto made = plan_decode(asked, kAttentionDecode, std::vector{DecodeTile{16, 64, 2}});
  REQUIRE(made);
  CHECK(made->splits == 1);  // the fewest splits win among equals
  CHECK(model->seen->implementation == "attention_decode");
  CHECK(model->seen->cost_class == CostClass::memory_traffic);
  CHECK(model->seen->reader == KvReader::warps);
  CHECK(model->seen->multiprocessors == 132);
  // The blocks share 64, 16 and 1 steps, with 12 blocks per KV head: 7 steps each.
  CHECK(model->seen->blocks == 12 * 8);
  CHECK(model->seen->empty_blocks == 0);
  CHECK(model->seen->bytes == (4096.0 + 1024) * 8 * 512);
  CHECK(model->seen->longest_tokens == 7 * 64);
  // The first sequence is in ten blocks, the second in three, of which the last also has the third.
  CHECK(model->seen->work_items == 2);
  CHECK(model->seen->all_work_items == (10 + 3 + 1) * 8);
}

TEST_CASE("Very uneven lengths are divided among more blocks than there are tiles") {
  AttentionProblem problem = llama(32, 131072);
  problem.kv_lengths.assign(32, 1024);
  problem.kv_lengths[0] = 131072;
  const DecodePlan known = plan(problem);
  CHECK(known.parameters.blocks.divisor > 32);
  PlanRequest whole = request(problem);
  whole.options.splits = 1;
  CHECK(known.cost.time < plan(whole).cost.time);
}

TEST_CASE("Where tiles do not go round, every multiprocessor has as many blocks") {
  // But for fewer multiprocessors than KV heads, whose blocks are as many.
  const auto all_have_as_many = [](const DecodePlan& made) {
    const std::uint32_t of_each = (made.grid[0] + 131) / 132;
    return of_each <= made.blocks_per_multiprocessor && made.grid[0] + 8 > of_each * 132;
  };
  CHECK(all_have_as_many(plan(llama(40, 8192))));
  AttentionProblem problem = llama(40, 16384);
  problem.head_dim_qk = problem.head_dim_v = 64;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  for (const std::uint32_t tokens : {1U, 4U}) {
    problem.q_len = tokens;
    const DecodePlan made = plan(problem);
    CHECK(all_have_as_many(made));
    CHECK_FALSE(made.combines_apart());
  }
}

TEST_CASE("Blocks of lengths that are not known run all at once") {
  AttentionProblem problem = llama(4, 45118);
  const DecodePlan blind = plan(problem);
  CHECK(blind.grid[0] <= 132 * blind.blocks_per_multiprocessor);
  problem.kv_lengths = {45118, 4641, 1730, 1696};
  CHECK(plan(problem).grid[0] <= 132 * blind.blocks_per_multiprocessor);
}

TEST_CASE("The block that ends last combines four parts of a tile, a second kernel more") {
  for (const std::uint32_t splits : {1U, 2U, 4U, 5U}) {
    PlanRequest asked = request(llama(16, 8192));
    asked.options.splits = splits;
    const DecodePlan made = plan(asked);
    CHECK(made.combines());
    CHECK(made.combines_apart() == (splits > 4));
    CHECK((made.workspace.counter_bytes == 0) == (splits > 4));
  }
}

// One long sequence among short ones. On an H200 the first three took 45.7, 29.0 and 225 us inside
// and 27.9, 15.6 and 55.6 us with a second kernel; the last three 18.4, 41.6 and 25.7 us inside,
// and 31.9, 65.1 and 32.3 us with a second kernel, whose blocks each read all lengths.
TEST_CASE("A second kernel combines many parts of a long sequence unless it has many blocks") {
  struct Row {
    std::uint32_t batch, q_len, heads_q, heads_kv, head_dim;
    DataType type;
    std::int32_t longest, others;
    bool apart;
  };
  for (const Row& row : {Row{32, 4, 10, 2, 128, DataType::bf16, 32768, 1000, true},
                         {64, 5, 4, 2, 256, DataType::bf16, 2048, 61, true},
                         {7, 8, 8, 4, 256, DataType::bf16, 32768, 1000, true},
                         {242, 1, 32, 4, 64, DataType::e4m3, 983, 30, false},
                         {1024, 1, 4, 2, 256, DataType::bf16, 256, 7, false},
                         {192, 1, 32, 4, 64, DataType::bf16, 3364, 104, false}}) {
    CAPTURE(row.batch);
    AttentionProblem problem = llama(row.batch, static_cast<std::uint32_t>(row.longest), row.q_len);
    problem.heads_q = row.heads_q;
    problem.heads_kv = row.heads_kv;
    problem.head_dim_qk = problem.head_dim_v = row.head_dim;
    problem.data_type_k = problem.data_type_v = row.type;
    problem.kv_lengths.assign(row.batch, row.others);
    problem.kv_lengths.front() = row.longest;
    const DecodePlan made = plan(problem);
    CHECK(made.combines());
    CHECK(made.combines_apart() == row.apart);
  }
}

TEST_CASE("Without a second kernel the block that ends last combines every number of parts") {
  const auto none = [](const KernelSpec&) { return false; };
  PlanRequest asked = request(llama(16, 8192));
  asked.options.splits = 16;
  const DecodePlan apart = plan(asked);
  const auto inside = plan_decode(asked, kAttentionDecode, std::nullopt, none);
  REQUIRE(inside);
  CHECK(apart.combines_apart());
  CHECK_FALSE(inside->combines_apart());
  CHECK(inside->splits == apart.splits);
  CHECK(inside->workspace.counter_bytes > 0);
  CHECK(inside->cost.time > apart.cost.time);
  // The cost model then prefers fewer splits.
  PlanRequest free = request(llama(1, 65536));
  const auto chosen = plan_decode(free, kAttentionDecode, std::nullopt, none);
  REQUIRE(chosen);
  CHECK(plan(free).combines_apart());
  CHECK_FALSE(chosen->combines_apart());
  // Another order of the sums would give other bits.
  free.options.split_tokens = 4096;
  const auto fixed = plan_decode(free, kAttentionDecode, std::nullopt, none);
  REQUIRE_FALSE(fixed);
  CHECK(fixed.error().code == ErrorCode::unsupported);
  CHECK(fixed.error().message.find("attention_combine") != std::string::npos);
}

TEST_CASE("A short sequence of eight bits is split as one of sixteen is, whose blocks take as long") {
  AttentionProblem problem = llama(1, 4096);
  const std::uint32_t wide = plan(problem).splits;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(plan(problem).splits >= wide * 3 / 4);
  problem.kv_len = 1024;
  CHECK(plan(problem).splits > 1);
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
  measured.options.occupancy = {{decode_specification(kAttentionDecode, llama(16, 4096)), 1}};
  CHECK(plan(measured).blocks_per_multiprocessor == 2);
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
    CHECK(plan_decode(asked, kAttentionDecode).error().code == ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace cubinet
