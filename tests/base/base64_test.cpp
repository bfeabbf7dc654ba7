// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/base64.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("base64 is that of RFC 4648 in both directions") {
  const std::pair<std::string_view, std::string_view> pairs[] = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : pairs) {
    CHECK(to_base64(as_bytes(plain)) == coded);
    const auto decoded = from_base64(coded);
    REQUIRE(decoded);
    CHECK(as_text(*decoded) == plain);
  }
  Bytes all(256);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::byte>(i);
  CHECK(*from_base64(to_base64(all)) == all);
}

TEST_CASE("of several texts for the same bytes base64 takes one") {
  for (const std::string_view text :
       {"Zh==", "Zm9=", "Zg", "Zg=", "Zg===", "Zg==\n", " Zg==", "Z g=", "Zg==Zg==", "====", "=",
        "Z===", "Zm9v\n", "Zm8-", "Zm8_", "Zm\0=", "Zg\xc3\xa9="}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text));
  }
}

TEST_CASE("every text of four characters is refused or is what its bytes give") {
  constexpr std::string_view kSome = "Aa0+/=gwQ-";
  for (std::size_t n = 0; n < 10000; ++n) {
    const std::string text = {kSome[n % 10], kSome[n / 10 % 10], kSome[n / 100 % 10], kSome[n / 1000]};
    if (const auto bytes = from_base64(text)) CHECK(to_base64(*bytes) == text);
  }
}
