// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("words are joined, empty ones too") {
  CHECK(join({"a", "b"}) == "a, b");
  CHECK(join({"", "b"}, "/") == "/b");
  CHECK(join({}).empty());
}

TEST_CASE("one has no plural") {
  CHECK(plural(1, "kernel") == "1 kernel");
  CHECK(plural(0, "kernel") == "0 kernels");
  CHECK(plural(2, "entry") == "2 entries");
  CHECK(plural(4, "day") == "4 days");
}

TEST_CASE("the nearest name comes first") {
  CHECK(nearest_first({"mask", "head_dim", "rows"}, "head_dmi").front() == "head_dim");
  CHECK(nearest_first({"b", "a"}, "c") == std::vector<std::string>{"a", "b"});
  CHECK(nearest_first({}, "c").empty());
}

TEST_CASE("names that are near or hold what was asked are offered, and no others") {
  const std::vector<std::string> names = {"head_dim_qk", "head_dim_v", "page_size", "window"};
  CHECK(nearest_names("hed_dim_qk", names).front() == "head_dim_qk");
  CHECK(nearest_names("page", names) == std::vector<std::string>{"page_size"});
  CHECK(nearest_names("zzzzzzzzz", names).empty());
  CHECK(nearest_names("", names).empty());
  CHECK(nearest_names(std::string(100'000, 'x'), names).empty());
}

TEST_CASE("text from outside drives no terminal and forges no line") {
  CHECK(printable("a\nb\t\x1b[31m\x7f") == "a\\x0ab\\x09\\x1b[31m\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m \x9b") == "\\xc2\\x9b31m \\x9b");
  CHECK(printable("caf\xc3\xa9 \xe2\x82\x9b") == "caf\xc3\xa9 \xe2\x82\x9b");
  CHECK(printable_lines("a\n\tb\r\x1b") == "a\n\tb\\x0d\\x1b");
  CHECK(is_printable("caf\xc3\xa9"));
  CHECK_FALSE(is_printable("a\nb"));
}

TEST_CASE("long text is cut where it is asked to be") {
  CHECK(printable(std::string(500, 'x'), 120) == std::string(120, 'x') + "...");
  CHECK(printable("abc", 3) == "abc");
}

}  // namespace
}  // namespace cubinet
