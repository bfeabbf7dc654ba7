// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/report/parts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace cubinet {
namespace {

constexpr std::size_t kNameBytes = 400;

std::string class_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::warning:
      return "warning";
    case Tone::bad:
      return "bad";
    case Tone::plain:
      return "plain";
  }
  return "plain";
}

std::string percent(double share) {
  return fmt::format("{:.2f}%", 100 * std::clamp(share, 0.0, 1.0));
}

Html rect(const std::string& kind, double x, double width) {
  return element(
      "rect",
      {{"class", kind}, {"x", percent(x)}, {"width", percent(width)}, {"height", "100%"}, {"rx", "2"}}, {});
}

Html drawing(const std::string& kind, const Html& content) {
  return element("svg", {{"class", kind}, {"width", "100%"}, {"height", "12"}, {"aria-hidden", "true"}},
                 content);
}

}  // namespace

std::string shown_name(std::string_view name) {
  return printable(name, kNameBytes);
}

Html name_html(std::string_view name) {
  return element("bdi", shown_name(name));
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

std::string format_utc(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "beyond the calendar";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", 1900LL + parts.tm_year, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

std::string format_percent(double share) {
  if (share > 0 && share < 0.01) return "<1 %";
  if (share > 0.99 && share < 1) return ">99 %";
  return fmt::format("{:.0f} %", 100 * share);
}

std::string format_number(double value) {
  const double size = std::fabs(value);
  if (!(size < 1e15)) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.0995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

Html fact_tiles(const std::vector<Fact>& facts) {
  Html tiles;
  for (const Fact& fact : facts) {
    Html value = element("dd", fact.value);
    if (!fact.note.empty()) value += element("dd", {{"class", "note"}}, fact.note);
    tiles += element("div", {{"class", class_of(fact.tone)}}, element("dt", fact.label) + value);
  }
  return element("dl", {{"class", "facts"}}, tiles);
}

Html notice(Tone tone, const Html& text) {
  return element("p", {{"class", "notice " + class_of(tone)}}, text);
}

Html badge(Tone tone, const std::string& word) {
  return element("span", {{"class", "badge " + class_of(tone)}}, word);
}

Html bar_chart(std::string_view title, const std::vector<std::string>& columns,
               const std::vector<Bar>& bars) {
  Html head = element("th", {{"scope", "col"}}, title) +
              element("th", {{"scope", "col"}, {"aria-label", "share"}, {"class", "drawn"}}, {});
  for (const std::string& column : columns)
    head += element("th", {{"scope", "col"}, {"class", "number"}}, column);
  Html rows;
  for (const Bar& bar : bars) {
    Html cells =
        element("th", {{"scope", "row"}}, name_html(bar.label)) +
        element("td", {{"class", "drawn"}},
                drawing("bar " + class_of(bar.tone), rect("track", 0, 1) + rect("fill", 0, bar.share)));
    for (const std::string& value : bar.values)
      cells += element("td", {{"class", "number"}}, value);
    rows += element("tr", cells);
  }
  return element("table", {{"class", "bars"}},
                 element("thead", element("tr", head)) + element("tbody", rows));
}

Html ratio_bar(double ratio, double limit, Tone tone) {
  const double position = std::clamp(std::log(ratio) / std::log(limit), -1.0, 1.0) / 2;
  const Html fill = position < 0 ? rect("fill", 0.5 + position, -position) : rect("fill", 0.5, position);
  return drawing("bar ratio " + class_of(tone), rect("track", 0, 1) + fill + rect("middle", 0.498, 0.004));
}

DataTable::DataTable(std::string title, std::vector<Column> columns, std::string kind, std::string note)
    : title_(std::move(title)),
      kind_(std::move(kind)),
      note_(std::move(note)),
      columns_(std::move(columns)) {}

void DataTable::add(const std::vector<Cell>& cells) {
  if (++size_ > kMaximumRows) return;
  Html row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    HtmlAttributes attributes;
    if (columns_[i].is_number) attributes.push_back({"class", "number"});
    if (cells[i].sorted_by) attributes.push_back({"data-sort", fmt::format("{}", *cells[i].sorted_by)});
    const Html& content = cells[i].content;
    row += i == 0 ? element("th", {{"scope", "row"}}, content) : element("td", attributes, content);
  }
  rows_ += element("tr", row);
}

Html DataTable::html() const {
  Html head;
  for (const Column& column : columns_) {
    HtmlAttributes attributes{{"scope", "col"}};
    if (column.is_number) attributes.push_back({"class", "number"});
    head += element("th", attributes, column.title);
  }
  const Html caption = note_.empty() ? Html() : element("caption", note_);
  const Html table = element("table", {{"class", "data " + kind_}},
                             caption + element("thead", element("tr", head)) + element("tbody", rows_));
  // A keyboard reaches the box, so that it can scroll it.
  const HtmlAttributes box = {
      {"class", "scroll"}, {"role", "region"}, {"aria-label", title_}, {"tabindex", "0"}};
  Html shown = element("h3", title_) + element("div", box, table);
  if (size_ > kMaximumRows)
    shown += notice(Tone::plain, plural(size_ - kMaximumRows, "row") + " more are not listed.");
  return shown;
}

}  // namespace cubinet
