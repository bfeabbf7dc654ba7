// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/base/utf8.hpp>
#include <cubinet/report/html.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace cubinet;
using test::contains;

// Only a literal names an element, and no text becomes markup.
static_assert(!std::is_constructible_v<HtmlElement, std::string>);
static_assert(!std::is_constructible_v<HtmlElement, std::string_view>);
static_assert(!std::is_convertible_v<Html, std::string>);
static_assert(!std::is_convertible_v<std::string, EmbeddedFile>);

namespace {

// Returns whether a text can stand in content and in an attribute and shows what it says.
bool is_inert(std::string_view text) {
  if (text.find_first_of("<>\"'") != std::string_view::npos) return false;
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at);
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
      known = known || rest.starts_with(entity);
    if (!known) return false;
  }
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0 || is_hidden(character.value)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

}  // namespace

TEST_CASE("every pair of bytes becomes inert text" * doctest::test_suite("loop")) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      REQUIRE_MESSAGE(is_inert(escaped_html(text)), first, " ", second);
      REQUIRE(is_inert(escaped_html("\xe2\x80" + text)));
      REQUIRE(is_inert(escaped_html("\xf0\x9f" + text)));
    }
  }
}

TEST_CASE("letters of every script are kept, and hidden characters are replaced") {
  CHECK(escaped_html("Zäh, 内核, \xf0\x9f\x98\x80") == "Zäh, 内核, \xf0\x9f\x98\x80");
  CHECK(escaped_html("a\nb") ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(escaped_html("\xe2\x80\xae") == "\xef\xbf\xbd");
  CHECK(escaped_html("\xef\xbf\xbe") == "\xef\xbf\xbd");  // U+FFFE
  CHECK(escaped_html("\xff") == "\xef\xbf\xbd");
  CHECK(escaped_html("<a href='x'>&") == "&lt;a href=&#39;x&#39;&gt;&amp;");
}

TEST_CASE("elements nest, and their content and attributes are escaped") {
  const Html cell =
      element("td", {{"class", "a\"b"}, {"aria-label", "<"}}, Html("1 < 2 ") + element("b", "x&y"));
  CHECK(cell.markup() == "<td class=\"a&quot;b\" aria-label=\"&lt;\">1 &lt; 2 <b>x&amp;y</b></td>");
  CHECK(link_to("\"><x", "there").markup() == "<a href=\"#&quot;&gt;&lt;x\">there</a>");
  CHECK(Html().empty());
}

TEST_CASE("hostile names are harmless as content and in an attribute") {
  for (const std::string& name : test::hostile_names()) {
    CAPTURE(name.substr(0, 40));
    const std::string markup = element("p", {{"id", name}}, name).markup();
    CHECK(is_inert(markup.substr(7, markup.find("\">") - 7)));
    CHECK(is_inert(markup.substr(markup.find("\">") + 2, markup.size() - markup.find("\">") - 6)));
  }
}

TEST_CASE("a document permits its own style and script and nothing else") {
  constexpr unsigned char kStyle[] = {'p', '{', '}'};
  constexpr unsigned char kScript[] = {'r', 'u', 'n', '(', ')'};
  const std::string page =
      html_document("<title>", {"style", kStyle, 3}, {"script", kScript, 5}, element("p", "text"));
  const auto source = [](std::string_view text) {
    return "'sha256-" + to_base64(sha256(as_bytes(text)).bytes) + "'";
  };
  CHECK(contains(page, "default-src 'none'; style-src " + source("p{}") + "; script-src " + source("run()") +
                           "; base-uri 'none'; form-action 'none'"));
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  CHECK(contains(page, "<title>&lt;title&gt;</title>"));
  CHECK(contains(page, "<body>\n<p>text</p>\n<script>run()</script>"));
}
