// SPDX-License-Identifier: Apache-2.0
#include <cubinet/report/benchmark_results.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

// The most values of a row without a ratio.
constexpr std::size_t kMaximumValues = 16;

std::optional<double> number_in(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  if (value == nullptr || !value->is_number() || !std::isfinite(value->number())) return std::nullopt;
  return value->number();
}

std::optional<bool> flag_in(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  if (value == nullptr || !value->is_flag()) return std::nullopt;
  return value->flag();
}

// Returns the items of a list; none if the member is no list.
const JsonValue::List& list_in(const JsonValue& object, std::string_view name) {
  static const JsonValue::List kNone;
  const JsonValue* value = object.find(name);
  return value != nullptr && value->is_list() ? value->items() : kNone;
}

const JsonValue::Members& members_in(const JsonValue& object, std::string_view name) {
  static const JsonValue::Members kNone;
  const JsonValue* value = object.find(name);
  return value != nullptr && value->is_object() ? value->members() : kNone;
}

std::string time_text(const std::string& name, double value, const std::string& unit) {
  const std::string number =
      std::fabs(value) >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  return name + " " + number + (unit.empty() ? "" : " " + unit);
}

// Reads a row of {"name", "unit", "median": {side: value}, "ratios": {"a : b": {"median", …}}}.
void read_comparison(const JsonValue& row, BenchmarkResults& results) {
  const std::string unit = row.text_of("unit");
  const JsonValue* medians = row.find("median");
  for (const auto& [name, described] : members_in(row, "ratios")) {
    const auto value = number_in(described, "median");
    if (!value) continue;
    const auto goal = number_in(described, "goal");
    const auto met = flag_in(described, "met");
    const std::size_t colon = name.find(" : ");
    if (colon == std::string::npos || *value <= 0) {  // a difference, or a ratio of nothing
      if (met) results.goals.push_back({row.text_of("name"), name, value, *met});
      continue;
    }
    ResultRatio ratio{row.text_of("name"), name, *value, unit.find("/s") != std::string::npos, goal, met};
    for (const std::string& side : {name.substr(0, colon), name.substr(colon + 3)}) {
      const auto time = medians == nullptr ? std::nullopt : number_in(*medians, side);
      if (time) ratio.times.push_back(time_text(side, *time, unit));
    }
    results.ratios.push_back(std::move(ratio));
  }
}

std::string attention_case(const JsonValue& row) {
  const auto count = [&](std::string_view name) { return number_in(row, name).value_or(0); };
  return fmt::format("{}: batch {}, KV {:.0f}, q {}, {}/{} heads of {}, {} on {}", row.text_of("case_tag"),
                     count("batch"), count("mean_kv_length"), count("q_len"), count("heads_q"),
                     count("heads_kv"), count("head_dim_qk"), row.text_of("dtype_q"),
                     row.text_of("dtype_kv"));
}

// Reads a goal "peer:cuDNN:1" into the ratio to that peer. Returns false for other goals.
bool is_goal_of_peer(const std::string& goal, const std::string& peer, double& bound) {
  const std::string prefix = "peer:" + peer + ":";
  if (!goal.starts_with(prefix)) return false;
  bound = std::strtod(goal.c_str() + prefix.size(), nullptr);
  return bound > 0;
}

// Reads a row of an attention benchmark: {"seconds", "peers": [{"name", "seconds", "ratio"}],
// "goals": [{"goal", "reached", "met"}]}.
void read_attention(const JsonValue& row, BenchmarkResults& results) {
  const std::string of = attention_case(row);
  const auto seconds = number_in(row, "seconds");
  const std::size_t first = results.ratios.size();
  for (const JsonValue& peer : list_in(row, "peers")) {
    const auto ratio = number_in(peer, "ratio");
    if (!ratio || *ratio <= 0) continue;
    ResultRatio read{of, "cubinet : " + peer.text_of("name"), *ratio};
    if (seconds) read.times.push_back(time_text("cubinet", *seconds * 1e6, "us"));
    if (const auto time = number_in(peer, "seconds"))
      read.times.push_back(time_text(peer.text_of("name"), *time * 1e6, "us"));
    results.ratios.push_back(std::move(read));
  }
  for (const JsonValue& goal : list_in(row, "goals")) {
    const std::string text = goal.text_of("goal");
    const bool met = flag_in(goal, "met").value_or(false);
    double bound = 0;
    const auto ratio =
        std::find_if(results.ratios.begin() + static_cast<std::ptrdiff_t>(first), results.ratios.end(),
                     [&](const ResultRatio& each) {
                       return is_goal_of_peer(text, each.name.substr(sizeof("cubinet : ") - 1), bound);
                     });
    if (ratio != results.ratios.end()) {
      ratio->goal = bound;
      ratio->met = met;
    } else {
      results.goals.push_back({of, text, number_in(goal, "reached"), met});
    }
  }
}

// Reads the numbers of a row that states no ratio.
void read_values(const JsonValue& row, BenchmarkResults& results) {
  ResultValues read{row.text_of("name"), {}};
  for (const char* name : {"case_tag", "template", "test"})
    if (read.of.empty()) read.of = row.text_of(name);
  if (read.of.empty()) read.of = fmt::format("row {}", results.rows);
  const JsonValue* medians = row.find("median");
  const JsonValue& numbers = medians == nullptr ? row : *medians;
  if (!numbers.is_object()) return;
  for (const auto& [name, value] : numbers.members()) {
    if (read.values.size() == kMaximumValues) break;
    if (value.is_number())
      read.values.push_back(time_text(name, value.number(), medians == nullptr ? "" : row.text_of("unit")));
  }
  if (!read.values.empty()) results.values.push_back(std::move(read));
}

std::string machine_of(const JsonValue& document) {
  const JsonValue* machine = document.find("machine");
  if (machine == nullptr) return document.text_of("device");
  std::string text = machine->text_of("gpu");
  if (const std::string driver = machine->text_of("driver"); !driver.empty())
    text += fmt::format("{}driver {}", text.empty() ? "" : ", ", driver);
  if (const std::string cpu = machine->text_of("cpu"); !cpu.empty())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", cpu);
  if (const auto cores = number_in(*machine, "cores")) text += fmt::format(", {} cores", *cores);
  return text;
}

}  // namespace

Result<BenchmarkResults> BenchmarkResults::read(const JsonValue& document, const std::string& name) {
  BenchmarkResults results;
  results.benchmark = document.text_of("benchmark");
  results.commit = document.text_of("commit");
  if (results.commit.empty()) results.commit = document.text_of("version");
  results.date = document.text_of("date");
  results.machine = machine_of(document);
  const auto& rows = list_in(document, document.find("rows") != nullptr ? "rows" : "results");
  for (const JsonValue& row : rows) {
    const std::size_t before = results.ratios.size() + results.goals.size();
    if (row.find("case_tag") != nullptr) {
      read_attention(row, results);
    } else {
      read_comparison(row, results);
    }
    ++results.rows;
    if (results.ratios.size() + results.goals.size() == before) read_values(row, results);
  }
  if (results.ratios.empty() && results.goals.empty() && results.values.empty()) {
    return Error{ErrorCode::invalid_argument, "'" + name + "' has no row with a number",
                 "name the results of a benchmark: JSON with a list of rows or results"};
  }
  std::stable_sort(results.ratios.begin(), results.ratios.end(),
                   [](const auto& a, const auto& b) { return a.advantage() < b.advantage(); });
  std::stable_sort(results.goals.begin(), results.goals.end(),
                   [](const auto& a, const auto& b) { return a.met < b.met; });
  return results;
}

}  // namespace cubinet
