// SPDX-License-Identifier: Apache-2.0
#include "option_lines.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

TEST_CASE("lines stand for the products of their lists, in order, and know where they are") {
  const auto lines =
      parse_option_lines("# a comment, not a list\n\n  --a 1,2 --b=x,y --c\r\n--d #3\n", "f.txt");
  REQUIRE(lines);
  REQUIRE(lines->size() == 5);
  CHECK((*lines)[0].text() == "--a 1 --b=x --c");
  CHECK((*lines)[1].text() == "--a 1 --b=y --c");
  CHECK((*lines)[2].text() == "--a 2 --b=x --c");
  CHECK((*lines)[2].where == "'f.txt', line 3");
  CHECK((*lines)[4].text() == "--d #3");
  CHECK((*lines)[4].where == "'f.txt', line 4");
}

TEST_CASE("a file without a line, and one that stands for too many, are refused") {
  CHECK(contains(parse_option_lines("# nothing\n \n", "f.txt").error().message, "holds no line"));
  std::string many = "1";
  for (int i = 0; i < 150; ++i)
    many += ",1";
  for (const std::string& text : {many + " " + many, many + " " + many + " " + many + " " + many})
    CHECK(contains(parse_option_lines(text, "f.txt").error().message, "more than 10000"));
}

TEST_CASE("a line with a byte that is no text is refused by its number") {
  const auto lines = parse_option_lines(std::string_view("--a 1\n--b 2\0 --c\n", 16), "f.txt");
  REQUIRE_FALSE(lines);
  CHECK(lines.error().message == "'f.txt', line 2 has a NUL byte");
}

TEST_CASE("options that nobody expects are told in the order of the line") {
  CLI::App options;
  const auto parsed = parse_options(options, {"'f.txt', line 3", {"--c", "--b", "a"}});
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message == "'f.txt', line 3: The following arguments were not expected: --c --b a");
}

TEST_CASE("what is no option is told with its line") {
  CLI::App options;
  std::string value;
  options.add_option("--a", value);
  REQUIRE(parse_options(options, {"'f.txt', line 3", {"--a", "1"}}));
  CHECK(value == "1");
  for (const char* wrong : {"--b", "--help", "x"}) {
    CAPTURE(wrong);
    const auto parsed = parse_options(options, {"'f.txt', line 3", {wrong}});
    REQUIRE_FALSE(parsed);
    CHECK(contains(parsed.error().message, "'f.txt', line 3: "));
  }
}
