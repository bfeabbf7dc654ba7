// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/transport/http_message.hpp>

using namespace cubinet;
using test::contains;
using test::ok;

TEST_CASE("a header is found in whatever case it is written") {
  const HttpHeaders headers{{"ETag", "a"}, {"etag", "b"}};
  REQUIRE(find_header(headers, "ETAG") != nullptr);
  CHECK(*find_header(headers, "ETAG") == "a");
  CHECK(find_header(headers, "ETags") == nullptr);
  CHECK(find_header(headers, "") == nullptr);
}

TEST_CASE("a source in memory is read in chunks from any offset") {
  MemorySource source(as_bytes("abcdef"));
  Bytes chunk(4);
  CHECK(source.size() == 6);
  CHECK(ok(source.read(3, chunk)) == 3);
  CHECK(as_text(ByteView(chunk).first(3)) == "def");
  CHECK(ok(source.read(6, chunk)) == 0);
  CHECK(ok(source.read(600, chunk)) == 0);
}

TEST_CASE("a refusal quotes its status and a short printable beginning, and no query") {
  HttpResponse response;
  response.status = 403;
  response.url = Url{"https", "host", 443, "/path", "token=secret"};
  response.refusal = "<html>\x1b[31m\n" + std::string(5000, 'x');
  const Error error = refusal_error("the blob cannot be read", response);
  CHECK(error.code == ErrorCode::unavailable);
  CHECK(error.native == 403);
  CHECK(contains(error.message,
                 "the blob cannot be read: https://host/path answered with status 403 ('<html>\\x1b"));
  CHECK_FALSE(contains(error.message, "secret"));
  CHECK(error.message.size() < 300);
  CHECK_FALSE(error.remedy.empty());
  response.status = 404;
  CHECK(refusal_error("x", response).code == ErrorCode::not_found);
}

TEST_CASE("credentials are headers") {
  CHECK(basic_authorization({"Aladdin", "open sesame"}).value == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  CHECK(bearer_authorization("abc").value == "Bearer abc");
}
