// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/report/html.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The parts that every section of a report is made of.

enum class Tone { plain, good, warning, bad };

// Returns a name out of a bundle, a workload or a file as it is shown: on one line, hidden
// characters as \xNN, at most a few hundred bytes.
std::string shown_name(std::string_view name);
// Returns the same as an element that the text around it does not reorder.
Html name_html(std::string_view name);

std::string format_count(std::uint64_t count);  // "9,012,345"
std::string format_utc(std::int64_t seconds);   // "2026-11-27 05:47 UTC"
// Returns "12 %". A share that is neither nothing nor all is never written as one of these.
std::string format_percent(double share);
// Returns at least three digits: "0.98", "1.19", "12.3", "1520".
std::string format_number(double value);

// A number or a word of the first screen, with what it counts.
struct Fact {
  std::string label;
  std::string value;
  std::string note = {};  // empty: none
  Tone tone = Tone::plain;
};
Html fact_tiles(const std::vector<Fact>& facts);

// Returns a paragraph that states a finding.
Html notice(Tone tone, const Html& text);

// Returns a word with a colour: the status of a row.
Html badge(Tone tone, const std::string& word);

// A labelled bar with its values as text.
struct Bar {
  std::string label;
  double share = 0;                 // of the chart's width
  std::vector<std::string> values;  // one for each column of the chart
  Tone tone = Tone::plain;
};
// Returns bars under a heading. `columns` names the values.
Html bar_chart(std::string_view title, const std::vector<std::string>& columns, const std::vector<Bar>& bars);

// Returns a bar that begins at the middle, which stands for 1: to the left for a value below 1, on
// a logarithmic scale from 1/`limit` to `limit`.
Html ratio_bar(double ratio, double limit, Tone tone);

// A table whose rows the page's script can sort and filter.
class DataTable {
 public:
  struct Column {
    std::string title;
    bool is_number = false;
  };
  struct Cell {
    Cell(Html shown) : content(std::move(shown)) {}   // NOLINT: implicit
    Cell(const std::string& text) : content(text) {}  // NOLINT: implicit
    Cell(const char* text) : content(text) {}         // NOLINT: implicit
    Cell(Html shown, double number) : content(std::move(shown)), sorted_by(number) {}

    Html content;
    std::optional<double> sorted_by = {};  // nullopt: the text
  };

  // `title` becomes a heading. `kind` is the class of the table, by which the style arranges its
  // rows as cards on a narrow screen; empty: the table scrolls. `note` becomes the caption; empty:
  // none.
  DataTable(std::string title, std::vector<Column> columns, std::string kind = {}, std::string note = {});
  // Adds a row with one cell for each column. Rows beyond kMaximumRows are only counted, and the
  // table says how many there are.
  void add(const std::vector<Cell>& cells);
  static constexpr std::size_t kMaximumRows = 5'000;
  Html html() const;

 private:
  std::string title_;
  std::string kind_;
  std::string note_;
  std::vector<Column> columns_;
  std::size_t size_ = 0;
  Html rows_;
};

// A section of a report.
struct Section {
  std::string kind;   // "Home", "Bundle", "Workload", "Benchmark"
  std::string title;  // the name of the subject
  Html content;
};

}  // namespace cubinet
