// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_plan.hpp"

#include "decode_fixture.hpp"

#include <limits>
#include <string>
#include <utility>

namespace cubinet {
namespace {

using namespace test::decode;

TEST_CASE("A length of splits that is no multiple of a tile, or stands beside their number, is refused") {
  PlanRequest asked = request(llama(2, 5000));
  for (const std::uint32_t tokens : {0U, 64U, 200U, 1U << 31U}) {
    asked.options.split_tokens = tokens;
    CHECK(plan_decode(asked, kAttentionDecode).error().code == ErrorCode::invalid_argument);
  }
  asked.options.split_tokens = 256;
  asked.options.splits = 2;
  CHECK(plan_decode(asked, kAttentionDecode).error().message.find("both") != std::string::npos);
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
  const auto made = plan_decode(asked, kAttentionDecode);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::invalid_argument);
  for (const char* part : {"workspace", "`AttentionProblem::batch` 65535", "8388608 KV splits",
                           "`AttentionProblem::head_dim_v` 1024"})
    CHECK_MESSAGE(made.error().message.find(part) != std::string::npos, made.error().message);
}

TEST_CASE("Lengths and grids beyond what the kernels count with are refused") {
  PlanRequest asked = request(llama(1, (1U << 30U) + 1));
  CHECK(plan_decode(asked, kAttentionDecode).error().message.find("kv_len") != std::string::npos);
  asked = request(llama(1, 1U << 30U, 1U << 26U));
  CHECK(plan_decode(asked, kAttentionDecode).error().message.find("q_len") != std::string::npos);
}

TEST_CASE("What only the template knows is refused when the specification is resolved") {
  const auto kernel_template = template_of(kAttentionDecode);
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
  const auto limited = [](std::vector<DecodeTile> tiles, const DeviceFacts& device = kHopper) {
    return plan_decode(request(llama(16, 4096), device), kAttentionDecode, std::move(tiles));
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

}  // namespace
}  // namespace cubinet
