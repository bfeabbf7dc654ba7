// SPDX-License-Identifier: Apache-2.0
#include "tensor_shape.hpp"

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

const TensorShape kShape = TensorShape::of({2, 3, 4}, 64, DataType::bf16);

DeviceTensor tensor(std::array<std::int64_t, 3> strides, std::uint64_t bytes = 1U << 20U) {
  return {0x1000, bytes, strides};
}

void check_refused(const Result<void>& checked, const std::string& word) {
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  CHECK(checked.error().message.find("attention: some") != std::string::npos);
  CHECK_MESSAGE(checked.error().message.find(word) != std::string::npos, checked.error().message);
}

TEST_CASE("a shape counts the bytes of a contiguous tensor and of a strided one") {
  CHECK(kShape.contiguous_bytes == 2 * 3 * 4 * 64 * 2);
  CHECK(kShape.extent({3 * 4 * 64, 4 * 64, 64}) == kShape.contiguous_bytes);
  CHECK(kShape.extent({10'000, 1000, 100}) == (10'000 + 2 * 1000 + 3 * 100 + 64) * 2);
  CHECK(kShape.extent({INT64_MAX, 1, 1}) == UINT64_MAX);
  CHECK(TensorShape::of({1, 1, 1}, 64, DataType::e2m1).contiguous_bytes == 32);
}

TEST_CASE("rows that share elements overlap, in whatever order the dimensions lie") {
  CHECK_FALSE(kShape.overlaps({3 * 4 * 64, 4 * 64, 64}));
  CHECK_FALSE(kShape.overlaps({64, 2 * 64, 2 * 3 * 64}));
  CHECK(kShape.overlaps({3 * 4 * 64, 4 * 64, 32}));
  CHECK(kShape.overlaps({3 * 4 * 64, 3 * 64, 64}));
  CHECK_FALSE(TensorShape::of({1, 3, 4}, 64, DataType::bf16).overlaps({8, 4 * 64, 64}));
}

TEST_CASE("a tensor is refused by its address, its size and its strides") {
  CHECK(check_strided("some", tensor({}), kShape));
  CHECK(check_strided("some", tensor({3 * 4 * 64, 4 * 64, 64}), kShape));
  CHECK(check_strided("some", tensor({}, kShape.contiguous_bytes), kShape));
  check_refused(check_strided("some", tensor({}, kShape.contiguous_bytes - 1), kShape),
                "needs at least 3072");
  check_refused(check_strided("some", {0, 4096, {}}, kShape), "has no address");
  check_refused(check_strided("some", {0x1008, 4096, {}}, kShape), "multiple of 16");
  check_refused(check_strided("some", tensor({3 * 4 * 64, 4 * 64, 60}), kShape), "stride of 60");
  check_refused(check_strided("some", tensor({3 * 4 * 64, 0, 64}), kShape), "stride of 0");
  check_refused(check_strided("some", tensor({3 * 4 * 64, 4 * 64, -64}), kShape), "stride of -64");
}

TEST_CASE("rows that are written are refused where they overlap, and strides where none may be") {
  CHECK(check_distinct_rows("some", tensor({3 * 4 * 64, 4 * 64, 64}), kShape));
  check_refused(check_distinct_rows("some", tensor({3 * 4 * 64, 4 * 64, 32}), kShape), "overlap");
  CHECK(check_contiguous("some", tensor({})));
  check_refused(check_contiguous("some", tensor({64, 64, 64})), "must be contiguous");
}

}  // namespace
}  // namespace cubinet
