// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/transport/url.hpp>

using namespace cubinet;
using test::contains;
using test::ok;

TEST_CASE("a URL falls into its parts, and is written as it was") {
  const Url url = ok(Url::parse("HTTPS://Example.ORG:8443/a/b%20c?x=1&y=%2F"));
  CHECK(url.scheme == "https");
  CHECK(url.host == "example.org");
  CHECK(url.port == 8443);
  CHECK(url.path == "/a/b%20c");
  CHECK(url.query == "x=1&y=%2F");
  CHECK(url.to_string() == "https://example.org:8443/a/b%20c?x=1&y=%2F");
  CHECK(url.for_people() == "https://example.org:8443/a/b%20c");
}

TEST_CASE("the port of the scheme is not written, and a path is there always") {
  const Url url = ok(Url::parse("https://example.org:443"));
  CHECK(url.to_string() == "https://example.org/");
  CHECK(url.authority() == "example.org");
  CHECK(ok(Url::parse("http://example.org:443")).authority() == "example.org:443");
  CHECK(ok(Url::parse("http://[::1]:80/x")).authority() == "[::1]");
  CHECK(ok(Url::parse("http://[::1]/x#part")).path == "/x");
  CHECK(ok(Url::parse("https://h?q")).query == "q");
}

TEST_CASE("what cannot be asked is no URL, and its password is not told") {
  for (const std::string bad :
       {"", "example.org", "ftp://example.org/", "https://", "https:///x", "https://a b/", "https://a/\x80",
        "https://a:0/", "https://a:65536/", "https://a:/", "https://a:1x/", "https://[::1/", "https://[]/",
        "https://a\\b/", "https://a/<", "javascript://a", "https://user:hunter2@a/", "https://user@a/?q=1"}) {
    CAPTURE(bad);
    const auto url = Url::parse(bad);
    REQUIRE_FALSE(url);
    CHECK(url.error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(contains(url.error().to_line(), "hunter2"));
  }
  CHECK_FALSE(Url::parse("https://a/" + std::string(9000, 'x')));
}

TEST_CASE("a location is taken beside the URL that it came from") {
  const Url from = ok(Url::parse("https://example.org/v2/name/blobs/uploads/?state=1"));
  const auto resolved = [&](const char* location) { return ok(from.resolve(location)).to_string(); };
  CHECK(resolved("https://other:5000/x?y#z") == "https://other:5000/x?y");
  CHECK(resolved("//other/x") == "https://other/x");
  CHECK(resolved("/v2/x?digest=a:b") == "https://example.org/v2/x?digest=a:b");
  CHECK(resolved("abc?_state=/x") == "https://example.org/v2/name/blobs/uploads/abc?_state=/x");
  CHECK(resolved("../abc") == "https://example.org/v2/name/blobs/abc");
  CHECK(resolved("/../../a/./b/../c") == "https://example.org/a/c");
  CHECK(resolved("..") == "https://example.org/v2/name/blobs/");
  CHECK(resolved("?state=2") == "https://example.org/v2/name/blobs/uploads/?state=2");
  CHECK(resolved("") == from.to_string());
  CHECK_FALSE(from.resolve("ftp://x/"));
  CHECK_FALSE(from.resolve("/a b"));
  CHECK_FALSE(from.resolve("javascript:alert"));
}

TEST_CASE("an origin is scheme, host and port") {
  const Url url = ok(Url::parse("https://example.org/a"));
  CHECK(url.has_origin_of(ok(Url::parse("https://EXAMPLE.org:443/b?c"))));
  CHECK_FALSE(url.has_origin_of(ok(Url::parse("http://example.org:443/a"))));
  CHECK_FALSE(url.has_origin_of(ok(Url::parse("https://example.org:444/a"))));
  CHECK_FALSE(url.has_origin_of(ok(Url::parse("https://www.example.org/a"))));
}

TEST_CASE("percent encoding leaves the unreserved alone") {
  CHECK(percent_encode("aZ09-._~/ +:\xc3\xa9", Slashes::stay) == "aZ09-._~/%20%2B%3A%C3%A9");
  CHECK(percent_encode("a/b", Slashes::encoded) == "a%2Fb");
  CHECK(ok(Url::parse("https://h/a")).below("b/c").path == "/a/b/c");
  CHECK(ok(Url::parse("https://h/a/")).below("b").path == "/a/b");
}
