// SPDX-License-Identifier: Apache-2.0
#include "decode_call.hpp"

#include "ffi_values.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;
using namespace cubinet::tvm_ffi;

namespace {

cubinet_attention_problem masked(bool is_causal, std::int64_t left, std::int64_t right, std::uint32_t q_len) {
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.q_len = q_len;
  REQUIRE(set_mask(problem, is_causal, left, right));
  return problem;
}

}  // namespace

TEST_CASE("a tensor has the dimensions, the extents and the type that its call expects") {
  FfiTensor tensor({2, std::int64_t{1} << 32}, {kDLFloat, 64, 1}, 0x1000);
  const dlpack::TensorView view(tensor.tensor());
  CHECK(check_rank("q", view, "batch, pages"));
  const auto rank = check_rank("q", view, "batch");
  REQUIRE(!rank);
  CHECK(rank.error().message == "'q' has the shape [2, 4294967296]; expected [batch]");
  CHECK(*extent_of("q", view, 0) == 2);
  CHECK(!extent_of("q", view, 1));
  const auto type = type_of("q", view);
  REQUIRE(!type);
  CHECK(type.error().message == "'q' has elements of type float64");
}

TEST_CASE("the window of FlashAttention becomes a mask and a number of tokens") {
  CHECK(masked(true, -1, -1, 4).mask == CUBINET_MASK_CAUSAL);
  CHECK(masked(true, -1, -1, 4).window == 0);
  CHECK(masked(true, 7, 0, 4).window == 8);
  CHECK(masked(false, 7, 0, 4).mask == CUBINET_MASK_CAUSAL);
  CHECK(masked(false, -1, -1, 4).mask == CUBINET_MASK_DENSE);
  CHECK(masked(false, -1, -1, 1).mask == CUBINET_MASK_CAUSAL);  // one row has no tokens after it
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.q_len = 4;
  CHECK(set_mask(problem, false, 7, -1).error().code == ErrorCode::unsupported);
  CHECK(set_mask(problem, false, -1, 2).error().code == ErrorCode::unsupported);
  CHECK(set_mask(problem, true, std::int64_t{1} << 40, 0).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a call in a process without tvm ffi has no stream and fails") {
  KeptRuntime runtime{RuntimeHandle()};
  DecodeCall call;
  FfiTensor q({2, 1, 4, 128}, {kDLBfloat, 16, 1}, 0x1000);
  call.add("q", "query", dlpack::TensorView(q.tensor()));
  const auto ran = call.run(runtime);
  REQUIRE(!ran);
  CHECK(ran.error().code == ErrorCode::unavailable);
  DecodeCall on_host;
  q.tensor().device = {kDLCPU, 0};
  on_host.add("q", "query", dlpack::TensorView(q.tensor()));
  CHECK(on_host.run(runtime).error().message == "'query' is in host memory");
}
