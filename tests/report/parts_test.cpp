// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"

#include <cubinet/report/parts.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::contains;

TEST_CASE("names are on one line and cut, times and numbers are short") {
  CHECK(shown_name("a\nb") == "a\\x0ab");
  CHECK(shown_name(std::string(100'000, 'k')).size() < 500);
  CHECK(name_html("<x>").markup() == "<bdi>&lt;x&gt;</bdi>");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(9'012'345) == "9,012,345");
  CHECK(format_utc(0) == "1970-01-01 00:00 UTC");
  CHECK(format_utc(1'795'758'420) == "2026-11-27 05:47 UTC");
  CHECK(format_utc(INT64_MAX) == "beyond the calendar");
  CHECK(format_percent(0) == "0 %");
  CHECK(format_percent(0.001) == "<1 %");
  CHECK(format_percent(0.999) == ">99 %");
  CHECK(format_percent(1) == "100 %");
  CHECK(format_percent(0.5) == "50 %");
  CHECK(format_number(1) == "1.00");
  CHECK(format_number(0.0012345) == "0.00123");
  CHECK(format_number(99.96) == "100");
  CHECK(format_number(12.34) == "12.3");
}

TEST_CASE("tiles state label, value and note, with a tone") {
  const Html tiles = fact_tiles({{"Builds", "17", "of <two>"}, {"Stale", "1", "", Tone::bad}});
  CHECK(tiles.markup() ==
        "<dl class=\"facts\"><div class=\"plain\"><dt>Builds</dt><dd>17</dd><dd class=\"note\">of "
        "&lt;two&gt;</dd></div>"
        "<div class=\"bad\"><dt>Stale</dt><dd>1</dd></div></dl>");
  CHECK(notice(Tone::warning, "text").markup() == "<p class=\"notice warning\">text</p>");
  CHECK(badge(Tone::good, "current").markup() == "<span class=\"badge good\">current</span>");
}

TEST_CASE("a chart is a table with a drawn bar for each row") {
  const std::string chart =
      bar_chart("Target", {"builds"}, {{"sm_90a", 0.5, {"3"}}, {"<sm>", 7, {"4"}}}).markup();
  CHECK(contains(chart, "<th scope=\"row\"><bdi>sm_90a</bdi></th>"));
  CHECK(contains(chart, "class=\"fill\" x=\"0.00%\" width=\"50.00%\""));
  CHECK(contains(chart, "class=\"fill\" x=\"0.00%\" width=\"100.00%\""));
  CHECK(contains(chart, "<bdi>&lt;sm&gt;</bdi>"));
  CHECK(contains(chart, "aria-hidden=\"true\""));
}

TEST_CASE("the bar of a ratio begins in the middle and never leaves the drawing") {
  CHECK(contains(ratio_bar(1, 4, Tone::plain).markup(), "class=\"fill\" x=\"50.00%\" width=\"0.00%\""));
  CHECK(contains(ratio_bar(2, 4, Tone::plain).markup(), "class=\"fill\" x=\"50.00%\" width=\"25.00%\""));
  CHECK(contains(ratio_bar(0.5, 4, Tone::plain).markup(), "class=\"fill\" x=\"25.00%\" width=\"25.00%\""));
  CHECK(contains(ratio_bar(1e9, 4, Tone::plain).markup(), "class=\"fill\" x=\"50.00%\" width=\"50.00%\""));
  CHECK(contains(ratio_bar(1e-9, 4, Tone::plain).markup(), "class=\"fill\" x=\"0.00%\" width=\"50.00%\""));
}

TEST_CASE("a huge number is short") {
  CHECK(format_number(1e308) == "1e+308");
  CHECK(format_number(-1e16) == "-1e+16");
  CHECK(format_number(123456) == "123456");
}

TEST_CASE("rows beyond the limit of a table are counted") {
  DataTable table("Cases", {{"Case"}});
  for (std::size_t i = 0; i < DataTable::kMaximumRows + 3; ++i)
    table.add({"x"});
  CHECK(table.html().markup().find("3 rows more are not listed.") != std::string::npos);
}

TEST_CASE("a table has scopes, a scrolling box that a keyboard reaches, and the numbers to sort by") {
  DataTable table("Rows", {{"Name"}, {"Size", true}}, "kernels", "A note.");
  table.add({"<a>", {"1.0 KiB", 1024}});
  CHECK(table.html().markup() ==
        "<h3>Rows</h3><div class=\"scroll\" role=\"region\" aria-label=\"Rows\" tabindex=\"0\">"
        "<table class=\"data kernels\"><caption>A note.</caption><thead><tr><th scope=\"col\">Name</th>"
        "<th scope=\"col\" class=\"number\">Size</th></tr></thead><tbody><tr><th scope=\"row\">&lt;a&gt;</th>"
        "<td class=\"number\" data-sort=\"1024\">1.0 KiB</td></tr></tbody></table></div>");
}
