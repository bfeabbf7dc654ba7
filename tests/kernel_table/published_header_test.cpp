// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/published_header.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

const PublishedHeader* find(std::string_view hex) {
  const auto digest = Sha256Digest::parse(hex);
  REQUIRE(digest);
  return find_published_header(*digest);
}

TEST_CASE("published headers are known by their content, each with the layout of its kernel arguments") {
  const PublishedHeader* newest = find("f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418");
  REQUIRE(newest != nullptr);
  CHECK(newest->publisher == "flashinfer-cubin 0.6.13");
  CHECK(newest->argument_layout == "0.6.13");
  CHECK(newest->argument_bytes == 1280);
  const PublishedHeader* older = find("c9a1572617ab34e9073d9166c5673434651f47fcd9cadf9320a7c99d7c6b9627");
  REQUIRE(older != nullptr);
  CHECK(older->argument_layout == "0.6.2");
  CHECK(older->argument_bytes == 1152);
  const PublishedHeader* oldest = find("2f605255e71d673768f5bece66dde9e2e9f4c873347bfe8fefcffbf86a3c847d");
  REQUIRE(oldest != nullptr);
  CHECK(oldest->argument_layout == "0.4.0");
  CHECK(oldest->argument_bytes == 1088);
}

TEST_CASE("a header that differs in one bit is not known") {
  CHECK(find("f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b419") == nullptr);
  CHECK(find_published_header(Sha256Digest{}) == nullptr);
}

TEST_CASE("a pin is named by its beginning, and by the version that published it") {
  const char* pin = "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418";
  for (const char* text : {"f", "f6781dfd", pin, "0.6.13", "flashinfer-cubin 0.6.13"})
    CHECK(names_pin(text, pin));
  for (const char* text : {"", "6781", "0.6.1", ".13", "flashinfer-cubin", "0.6.2"})
    CHECK_FALSE(names_pin(text, pin));
  CHECK_FALSE(names_pin("0.6.13", "abc"));
}

TEST_CASE("a header that nobody has seen is known by the list of its folder") {
  const auto list = Sha256Digest::parse("d79b5c51fc8597fac57dae0da4afa114fb2014575e4ec3df099ad856d97cabc3");
  REQUIRE(list);
  const PublishedHeader* header = find_published_list(*list);
  REQUIRE(header != nullptr);
  CHECK(header->sha256.empty());
  CHECK(header->argument_layout == "0.7.2");
  CHECK(header->argument_bytes == 1408);
  CHECK(header->rules == "0.7.2.post1");
  CHECK(find_published_list(Sha256Digest{}) == nullptr);
  CHECK(find_published_header(std::string_view()) == nullptr);
}

TEST_CASE("the header of a row is found by its pin, or else by its layout") {
  KernelRow row;
  CHECK(find_published_header(row) == nullptr);
  row.pin = std::string(64, 'a');
  CHECK(find_published_header(row) == nullptr);
  row.layout = "0.7.2";
  REQUIRE(find_published_header(row) != nullptr);
  CHECK(find_published_header(row)->publisher == "flashinfer-cubin 0.7.2");
  row.pin = "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418";
  CHECK(find_published_header(row)->publisher == "flashinfer-cubin 0.6.13");
}

}  // namespace
}  // namespace cubinet
