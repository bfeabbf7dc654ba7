// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/error.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <set>
#include <string>

namespace cubinet {
namespace {

TEST_CASE("every error code has a name of its own") {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    names.insert(to_string(static_cast<ErrorCode>(code)));
  }
  CHECK(names.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);
}

TEST_CASE("one line holds the message and the remedy") {
  CHECK(Error{ErrorCode::io, "it failed"}.to_line() == "it failed");
  CHECK(Error{ErrorCode::io, "it failed", "try again"}.to_line() == "it failed (try again)");
}

TEST_CASE("an error of the system carries its number and text") {
  const Error error = io_error("cannot open 'x'", ENOENT, "create it");
  CHECK(error.code == ErrorCode::io);
  CHECK(error.native == ENOENT);
  CHECK(error.message == "cannot open 'x': No such file or directory");
  CHECK(error.remedy == "create it");
}

}  // namespace
}  // namespace cubinet
