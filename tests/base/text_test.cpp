// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("words are joined, empty ones too") {
  CHECK(join({"a", "b"}) == "a, b");
  CHECK(join({"", "b"}, "/") == "/b");
  CHECK(join({}).empty());
}

TEST_CASE("one has no plural") {
  CHECK(plural(1, "kernel") == "1 kernel");
  CHECK(plural(0, "kernel") == "0 kernels");
  CHECK(plural(2, "entry") == "2 entries");
  CHECK(plural(4, "day") == "4 days");
}

TEST_CASE("the nearest name comes first") {
  CHECK(nearest_first({"mask", "head_dim", "rows"}, "head_dmi").front() == "head_dim");
  CHECK(nearest_first({"b", "a"}, "c") == std::vector<std::string>{"a", "b"});
  CHECK(nearest_first({}, "c").empty());
}

TEST_CASE("names that are near or hold what was asked are offered, and no others") {
  const std::vector<std::string> names = {"head_dim_qk", "head_dim_v", "page_size", "window"};
  CHECK(nearest_names("hed_dim_qk", names).front() == "head_dim_qk");
  CHECK(nearest_names("shwo", {"list", "show"}) == std::vector<std::string>{"show"});
  CHECK(nearest_names("page", names) == std::vector<std::string>{"page_size"});
  CHECK(nearest_names("zzzzzzzzz", names).empty());
  CHECK(nearest_names("", names).empty());
  CHECK(nearest_names(std::string(100'000, 'x'), names).empty());
}

TEST_CASE("text from outside drives no terminal and forges no line") {
  CHECK(printable("a\nb\t\x1b[31m\x7f") == "a\\x0ab\\x09\\x1b[31m\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m \x9b") == "\\xc2\\x9b31m \\x9b");
  CHECK(printable("caf\xc3\xa9 \xe2\x82\x9b") == "caf\xc3\xa9 \xe2\x82\x9b");
  CHECK(printable_lines("a\n\tb\r\x1b") == "a\n\tb\\x0d\\x1b");
  // Bidirectional controls, a line separator, a byte order mark, a tag.
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a\\xe2\\x80\\xaeb");
  CHECK(printable("\xe2\x81\xa6\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81") ==
        "\\xe2\\x81\\xa6\\xe2\\x80\\xa8\\xef\\xbb\\xbf\\xf3\\xa0\\x81\\x81");
  CHECK(is_printable("\xf0\x9f\x9a\x80 \xe4\xb8\xad"));
  CHECK(is_printable("caf\xc3\xa9"));
  CHECK_FALSE(is_printable("a\nb"));
}

TEST_CASE("what is no UTF 8 is shown byte by byte") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");  // an overlong encoding
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a surrogate pair
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above the last character
  CHECK(printable("a\xe2\x82") == "a\\xe2\\x82");                  // truncated
  CHECK(printable("\xc3(") == "\\xc3(");
  CHECK(printable("\xa9") == "\\xa9");
}

TEST_CASE("JSON keeps its meaning and holds nothing that a terminal obeys") {
  CHECK(printable_json("{\n  \"a\": \"caf\xc3\xa9\"\n}") == "{\n  \"a\": \"caf\xc3\xa9\"\n}");
  CHECK(printable_json("\"\xc2\x9b\x7f\"") == "\"\\u009b\\u007f\"");
  CHECK(printable_json("\"\xe2\x80\xae\"") == "\"\\u202e\"");
  CHECK(printable_json("\"\xf3\xa0\x81\x81\"") == "\"\\udb40\\udc41\"");
  CHECK(printable_json("\"\xff\"") == "\"\\ufffd\"");
}

TEST_CASE("long text is cut where it is asked to be") {
  CHECK(printable(std::string(500, 'x'), 120) == std::string(120, 'x') + "...");
  CHECK(printable("abc", 3) == "abc");
  CHECK(printable("ab\xe2\x82\x9b"
                  "c",
                  4) == "ab...");
  CHECK(printable("ab\xe2\x82\x9b"
                  "c",
                  5) == "ab\xe2\x82\x9b...");
}

}  // namespace
}  // namespace cubinet
