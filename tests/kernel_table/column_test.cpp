// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <set>

namespace cubinet {
namespace {

TEST_CASE("every field of a selector has a column, so that no difference goes unnamed") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000; ++i) {
    const KernelSelector a = test::random_selector(random);
    KernelRow rebuilt = blank_row();
    KernelRow row;
    row.selector = a;
    for (const Column& column : kernel_columns()) {
      CHECK(column.fits(column.get(row)));
      if (column.asked_for) column.set(rebuilt, column.get(row));
    }
    CHECK(rebuilt.selector == a);
    CHECK(differences(a, a).empty());
    KernelSelector b = test::random_selector(random);
    CHECK(differences(a, b).empty() == (a == b));
  }
}

TEST_CASE("columns have names of their own and are found by them") {
  std::set<std::string_view> names;
  for (const Column& column : kernel_columns()) {
    CHECK(names.insert(column.name).second);
    CHECK(find_column(column.name) == &column);
    if (!column.header_name.empty()) CHECK(find_header_column(column.header_name) == &column);
  }
  CHECK(find_column("nothing") == nullptr);
  CHECK(find_header_column("") == nullptr);
  CHECK(find_header_column("mSparseMla") == find_column("sparse"));
}

TEST_CASE("a value in words is read back as the value, and other words are none") {
  for (const Column& column : kernel_columns()) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, column.maximum}) {
      CHECK(parse_column_text(column, column_text(column, value)) == value);
    }
    for (const char* text : {"", "unknown", "-1", "1x", " 1", "99999999999999999999"})
      CHECK_FALSE(parse_column_text(column, text));
  }
}

TEST_CASE("a difference says which field, what was found and what was wanted") {
  KernelSelector wanted;
  KernelSelector found;
  wanted.mask = AttentionMask::causal;
  found.mask = AttentionMask::dense;
  wanted.data_type_q = DataType::e4m3;
  wanted.two_cta = true;
  const auto list = differences(wanted, found);
  REQUIRE(list.size() == 3);
  CHECK(list[0].to_string() == "data_type_q bf16 instead of e4m3");
  CHECK(list[1].to_string() == "mask dense instead of causal");
  CHECK(list[2].to_string() == "two_cta false instead of true");
}

}  // namespace
}  // namespace cubinet
