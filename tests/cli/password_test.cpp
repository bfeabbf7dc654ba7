// SPDX-License-Identifier: Apache-2.0
#include "password.hpp"

#include "support/ok.hpp"
#include "tool.hpp"

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

std::string password_of(const std::string& content) {
  const Sandbox sandbox;
  sandbox.write("password", content);
  const auto password = ok(read_password(*posix_file_system(), sandbox.path("password")));
  REQUIRE(password);
  return std::string(password->text());
}

}  // namespace

TEST_CASE("a password is the first line of its file") {
  CHECK(password_of("secret") == "secret");
  CHECK(password_of("secret\n") == "secret");
  CHECK(password_of("secret\r\nmore\n") == "secret");
  CHECK(password_of(" two words \n") == " two words ");
  CHECK(password_of(std::string(4096, 'x')) == std::string(4096, 'x'));
  CHECK_FALSE(ok(read_password(*posix_file_system(), "")));
}

TEST_CASE("an empty and a huge password are errors") {
  const Sandbox sandbox;
  const auto files = posix_file_system();
  for (const std::string& content :
       {std::string(), std::string("\nsecret"), std::string(4097, 'x'), std::string(9000, 'x')}) {
    sandbox.write("password", content);
    CHECK(read_password(*files, sandbox.path("password")).error().code == ErrorCode::invalid_argument);
  }
  CHECK(read_password(*files, sandbox.path("nothing")).error().code == ErrorCode::not_found);
}
