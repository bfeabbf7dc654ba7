// SPDX-License-Identifier: Apache-2.0
#include "reference/check_reference.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

template <class Change>
ErrorCode reference_refusal(Change change) {
  AttentionProblem problem = test::generation(2, 4, 1024, 16, 4);
  change(problem);
  const auto checked = check_reference(problem, {1024, 0});
  REQUIRE(!checked);
  return checked.error().code;
}

TEST_CASE("the reference takes decode, prefill and latent attention, with a length a sequence") {
  CHECK(check_reference(test::generation(2, 4, 1024, 16, 4), {1024, 0}));
  CHECK(check_reference(test::context(2, 700, 1024, 16, 4), {1024, 700}));
  AttentionProblem problem = test::context(2, 700, 1024, 16, 4);
  problem.layout = QkvLayout::separate_qkv;
  problem.sinks = true;
  CHECK(check_reference(problem, {1024, 700}));
  problem = test::generation(2, 4, 1024, 16, 16, 576, 512);
  CHECK(check_reference(problem, {1024, 700}));
  for (const std::vector<std::int32_t>& lengths : {std::vector<std::int32_t>{}, {1}, {1, 1025}}) {
    const auto checked = check_reference(test::generation(2, 4, 1024, 16, 4), lengths);
    REQUIRE(!checked);
    CHECK(checked.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("what the reference would ignore is unsupported") {
  using P = AttentionProblem;
  constexpr ErrorCode kUnsupported = ErrorCode::unsupported;
  CHECK(reference_refusal([](P& p) { p.layout = QkvLayout::packed_qkv; }) == kUnsupported);
  CHECK(reference_refusal([](P& p) { p.sparse = SparseAttention::static_token, p.top_k = 64; }) ==
        kUnsupported);
  CHECK(reference_refusal([](P& p) { p.chunk = 64; }) == kUnsupported);
  CHECK(reference_refusal([](P& p) { p.data_type_v = DataType::e2m1; }) == kUnsupported);
}

}  // namespace
}  // namespace cubinet
