// SPDX-License-Identifier: Apache-2.0
#include "embedded_assets.hpp"
#include "hostile.hpp"

#include <cubinet/report/page.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace cubinet;
using test::contains;

namespace {

std::string asset(std::string_view name) {
  for (const EmbeddedFile& file : embedded_report_assets())
    if (file.name == name) return std::string(file.text());
  FAIL("no asset ", name);
  return {};
}

// Returns the colours of the first block of the style after `beginning`.
std::map<std::string, std::string> colours_after(const std::string& style, std::string_view beginning) {
  std::map<std::string, std::string> colours;
  const std::size_t begin = style.find(beginning);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = style.find('}', begin);
  for (std::size_t at = style.find("--", begin); at < end; at = style.find("--", at + 2)) {
    const std::size_t colon = style.find(':', at);
    const std::size_t semicolon = style.find(';', colon);
    colours[style.substr(at + 2, colon - at - 2)] = style.substr(colon + 2, semicolon - colon - 2);
  }
  return colours;
}

// Returns the relative luminance that WCAG 2 defines, of "#rrggbb".
double luminance(const std::string& colour) {
  REQUIRE(colour.size() == 7);
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

double contrast(const std::string& a, const std::string& b) {
  const double first = luminance(a);
  const double second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

}  // namespace

TEST_CASE("one section has no list of links, and several have one with their titles") {
  const std::string one = report_page({{"Home", "/h<1>", "content"}}, 0);
  CHECK(contains(one, "<title>Home /h&lt;1&gt; – cubinet</title>"));
  CHECK(contains(one, "Made 1970-01-01 00:00 UTC"));
  CHECK(contains(one, "<section id=\"section-1\" aria-labelledby=\"section-1-title\">"));
  CHECK_FALSE(contains(one, "<nav"));
  const std::string two = report_page({{"Home", "a", {}}, {"Bundle", "<b>", {}}}, 0);
  CHECK(contains(two, "<title>Report on 2 subjects"));
  CHECK(contains(two, "<a href=\"#section-2\"><span>Bundle</span> <bdi>&lt;b&gt;</bdi></a>"));
}

TEST_CASE("hostile titles are harmless") {
  for (const std::string& name : test::hostile_names())
    CHECK(test::is_harmless(report_page({{"Home", name, {}}, {"Bundle", name, {}}}, 0)));
}

TEST_CASE("style and script end where they should, and name nothing outside of the page") {
  const std::string style = asset("report.css");
  const std::string script = asset("report.js");
  for (const std::string& text : {style, script}) {
    CHECK_FALSE(contains(text, "</"));
    CHECK_FALSE(contains(text, "<!--"));
    CHECK_FALSE(contains(text, "http"));
    CHECK_FALSE(contains(text, "@import"));
    CHECK_FALSE(contains(text, "url("));
  }
  for (const char* sink :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval", "Function("})
    CHECK_FALSE(contains(script, sink));
}

TEST_CASE("text has a contrast of at least 4 and a half, light, dark and printed") {
  const std::string style = asset("report.css");
  const auto light = colours_after(style, ":root");
  for (const char* theme : {":root", "prefers-color-scheme: dark", "@media print"}) {
    CAPTURE(theme);
    auto colours = light;
    for (const auto& [name, colour] : colours_after(style, theme))
      colours[name] = colour.size() == 4 ? std::string("#") + colour[1] + colour[1] + colour[2] + colour[2] +
                                               colour[3] + colour[3]
                                         : colour;
    for (const char* text : {"text", "soft", "accent", "good", "warning", "bad"}) {
      for (const char* back : {"page", "card", "plain-back"}) {
        CAPTURE(text);
        CAPTURE(back);
        CHECK(contrast(colours[text], colours[back]) >= 4.5);
      }
    }
    for (const char* tone : {"good", "warning", "bad"}) {
      CAPTURE(tone);
      CHECK(contrast(colours[tone], colours[std::string(tone) + "-back"]) >= 4.5);
    }
  }
}
