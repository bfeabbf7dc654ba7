// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/decode_plan.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

namespace cubinet {
namespace {

constexpr DecodeDevice kH200{132, 227 * 1024};
constexpr DecodeDevice kA100{108, 163 * 1024};
constexpr DecodeDevice kGeForce{84, 99 * 1024};
constexpr DecodeTensors kTensors{1 << 8, 2 << 8, 3 << 8, 4 << 8, 5 << 8, 6 << 8, 7 << 8, 8 << 8};

DecodeProblem llama(int batch, int kv_len, int q_len = 1) {
  DecodeProblem problem;
  problem.batch = batch;
  problem.q_len = q_len;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len_max = kv_len;
  return problem;
}

DecodePlan plan(const DecodeProblem& problem, const DecodeDevice& device = kH200) {
  const auto result = plan_decode(problem, device);
  REQUIRE_MESSAGE(result, (result ? std::string() : result.error().message));
  return *result;
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
  for (const DecodeDevice& device : {kH200, kA100, kGeForce}) {
    for (const int head_dim_qk : {64, 128, 256}) {
      for (const int head_dim_v : {64, 128, 256}) {
        for (const int q_len : {1, 3, 8, 100}) {
          DecodeProblem problem = llama(4, 5000, q_len);
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
          CHECK(made.shared_bytes <= device.shared_bytes_per_block);
        }
      }
    }
  }
}

TEST_CASE("A long batch that fills the device is not split") {
  const DecodePlan made = plan(llama(64, 8192));
  CHECK(made.num_splits == 1);
  CHECK_FALSE(made.reduces());
  CHECK(made.workspace_bytes == 0);
  CHECK(made.grid == std::array<std::uint32_t, 3>{1, 8, 64});
  CHECK(plan(llama(16, 4096)).num_splits == 1);
}

TEST_CASE("One sequence is split over the multiprocessors") {
  const DecodePlan made = plan(llama(1, 4096));
  CHECK(made.num_splits >= 8);
  CHECK(made.num_splits <= 32);
  CHECK(made.reduces());
  CHECK(made.grid[0] == static_cast<std::uint32_t>(made.num_splits));
  CHECK(made.reduce_grid == std::array<std::uint32_t, 3>{64, 1, 1});
  // fp32 partial rows of head_dim_v, one for each row and split, and their log-sum-exps after them.
  const std::uint64_t rows = 64u * static_cast<std::uint64_t>(made.num_splits);
  CHECK(made.partial_lse_offset == rows * 128 * 4);
  CHECK(made.workspace_bytes == made.partial_lse_offset + rows * 4);
}

TEST_CASE("A KV of a tile or less is never split, an empty one has a plan") {
  CHECK(plan(llama(1, 100)).num_splits == 1);
  CHECK(plan(llama(1, 1)).num_splits == 1);
  const DecodePlan empty = plan(llama(3, 0));
  CHECK(empty.num_splits == 1);
  CHECK(empty.grid == std::array<std::uint32_t, 3>{1, 8, 3});
}

TEST_CASE("Splits always cover the longest sequence") {
  for (int length = 1; length < 20000; length = length * 5 / 4 + 1) {
    for (const int batch : {1, 2, 7}) {
      for (const bool known : {false, true}) {
        DecodeProblem problem = llama(batch, length);
        if (known) problem.kv_lengths.assign(static_cast<std::size_t>(batch), length);
        const DecodePlan made = plan(problem);
        const int tile = static_cast<int>(number(made, "tile_size_kv"));
        CHECK(made.parameters.min_tokens_per_split % tile == 0);
        if (known) CHECK(made.num_splits * made.parameters.min_tokens_per_split >= length);
      }
    }
  }
}

TEST_CASE("Query tokens and heads of a group are packed into the tile") {
  CHECK(number(plan(llama(16, 4096, 1)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 2)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 4)), "tile_size_q") == 32);
  const DecodePlan eight = plan(llama(16, 4096, 8));
  CHECK(number(eight, "tile_size_q") == 64);
  CHECK(eight.grid[0] == static_cast<std::uint32_t>(eight.num_splits));
  const DecodePlan hundred = plan(llama(16, 4096, 100));
  CHECK(hundred.grid[0] == static_cast<std::uint32_t>(hundred.num_splits) * 13);  // 800 rows in tiles of 64
}

TEST_CASE("A window bounds the work that is divided") {
  DecodeProblem problem = llama(1, 100000);
  problem.window = 100;
  const DecodePlan made = plan(problem);
  CHECK(made.num_splits == 1);
  CHECK(made.parameters.window == 100);
  CHECK(std::get<bool>(made.spec.parameters.at("sliding_window")));
}

TEST_CASE("Very uneven lengths that are known are divided into pieces of one size") {
  DecodeProblem problem = llama(32, 131072);
  problem.kv_lengths.assign(32, 1024);
  problem.kv_lengths[0] = 131072;
  const DecodePlan known = plan(problem);
  CHECK(known.num_splits > 8);
  CHECK(known.parameters.min_tokens_per_split >= 1024);  // the short ones stay whole
  DecodeProblem blind = problem;
  blind.kv_lengths.clear();
  CHECK(plan(blind).num_splits < known.num_splits);
}

TEST_CASE("Strides follow the layout") {
  DecodeProblem problem = llama(2, 1000, 3);
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
  problem.layout = KvLayout::hnd;
  const auto hnd = plan(problem).parameters;
  CHECK(hnd.k_page_stride == nhd.k_page_stride);
  CHECK(hnd.k_token_stride == 128);
  CHECK(hnd.k_head_stride == 64 * 128);
  CHECK(hnd.v_head_stride == 64 * 64);
}

TEST_CASE("The arguments carry the tensors and the scale in base 2") {
  DecodeProblem problem = llama(1, 4096);
  problem.softmax_scale = 0.5f;
  const DecodePlan made = plan(problem);
  const auto p = made.arguments(kTensors);
  REQUIRE(p);
  CHECK(p->q == 1 << 8);
  CHECK(p->kv_lengths == 7 << 8);
  CHECK(p->partial_o == 8 << 8);
  CHECK(p->partial_lse == (8 << 8) + made.partial_lse_offset);
  CHECK(p->softmax_scale_log2 == doctest::Approx(0.5 / std::log(2.0)));
  const auto whole = plan(llama(64, 8192)).arguments(kTensors);
  REQUIRE(whole);
  CHECK(whole->partial_o == 0);
}

TEST_CASE("A tensor at an address that the kernels cannot read vectors from is refused by name") {
  const DecodePlan made = plan(llama(1, 4096));
  struct Row {
    const char* name;
    std::uint64_t DecodeTensors::*address;
    std::uint64_t alignment;
  };
  const Row rows[] = {{"q", &DecodeTensors::q, 16},
                      {"k", &DecodeTensors::k, 16},
                      {"v", &DecodeTensors::v, 16},
                      {"o", &DecodeTensors::o, 16},
                      {"lse", &DecodeTensors::lse, 4},
                      {"page_table", &DecodeTensors::page_table, 4},
                      {"kv_lengths", &DecodeTensors::kv_lengths, 4},
                      {"workspace", &DecodeTensors::workspace, 16}};
  for (const Row& row : rows) {
    DecodeTensors tensors = kTensors;
    tensors.*row.address += row.alignment / 2;
    const auto refused = made.arguments(tensors);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(refused.error().message.find(" of " + std::string(row.name) + " is ") != std::string::npos,
                  refused.error().message);
    tensors.*row.address += row.alignment / 2;
    CHECK(made.arguments(tensors));
  }
}

TEST_CASE("A workspace is asked for where one is needed and nowhere else") {
  DecodeTensors tensors = kTensors;
  tensors.workspace = 0;
  const auto refused = plan(llama(1, 4096)).arguments(tensors);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("workspace") != std::string::npos);
  CHECK(plan(llama(64, 8192)).arguments(tensors));
}

TEST_CASE("Smaller shared memory gets a shallower ring, none at all an error") {
  CHECK(number(plan(llama(16, 4096), kH200), "stages") == 3);
  CHECK(number(plan(llama(16, 4096), kA100), "stages") == 2);
  CHECK(number(plan(llama(16, 4096), kGeForce), "stages") == 2);
  const auto none = plan_decode(llama(16, 4096), DecodeDevice{16, 8 * 1024});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::unsupported);
  const auto no_device = plan_decode(llama(16, 4096), DecodeDevice{});
  REQUIRE_FALSE(no_device);
  CHECK(no_device.error().code == ErrorCode::invalid_argument);
}

// As large as check() accepts in everything but the head dims.
DecodeProblem largest() {
  DecodeProblem problem;
  problem.batch = problem.heads_q = problem.heads_kv = 65535;
  problem.q_len = std::numeric_limits<int>::max() / problem.heads_q;
  problem.kv_len_max = 1 << 30;
  return problem;
}

TEST_CASE("Sizes whose product passes 64 bits have a plan, and an estimate that follows them") {
  DecodePlanLimits limits;
  limits.splits = 1;
  DecodeProblem problem = largest();
  const auto whole = plan_decode(problem, kH200, limits);
  REQUIRE(whole);
  const double bytes_of_kv = 512.0 * problem.batch * problem.heads_kv * problem.kv_len_max;
  CHECK(whole->estimated_microseconds > bytes_of_kv / 5e6);  // at 5 TB/s
  problem.kv_len_max /= 1024;
  const auto part = plan_decode(problem, kH200, limits);
  REQUIRE(part);
  CHECK(whole->estimated_microseconds / part->estimated_microseconds == doctest::Approx(1024).epsilon(0.01));
}

TEST_CASE("A workspace whose size passes 64 bits is refused by what makes it") {
  DecodePlanLimits limits;
  limits.splits = 256;
  DecodeProblem problem = largest();
  problem.head_dim_v = 1024;
  const auto made = plan_decode(problem, kH200, limits);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::invalid_argument);
  for (const char* part : {"workspace", "batch 65535", "256 KV splits", "head_dim_v 1024"})
    CHECK_MESSAGE(made.error().message.find(part) != std::string::npos, made.error().message);
}

TEST_CASE("A problem that is wrong in itself has no plan") {
  DecodeProblem problem = llama(1, 4096);
  problem.heads_q = 7;
  const auto made = plan_decode(problem, kH200);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("What only the template knows is refused when the specification is resolved") {
  const auto kernel_template = decode_template();
  DecodeProblem problem = llama(1, 4096);
  problem.head_dim_qk = 100;
  auto resolved = kernel_template->resolve(plan(problem).spec);
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().message.find("head_dim_qk") != std::string::npos);
  problem = llama(1, 4096);
  problem.dtype_kv = DataType::fp16;
  resolved = kernel_template->resolve(plan(problem).spec);
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().message.find("dtype_kv") != std::string::npos);
}

TEST_CASE("Of the tiles that are allowed the fastest is taken, those that do not fit are passed over") {
  const auto limited = [](std::vector<DecodeTile> tiles, const DecodeDevice& device = kH200) {
    DecodePlanLimits limits;
    limits.tiles = std::move(tiles);
    return plan_decode(llama(16, 4096), device, limits);
  };
  const DecodePlan free = plan(llama(16, 4096));
  const DecodeTile chosen{static_cast<int>(number(free, "tile_size_q")),
                          static_cast<int>(number(free, "tile_size_kv")),
                          static_cast<int>(number(free, "stages"))};
  const auto same = limited({chosen});
  REQUIRE(same);
  CHECK(same->spec == free.spec);
  CHECK(same->grid == free.grid);
  const auto faster = limited({{64, 16, 2}, chosen});
  REQUIRE(faster);
  CHECK(faster->estimated_microseconds <= limited({{64, 16, 2}})->estimated_microseconds);
  CHECK(faster->estimated_microseconds <= same->estimated_microseconds);
  // 16 x 128 with six stages takes 400 KB.
  const auto fitting = limited({{16, 128, 6}, {16, 32, 2}}, kGeForce);
  REQUIRE(fitting);
  CHECK(number(*fitting, "tile_size_kv") == 32);
  CHECK(limited({{16, 128, 6}}).error().code == ErrorCode::unsupported);
  CHECK(limited({}).error().code == ErrorCode::unsupported);
}

TEST_CASE("A number of splits that is asked for is planned, whatever the length") {
  for (const int splits : {1, 2, 7, 256}) {
    for (const int length : {0, 1, 100, 5000}) {
      DecodePlanLimits limits;
      limits.splits = splits;
      const auto made = plan_decode(llama(3, length), kH200, limits);
      REQUIRE(made);
      CHECK(made->num_splits == splits);
      CHECK(made->parameters.num_splits.divisor == splits);
      CHECK(made->grid[0] == static_cast<std::uint32_t>(splits));
      CHECK(made->reduces() == (splits > 1));
    }
  }
  DecodePlanLimits limits;
  for (const int splits : {0, -1, 257}) {
    limits.splits = splits;
    CHECK(plan_decode(llama(3, 100), kH200, limits).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("The numbers that kernels divide by are those of the plan") {
  const DecodePlan made = plan(llama(1, 4096, 3));
  CHECK(made.parameters.heads_q.divisor == 64);
  CHECK(made.parameters.group.divisor == 8);
  CHECK(made.parameters.num_splits.divisor == made.num_splits);
  CHECK(made.parameters.q_tiles.divisor * made.num_splits == static_cast<int>(made.grid[0]));
  CHECK(made.parameters.group.quotient(23) == 2);
  CHECK(made.parameters.group.remainder(23) == 7);
}

}  // namespace
}  // namespace cubinet
