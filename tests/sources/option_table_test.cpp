// SPDX-License-Identifier: Apache-2.0
#include <cubinet/sources/option_table.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace cubinet {
namespace {

TEST_CASE("Two dashes precede the long name of an option, and one the short name") {
  REQUIRE(find_option("--gpu-architecture=sm_90a").option != nullptr);
  CHECK(find_option("--gpu-architecture=sm_90a").value == "sm_90a");
  CHECK(find_option("-arch=sm_90a").option == find_option("--gpu-architecture").option);
  // nvcc 13.0 refuses these two as unknown.
  CHECK(find_option("-gpu-architecture=sm_90a").option == nullptr);
  CHECK(find_option("--arch=sm_90a").option == nullptr);
}

TEST_CASE("A value may follow some letters directly") {
  const WrittenOption defined = find_option("-DN=4");
  REQUIRE(defined.option != nullptr);
  CHECK(defined.option->role == OptionRole::define);
  CHECK(defined.value == "N=4");
  CHECK(find_option("-I/usr/include").value == "/usr/include");
  CHECK(find_option("-O3").value == "3");
}

TEST_CASE("An option whose name begins with such a letter is not taken for its value") {
  CHECK(find_option("-lineinfo").option->role == OptionRole::nvrtc);
  CHECK(find_option("-lto").option->role == OptionRole::pass);
  CHECK(find_option("-Ofc=max").option->long_name == "Ofast-compile");
  CHECK(find_option("-Ofast-compile=max").option == nullptr);
  CHECK(find_option("-optf").option->role == OptionRole::pass);
}

TEST_CASE("An option without a value differs from one with an empty value") {
  CHECK_FALSE(find_option("-o").has_value);
  CHECK(find_option("-o=").has_value);
}

TEST_CASE("No name stands twice in the table, and each option for nvcc has a reason") {
  std::set<std::string_view> long_names;
  std::set<std::string_view> short_names;
  for (const NvccOption& option : option_table()) {
    CAPTURE(std::string(option.long_name));
    CHECK(long_names.insert(option.long_name).second);
    CHECK(short_names.insert(option.short_name).second);
    CHECK((option.role == OptionRole::pass || option.role == OptionRole::macro) == !option.detail.empty());
  }
}

}  // namespace
}  // namespace cubinet
