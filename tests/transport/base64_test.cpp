// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"

#include "support/ok.hpp"

using namespace cubinet;
using test::ok;

TEST_CASE("base64 is that of the RFC, both ways") {
  for (const auto& [plain, packed] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {"\xff\xfe\xfd", "//79"}}) {
    CHECK(to_base64(as_bytes(plain)) == packed);
    CHECK(ok(from_base64(packed)) == plain);
  }
}

TEST_CASE("what is no base64 is refused, and not quoted") {
  for (const std::string bad : {"Zg=", "Zg", "Z===", "====", "Zm9v\n", "Zm 9", "Z=9v", "-_8="}) {
    const auto plain = from_base64(bad);
    REQUIRE_FALSE(plain);
    CHECK(plain.error().code == ErrorCode::invalid_argument);
    CHECK(plain.error().to_line().find(bad) == std::string::npos);
  }
}
