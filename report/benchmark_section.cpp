// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/report/benchmark_section.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

// The least width of the scale: bars of ratios near 1 stay short.
constexpr double kLeastScale = 2;
constexpr double kLargestScale = 4;

Tone tone_of(const ResultRatio& ratio) {
  if (ratio.met) return *ratio.met ? Tone::good : Tone::bad;
  return ratio.advantage() >= 1 ? Tone::good : Tone::plain;
}

struct GoalCounts {
  std::size_t met = 0;
  std::size_t all = 0;
};

GoalCounts goals_of(const BenchmarkResults& results) {
  GoalCounts counts;
  for (const ResultRatio& ratio : results.ratios) {
    if (!ratio.met) continue;
    ++counts.all;
    counts.met += *ratio.met ? 1U : 0U;
  }
  for (const ResultGoal& goal : results.goals)
    counts.met += goal.met ? 1U : 0U;
  counts.all += results.goals.size();
  return counts;
}

Html benchmark_tiles(const BenchmarkResults& results) {
  const GoalCounts goals = goals_of(results);
  std::vector<Fact> facts;
  if (goals.all > 0) {
    facts.push_back({"Goals met", fmt::format("{} of {}", goals.met, goals.all),
                     goals.met == goals.all ? "all" : plural(goals.all - goals.met, "goal") + " missed",
                     goals.met == goals.all ? Tone::good : Tone::bad});
  }
  const std::size_t count = results.ratios.size();
  if (count > 0) {
    const auto ahead =
        static_cast<std::size_t>(std::count_if(results.ratios.begin(), results.ratios.end(),
                                               [](const auto& ratio) { return ratio.advantage() >= 1; }));
    facts.push_back(
        {"Not slower", fmt::format("{} of {}", ahead, count), "ratios of at least the other side"});
    facts.push_back(
        {"Median ratio", format_number(results.ratios[count / 2].value), results.ratios[count / 2].name});
    facts.push_back(
        {"Worst ratio", format_number(results.ratios.front().value), results.ratios.front().name});
  }
  facts.push_back({"Cases", format_count(results.rows), ""});
  for (Fact& fact : facts)
    fact.note = shown_name(fact.note);
  return fact_tiles(facts);
}

Html origin_of_results(const BenchmarkResults& results) {
  Html rows;
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) rows += element("div", element("dt", label) + element("dd", name_html(value)));
  };
  add("Machine", results.machine);
  add("Version", results.commit);
  add("Date", results.date);
  return element("dl", {{"class", "details"}}, rows);
}

double scale_of(const BenchmarkResults& results) {
  double scale = kLeastScale;
  for (const ResultRatio& ratio : results.ratios)
    scale = std::max({scale, ratio.value, 1 / ratio.value});
  return std::min(scale, kLargestScale);
}

Html goal_of(const ResultRatio& ratio) {
  if (!ratio.met) return {};
  Html shown = badge(*ratio.met ? Tone::good : Tone::bad, *ratio.met ? "met" : "missed");
  if (ratio.goal) shown += element("small", format_number(*ratio.goal));
  return shown;
}

Html ratio_table(const BenchmarkResults& results) {
  if (results.ratios.empty()) return {};
  const double scale = scale_of(results);
  DataTable table("Ratios", {{"Case"}, {"Ratio", true}, {"Bar"}, {"Sides"}, {"Goal"}, {"Measured"}}, "ratios",
                  fmt::format("The worst first. Bars reach from 1/{0} to {0}, with 1 in the middle.",
                              fmt::format("{:.3g}", scale)));
  for (const ResultRatio& ratio : results.ratios) {
    const std::string value =
        format_number(ratio.value) + (ratio.larger_is_better ? " (more is better)" : "");
    table.add({element("b", name_html(ratio.of)),
               {value, ratio.value},
               {ratio_bar(ratio.value, scale, tone_of(ratio)), ratio.advantage()},
               name_html(ratio.name),
               {goal_of(ratio), ratio.met ? (*ratio.met ? 1.0 : 0.0) : 2.0},
               name_html(join(ratio.times))});
  }
  return table.html();
}

Html goal_table(const BenchmarkResults& results) {
  if (results.goals.empty()) return {};
  DataTable table("Goals", {{"Case"}, {"Goal"}, {"Reached", true}, {"Result"}}, {}, "The missed ones first.");
  for (const ResultGoal& goal : results.goals) {
    table.add({name_html(goal.of),
               name_html(goal.name),
               {goal.reached ? format_number(*goal.reached) : "not measured", goal.reached.value_or(0)},
               badge(goal.met ? Tone::good : Tone::bad, goal.met ? "met" : "missed")});
  }
  return table.html();
}

Html value_table(const BenchmarkResults& results) {
  if (results.values.empty()) return {};
  DataTable table("Values", {{"Case"}, {"Values"}});
  for (const ResultValues& each : results.values)
    table.add({element("b", name_html(each.of)), name_html(join(each.values))});
  return table.html();
}

}  // namespace

Section benchmark_section(const std::string& name, const BenchmarkResults& results) {
  Section section{"Benchmark", results.benchmark.empty() ? name : results.benchmark, {}};
  section.content += benchmark_tiles(results);
  section.content += origin_of_results(results);
  section.content += ratio_table(results);
  section.content += goal_table(results);
  section.content += value_table(results);
  return section;
}

}  // namespace cubinet
