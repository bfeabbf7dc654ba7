// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace cubinet;
using namespace cubinet::cli;

TEST_CASE("integers are decimal, whole and within their range") {
  CHECK(*parse_integer("0", "x", 0, 10) == 0);
  CHECK(*parse_integer("-5", "x", -10, 10) == -5);
  CHECK(*parse_integer("9223372036854775807", "x", 0, INT64_MAX) == INT64_MAX);
  for (const char* text :
       {"", " 1", "1 ", "+1", "1e3", "0x1", "eleven", "11", "-11", "9223372036854775808", "--1"}) {
    CAPTURE(text);
    const auto parsed = parse_integer(text, "--count", -10, 10);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::invalid_argument);
    CHECK(parsed.error().message.find("--count") != std::string::npos);
  }
}

TEST_CASE("sizes take a unit of powers of 1024 and do not overflow") {
  CHECK(*parse_size("1", "x") == 1);
  CHECK(*parse_size("512M", "x") == std::uint64_t{512} << 20);
  CHECK(*parse_size("2G", "x") == std::uint64_t{2} << 30);
  CHECK(*parse_size("3T", "x") == std::uint64_t{3} << 40);
  for (const char* text : {"", "M", "0", "-1G", "1.5G", "1GB", "1g", "99999999999T", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text, "x"));
  }
}

TEST_CASE("targets are split at commas, kept in order and listed once") {
  const auto targets = parse_targets({"sm_90a,sm_80", "sm_100f,sm_90a"});
  REQUIRE(targets);
  REQUIRE(targets->size() == 3);
  CHECK((*targets)[0].to_string() == "sm_90a");
  CHECK((*targets)[1].to_string() == "sm_80");
  CHECK((*targets)[2].to_string() == "sm_100f");
  for (const char* text : {"", ",", "sm_90a,", ",sm_90a", "sm_90a,,sm_80", "sm_101a", "sm_90f"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_targets({text}));
  }
}

TEST_CASE("a word that a shell would read otherwise is quoted") {
  CHECK(shell_quoted("a/b-1.cu") == "a/b-1.cu");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's $HOME") == "'it'\\''s $HOME'");
}

TEST_CASE("a repeated option takes one value at a time") {
  CLI::App app;
  std::vector<std::string> values;
  std::string name;
  add_list(app, "-p", values, "NAME=VALUE", "");
  app.add_option("NAME", name);
  app.parse("-p a=1 positional -p b=2,3");
  CHECK(values == std::vector<std::string>{"a=1", "b=2,3"});
  CHECK(name == "positional");
}
