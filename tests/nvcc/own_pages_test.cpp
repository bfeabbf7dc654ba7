// SPDX-License-Identifier: Apache-2.0
#include "own_pages.hpp"

#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/sources/option_table.hpp>

#include <doctest/doctest.h>

namespace cubinet::nvcc {
namespace {

using test::contains;
using test::ok;

std::string page(const std::vector<std::string>& arguments) {
  const auto text = ok(own_page(arguments));
  REQUIRE(text.has_value());
  return *text;
}

TEST_CASE("The help and the manual page list the own options, and the page those of nvcc") {
  const std::string manual = page({"--cubinet-manual"});
  for (const OwnOption& option : own_options()) {
    CAPTURE(std::string(option.name));
    CHECK(contains(page({"--cubinet-help"}), option.name));
    CHECK(contains(manual, option.meaning));
  }
  CHECK(contains(manual, ".TH CUBINET\\-NVCC 1"));
  CHECK(contains(manual, "\\-\\-gpu\\-architecture"));
  CHECK_FALSE(contains(manual, "\\-\\-device\\-link"));
}

TEST_CASE("Each shell completes every option of nvcc and of cubinet nvcc") {
  for (const char* shell : {"bash", "fish", "zsh"}) {
    CAPTURE(shell);
    const std::string script = page({"--cubinet-completion", shell});
    for (const NvccOption& option : option_table()) {
      CHECK(contains(script, option.long_name));
      CHECK(contains(script, option.short_name));
    }
    for (const OwnOption& option : own_options())
      CHECK(contains(script, option.name.substr(2)));
  }
  CHECK_FALSE(own_page({"--cubinet-completion", "tcsh"}).has_value());
}

TEST_CASE("A line of nvcc has no page, and an own option that does not exist is an error") {
  CHECK_FALSE(ok(own_page({})).has_value());
  CHECK_FALSE(ok(own_page({"-cubin", "--cubinet-help"})).has_value());
  CHECK_FALSE(ok(own_page({std::string(kPassedOption)})).has_value());
  CHECK_FALSE(own_page({"--cubinet-none"}).has_value());
  CHECK_FALSE(own_page({"--cubinet-help", "more"}).has_value());
  CHECK_FALSE(own_page({"--cubinet-completion"}).has_value());
}

}  // namespace
}  // namespace cubinet::nvcc
