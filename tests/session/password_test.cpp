// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/password.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::string password_of(const std::string& content) {
  const TempDir temp;
  write_file(temp / "password", content);
  const auto password = ok(read_password(*posix_file_system(), (temp / "password").string()));
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
  const TempDir temp;
  const auto files = posix_file_system();
  for (const std::string& content :
       {std::string(), std::string("\nsecret"), std::string(4097, 'x'), std::string(9000, 'x')}) {
    write_file(temp / "password", content);
    CHECK(read_password(*files, (temp / "password").string()).error().code == ErrorCode::invalid_argument);
  }
  CHECK(read_password(*files, (temp / "nothing").string()).error().code == ErrorCode::not_found);
}
