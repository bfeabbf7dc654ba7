// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

template <class Change>
bool refused(Change change) {
  KernelRow row = test::sample_row();
  change(row);
  const auto checked = check_ranges(row);
  return !checked && checked.error().code == ErrorCode::invalid_argument;
}

TEST_CASE("valid rows pass the check of ranges") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1'000; ++i)
    CHECK(check_ranges(test::random_row(random)));
}

TEST_CASE("a value out of range is refused, never rounded") {
  CHECK(refused([](KernelRow& row) { row.selector.head_dim_qk = 129; }));
  CHECK(refused([](KernelRow& row) { row.selector.head_dim_v = 0; }));
  CHECK(refused([](KernelRow& row) { row.selector.head_dim_per_cta_v = 1032; }));
  CHECK(refused([](KernelRow& row) { row.selector.tile_size_q = 12; }));
  CHECK(refused([](KernelRow& row) { row.selector.tile_size_q = 4; }));
  CHECK(refused([](KernelRow& row) { row.selector.tile_size_kv = 100; }));
  CHECK(refused([](KernelRow& row) { row.selector.tile_size_kv = 8; }));
  CHECK(refused([](KernelRow& row) { row.selector.tile_size_kv = 512; }));
  CHECK(refused([](KernelRow& row) { row.traits.stages = 65; }));
  CHECK(refused([](KernelRow& row) { row.implementation = "Two Words"; }));
  CHECK(refused([](KernelRow& row) { row.implementation = std::string(65, 'a'); }));
  CHECK(refused([](KernelRow& row) { row.selector.tokens_per_page = 48; }));
  CHECK(refused([](KernelRow& row) { row.selector.tokens_per_page = 1U << 21U; }));
  CHECK(refused([](KernelRow& row) { row.selector.dynamic_page = true; }));
  CHECK(refused([](KernelRow& row) { row.selector.sage_block[2] = 3; }));
  CHECK(refused([](KernelRow& row) { row.selector.kernel_type = KernelType::generation; }));
  CHECK(refused([](KernelRow& row) { row.selector.mask = static_cast<AttentionMask>(4); }));
  CHECK(refused([](KernelRow& row) { row.selector.data_type_o = static_cast<DataType>(8); }));
  CHECK(refused([](KernelRow& row) { row.traits.step_q = 0; }));
  CHECK(refused([](KernelRow& row) { row.traits.step_kv = 100; }));
  CHECK(refused([](KernelRow& row) { row.threads = 1025; }));
  CHECK(refused([](KernelRow& row) { row.target.minor = 10; }));
  CHECK(refused([](KernelRow& row) { row.extras = {{"b", "1"}, {"a", "1"}}; }));
  const auto checked = check_ranges(KernelSelector{.head_dim_qk = 129});
  REQUIRE(!checked);
  CHECK(checked.error().message.find("head_dim_qk is 129") != std::string::npos);
}

TEST_CASE("a row with an unknown column that is on is not understood") {
  KernelRow row = test::sample_row();
  row.extras = {{"mReserved1", "false"}, {"mReserved2", "0"}, {"mReserved3", "nullptr"}};
  CHECK(row.understood());
  row.extras.push_back({"mReserved4", "true"});
  CHECK_FALSE(row.understood());
}

}  // namespace
}  // namespace cubinet
