// SPDX-License-Identifier: Apache-2.0
#include "response_body.hpp"

#include "support/ok.hpp"

using namespace cubinet;
using test::ok;

namespace {

struct Asked {
  Asked() { request.sink = &sink; }
  std::string text() const { return std::string(as_text(sink.bytes)); }

  MemorySink sink;
  HttpRequest request{HttpMethod::get, Url{"https", "host", 443}, {}, nullptr, {}, {}, 100};
};

std::string value_of(const HttpHeaders& headers, std::string_view name) {
  const std::string* value = find_header(headers, name);
  return value == nullptr ? "" : *value;
}

HttpHeaders part_of(const std::string& range, const std::string& etag = "\"a\"") {
  return {{"Content-Range", range}, {"ETag", etag}};
}

}  // namespace

TEST_CASE("a content range is two positions and a whole that holds them") {
  const auto range = parse_content_range("bytes 2-5/10");
  REQUIRE(range);
  CHECK(range->first == 2);
  CHECK(range->last == 5);
  CHECK(range->whole == 10);
  CHECK_FALSE(parse_content_range("bytes 0-0/*")->whole);
  for (const char* bad :
       {"", "bytes", "bytes */10", "bytes 5-2/10", "bytes 2-10/10", "bytes -5/10", "bytes 2-/10",
        "items 2-5/10", "bytes 2-5", "bytes 2-5/", "bytes 2-5/x", "bytes 2/5-10",
        "bytes 0-18446744073709551615/*", "bytes 99999999999999999999-1/2"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_content_range(bad));
  }
}

TEST_CASE("what has come is kept where a strong tag proves that the rest is of the same") {
  Asked asked;
  ResponseBody body(asked.request);
  CHECK(ok(body.ask()).empty());
  CHECK(ok(body.begin(200, {{"Content-Length", "6"}, {"ETag", "\"a\""}})));
  ok(body.write(as_bytes("abc")));
  CHECK_FALSE(body.is_whole());
  const HttpHeaders second = ok(body.ask());
  CHECK(value_of(second, "Range") == "bytes=3-");
  CHECK(value_of(second, "If-Range") == "\"a\"");
  CHECK(ok(body.begin(206, part_of("bytes 3-5/6"))));
  ok(body.write(as_bytes("def")));
  CHECK(body.is_whole());
  CHECK(asked.text() == "abcdef");
}

TEST_CASE("a weak tag proves nothing, so all is asked for again") {
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(ok(body.begin(200, {{"Content-Length", "6"}, {"ETag", "W/\"a\""}})));
  ok(body.write(as_bytes("abc")));
  CHECK(ok(body.ask()).empty());
  CHECK(asked.text().empty());
}

TEST_CASE("a whole body where a part was asked for begins at the start") {
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(ok(body.begin(200, {{"Content-Length", "6"}, {"ETag", "\"a\""}})));
  ok(body.write(as_bytes("abc")));
  ok(body.ask());
  CHECK(ok(body.begin(200, {{"Content-Length", "4"}, {"ETag", "\"b\""}})));
  ok(body.write(as_bytes("wxyz")));
  CHECK(body.is_whole());
  CHECK(asked.text() == "wxyz");
}

TEST_CASE("the rest of something else is not taken for the rest of this") {
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(ok(body.begin(200, {{"Content-Length", "6"}, {"ETag", "\"a\""}})));
  ok(body.write(as_bytes("abc")));
  ok(body.ask());
  CHECK_FALSE(ok(body.begin(206, part_of("bytes 3-5/6", "\"b\""))));
  CHECK(asked.text().empty());
  CHECK(ok(body.ask()).empty());
}

TEST_CASE("a range is cut out of a whole body, and what follows is not wanted") {
  Asked asked;
  asked.request.range = HttpRange{2, 3};
  ResponseBody body(asked.request);
  CHECK(value_of(ok(body.ask()), "Range") == "bytes=2-4");
  CHECK(ok(body.begin(200, {{"Content-Length", "8"}})));
  ok(body.write(as_bytes("a")));
  ok(body.write(as_bytes("bcd")));
  CHECK_FALSE(body.has_enough());
  ok(body.write(as_bytes("efgh")));
  CHECK(body.has_enough());
  CHECK(asked.text() == "cde");
}

TEST_CASE("a body of unknown length is not read beyond the size that is expected") {
  for (const bool announced : {false, true}) {
    Asked asked;
    asked.request.expected_size = 4;
    ResponseBody body(asked.request);
    ok(body.ask());
    CHECK(ok(body.begin(200, announced ? HttpHeaders{{"Content-Length", "4"}} : HttpHeaders{})));
    ok(body.write(as_bytes("abc")));
    CHECK_FALSE(body.has_enough());
    ok(body.write(as_bytes("d")));
    CHECK(body.has_enough() == !announced);  // the connection is used again if the body has an end
    CHECK(body.is_whole());
    CHECK_FALSE(body.write(as_bytes("e")));
  }
}

TEST_CASE("a part of a range is asked for from where it broke off") {
  Asked asked;
  asked.request.range = HttpRange{10, 6};
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(ok(body.begin(206, part_of("bytes 10-15/100"))));
  ok(body.write(as_bytes("ab")));
  CHECK_FALSE(body.is_whole());
  CHECK(value_of(ok(body.ask()), "Range") == "bytes=12-15");
  CHECK(ok(body.begin(206, part_of("bytes 12-15/100"))));
  ok(body.write(as_bytes("cdef")));
  CHECK(body.is_whole());
}

TEST_CASE("other bytes than were asked for are refused") {
  for (const std::string range :
       {"bytes 0-5/100", "bytes 11-15/100", "bytes 10-16/100", "bytes 10-99/100", "nonsense", ""}) {
    CAPTURE(range);
    Asked asked;
    asked.request.range = HttpRange{10, 6};
    ResponseBody body(asked.request);
    ok(body.ask());
    const auto begun = body.begin(206, part_of(range));
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == ErrorCode::corruption);
  }
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK_FALSE(body.begin(206, part_of("bytes 0-5/6")));
}

TEST_CASE("a size that is not the expected one is told before a byte is read") {
  Asked asked;
  asked.request.expected_size = 10;
  ResponseBody body(asked.request);
  ok(body.ask());
  const auto begun = body.begin(200, {{"Content-Length", "5"}});
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == ErrorCode::corruption);
  CHECK(begun.error().message.find("5 bytes, where it should have 10") != std::string::npos);
}

TEST_CASE("a body without a length is whole at the expected size, and no byte behind it is taken") {
  Asked asked;
  asked.request.expected_size = 4;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(ok(body.begin(200, {})));
  ok(body.write(as_bytes("ab")));
  CHECK_FALSE(body.is_whole());
  ok(body.write(as_bytes("cd")));
  CHECK(body.is_whole());
  CHECK(body.write(as_bytes("e")).error().code == ErrorCode::corruption);
  CHECK(asked.text() == "abcd");
}

TEST_CASE("a body above the limit is refused by its length, or where it goes over") {
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK(body.begin(200, {{"Content-Length", "101"}}).error().code == ErrorCode::corruption);
  ok(body.ask());
  CHECK(ok(body.begin(200, {})));
  ok(body.write(Bytes(100)));
  CHECK(body.write(Bytes(1)).error().code == ErrorCode::corruption);
}

TEST_CASE("a range behind the end is told with the size that there is") {
  Asked asked;
  asked.request.range = HttpRange{8, 4};
  for (const auto& [status, headers] : std::vector<std::pair<int, HttpHeaders>>{
           {200, {{"Content-Length", "10"}}}, {206, {{"Content-Range", "bytes 8-9/10"}}}}) {
    ResponseBody body(asked.request);
    ok(body.ask());
    const auto begun = body.begin(status, headers);
    REQUIRE_FALSE(begun);
    CHECK(begun.error().message.find("has 10 bytes") != std::string::npos);
  }
}

TEST_CASE("a body that was packed for the way is refused") {
  Asked asked;
  ResponseBody body(asked.request);
  ok(body.ask());
  CHECK_FALSE(body.begin(200, {{"content-encoding", "gzip"}}));
  CHECK(ok(body.begin(200, {{"content-encoding", "identity"}})));
}
