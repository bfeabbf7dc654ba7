// SPDX-License-Identifier: Apache-2.0
#include "manifest_values.hpp"

#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

// Calls `read` with the object of this text and its member "m".
template <class Read>
auto read_member(const std::string& text, const Read& read) {
  const JsonValue value = ok(parse_json(text));
  JsonObject object = ok(JsonObject::open(value, "o"));
  return read(object, "m");
}

TEST_CASE("Extents are three numbers of 32 bits") {
  CHECK(ok(read_member(R"({"m": [1, 0, 4294967294]})", read_extents)) ==
        std::array<std::uint32_t, 3>{1, 0, 4294967294U});
  for (const char* text : {R"({"m": [1, 2]})", R"({"m": [1, 2, 3, 4]})", R"({"m": [1, 2, -1]})",
                           R"({"m": 3})", R"({"m": [1, 2, "3"]})", R"({"m": [1, 2, 4294967295]})", "{}"}) {
    CAPTURE(text);
    CHECK_FALSE(read_member(text, read_extents).has_value());
  }
}

TEST_CASE("A number of bytes is one of 32 bits, and not the one that means the default") {
  CHECK(ok(read_member(R"({"m": 232448})", read_bytes)) == 232448);
  CHECK_FALSE(read_member(R"({"m": 4294967295})", read_bytes).has_value());
  CHECK_FALSE(read_member(R"({"m": -1})", read_bytes).has_value());
}

TEST_CASE("Texts may be missing and must be strings") {
  CHECK(ok(read_member("{}", read_texts)).empty());
  CHECK(ok(read_member(R"({"m": ["a", "b"]})", read_texts)) == std::vector<std::string>{"a", "b"});
  CHECK(read_member(R"({"m": ["a", 1]})", read_texts).error().message ==
        "o: 'm' has an item that is no string");
}

TEST_CASE("A listed file has a path and a digest") {
  const JsonValue value = ok(parse_json(R"({"path": "a", "sha256": "12"})"));
  JsonObject object = ok(JsonObject::open(value, "o"));
  CHECK(read_listed_file(object).error().message == "o: 'sha256' is no SHA-256");
}

TEST_CASE("A target is one of the known targets") {
  CHECK(ok(read_member(R"({"m": "sm_103a"})", read_target)).to_string() == "sm_103a");
  CHECK_FALSE(read_member(R"({"m": "sm_83"})", read_target).has_value());
}

}  // namespace
}  // namespace cubinet
