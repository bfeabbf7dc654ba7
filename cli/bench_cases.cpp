// SPDX-License-Identifier: Apache-2.0
#include "bench_cases.hpp"

#include "arguments.hpp"

#include <cubinet/base/json_object.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumCases = 10'000;
constexpr const char* kSweepShape =
    R"(a sweep is {"cases": [{OPTION: VALUE, OPTION: [VALUES]}]}, of `bench attention`'s options without dashes)";

Error wrong_sweep(std::string_view where, std::string_view what) {
  return Error{ErrorCode::invalid_argument, fmt::format("{}: {}", where, what), kSweepShape};
}

// An option with one value, as the command line has it; empty: a flag that is off.
Result<std::string> word_of(const std::string& option, const json& value, const std::string& where) {
  if (value.is_boolean()) return value.get<bool>() ? "--" + option : std::string();
  if (value.is_string()) return "--" + option + "=" + value.get<std::string>();
  if (value.is_number()) return "--" + option + "=" + value.dump();
  return wrong_sweep(where, "the value of '" + option + "' is neither a number, a text nor true or false");
}

using Line = std::vector<std::string>;

Result<std::vector<Line>> lines_of(const json& element, const std::string& where) {
  if (!element.is_object()) return wrong_sweep(where, "it is no object");
  std::vector<Line> lines(1);
  for (const auto& member : element.items()) {
    const json& given = member.value();
    const json values = given.is_array() ? given : json::array({given});
    if (values.empty()) return wrong_sweep(where, "the list of '" + member.key() + "' is empty");
    if (lines.size() * values.size() > kMaximumCases)
      return wrong_sweep(where, fmt::format("it stands for more than {} cases", kMaximumCases));
    std::vector<Line> extended;
    for (const Line& line : lines) {
      for (const json& value : values) {
        CUBINET_TRY_ASSIGN(const std::string word, word_of(member.key(), value, where));
        extended.push_back(line);
        if (!word.empty()) extended.back().push_back(word);
      }
    }
    lines = std::move(extended);
  }
  return lines;
}

Result<BenchCase> parse_line(Line line, const std::string& where) {
  BenchCase parsed;
  CLI::App app;
  app.set_help_flag();
  add_bench_case_arguments(app, parsed);
  std::reverse(line.begin(), line.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    return wrong_sweep(where, error.what());
  }
  return parsed;
}

}  // namespace

void add_bench_case_arguments(CLI::App& verb, BenchCase& arguments) {
  add_operation_argument(verb, arguments.problem);
  add_attention_arguments(verb, arguments.problem);
  add_text(verb, "--kv-lengths", arguments.kv_lengths, "LIST",
           "Tokens of each sequence, 131072,1024: the last one for the rest (default: --kv-len)");
  verb.add_flag("--lengths-unknown", arguments.lengths_unknown,
                "The plan is made without the lengths, as for a CUDA graph");
  verb.add_option("--backend", arguments.backends, "auto (default), templates, published; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb.add_flag("--programmatic-launch", arguments.programmatic_launch,
                "Runs may start before the one ahead of them ends");
  add_integer(verb, "--splits", arguments.splits, 1, 256, "KV splits of a sequence (default: as planned)");
  add_text(verb, "--tag", arguments.tag, "TEXT", "A name for the case, in the results");
}

Result<std::vector<std::int32_t>> kv_lengths_of(const BenchCase& given, const AttentionProblem& problem) {
  std::vector<std::int32_t> lengths;
  std::string_view rest = given.kv_lengths;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    CUBINET_TRY_ASSIGN(const std::int64_t length,
                       parse_integer(rest.substr(0, end), "--kv-lengths", 0, problem.kv_len));
    lengths.push_back(static_cast<std::int32_t>(length));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lengths.size() > problem.batch) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--kv-lengths: {} lengths for a batch of {}", lengths.size(), problem.batch),
                 "give --batch, or fewer lengths"};
  }
  lengths.resize(problem.batch, lengths.empty() ? static_cast<std::int32_t>(problem.kv_len) : lengths.back());
  return lengths;
}

Result<std::vector<BenchCase>> parse_sweep(std::string_view text, std::string_view origin) {
  const std::string file(origin);
  auto document = parse_strict_json(text);
  if (!document)
    return wrong_sweep(fmt::format("{}:{}", file, document.error().native), document.error().message);
  if (!document->is_object() || document->size() != 1 || !document->contains("cases"))
    return wrong_sweep(file, "it is no object with 'cases' alone");
  const json* elements = &document->at("cases");
  if (!elements->is_array() || elements->empty())
    return wrong_sweep(file, "'cases' is no list, or an empty one");
  std::vector<BenchCase> cases;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const std::string where = fmt::format("{}: cases[{}]", file, i);
    CUBINET_TRY_ASSIGN(const std::vector<Line> lines, lines_of((*elements)[i], where));
    for (const Line& line : lines) {
      CUBINET_TRY_ASSIGN(cases.emplace_back(), parse_line(line, where));
    }
    if (cases.size() > kMaximumCases)
      return wrong_sweep(file, fmt::format("it stands for more than {} cases", kMaximumCases));
  }
  return cases;
}

}  // namespace cubinet::cli
