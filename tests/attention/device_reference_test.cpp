// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

template <class Change>
bool serves_changed(Change change) {
  AttentionProblem problem = test::context(2, 700, 1024, 16, 4);
  change(problem);
  return has_device_reference(problem);
}

TEST_CASE("a device computes the reference of what its kernel reads, and of nothing else") {
  using P = AttentionProblem;
  CHECK(serves_changed([](P&) {}));
  CHECK(serves_changed([](P& p) { p.prefill = false, p.q_len = 1; }));
  CHECK(serves_changed([](P& p) { p.layout = QkvLayout::contiguous_kv; }));
  CHECK(serves_changed([](P& p) { p.head_dim_qk = 192, p.head_dim_v = 128; }));
  CHECK_FALSE(serves_changed([](P& p) { p.layout = QkvLayout::packed_qkv; }));
  CHECK_FALSE(serves_changed([](P& p) { p.mask = AttentionMask::custom; }));
  CHECK(serves_changed([](P& p) { p.data_type_k = p.data_type_v = DataType::e4m3; }));
  CHECK(serves_changed([](P& p) { p.data_type_q = p.data_type_k = p.data_type_v = DataType::e4m3; }));
  CHECK_FALSE(serves_changed([](P& p) { p.data_type_q = DataType::e4m3; }));
  CHECK_FALSE(serves_changed([](P& p) { p.data_type_v = DataType::e4m3; }));
  CHECK_FALSE(serves_changed([](P& p) { p.head_dim_qk = 72; }));
  CHECK_FALSE(serves_changed([](P& p) { p.chunk = 64; }));
  CHECK_FALSE(serves_changed([](P& p) { p.append.emplace(); }));
}

}  // namespace
}  // namespace cubinet
