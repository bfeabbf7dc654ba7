// SPDX-License-Identifier: Apache-2.0
#include "benchmark/report.hpp"
#include "benchmark/statistics.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/session/invariance.hpp>
#include <cubinet/session/json.hpp>

#include <fmt/format.h>

namespace cubinet {
namespace {

BenchmarkRow case_row(const BenchmarkCase& given) {
  BenchmarkRow row;
  row.given = given;
  row.mean_kv_length = given.problem.kv_len;
  return row;
}

// Returns "decode 12.5 % of 256 rows" for each stage that loses bits.
std::string losses_of(const InvarianceSubject& subject) {
  std::string text;
  for (const InvarianceStage& stage : subject.stages) {
    if (stage.equal == stage.rows) continue;
    text +=
        fmt::format("{}{} {:.1f} % of {} rows", text.empty() ? "" : ", ", stage.name,
                    100.0 * static_cast<double>(stage.equal) / static_cast<double>(stage.rows), stage.rows);
  }
  return text;
}

std::string line_of(const InvarianceSubject& subject) {
  if (subject.error) return "not compared: " + printable(subject.error->to_line());
  if (subject.stages.empty()) return "not compared";
  if (subject.keeps_bits()) return "keeps the bits of every row";
  return "keeps the bits of " + losses_of(subject);
}

std::string line_of(const InvarianceTimes& times) {
  const double seconds = median_of(times.invariant.seconds);
  std::string text = fmt::format("invariant {}, {:.3f} of fast ({})", format_seconds(seconds), times.ratio(),
                                 format_seconds(median_of(times.fast)));
  for (const BenchmarkPeerTimes& peer : times.invariant.peers) {
    const std::string name = printable(peer.name);
    text += peer.seconds.empty()
                ? fmt::format(", {}: {}", name, printable(peer.what))
                : fmt::format(", {:.3f} of {} ({})", median_ratio(times.invariant.seconds, peer.seconds),
                              name, format_seconds(median_of(peer.seconds)));
  }
  return text + (times.correct ? "" : "; WRONG");
}

nlohmann::json describe(const InvarianceSubject& subject) {
  nlohmann::json stages = nlohmann::json::array();
  for (const InvarianceStage& stage : subject.stages)
    stages.push_back({{"stage", stage.name}, {"rows", stage.rows}, {"equal", stage.equal}});
  nlohmann::json described = {
      {"name", subject.name}, {"keeps_bits", subject.keeps_bits()}, {"stages", std::move(stages)}};
  if (subject.error) described.update(error_document(*subject.error));
  return described;
}

nlohmann::json describe(const InvarianceTimes& times) {
  nlohmann::json described = {{"stage", times.stage},
                              {"correct", times.correct},
                              {"invariant_seconds", median_of(times.invariant.seconds)},
                              {"fast_seconds", median_of(times.fast)},
                              {"ratio", times.ratio()},
                              {"rounds", {{"invariant", times.invariant.seconds}, {"fast", times.fast}}}};
  if (!times.invariant.peers.empty()) described["peers"] = describe_peers(times.invariant);
  return described;
}

nlohmann::json describe(const InvarianceRow& row) {
  nlohmann::json described = describe_case(case_row(row.given));
  nlohmann::json subjects = nlohmann::json::array();
  for (const InvarianceSubject& subject : row.subjects)
    subjects.push_back(describe(subject));
  nlohmann::json times = nlohmann::json::array();
  for (const InvarianceTimes& timed : row.times)
    times.push_back(describe(timed));
  described["implementations"] = std::move(subjects);
  described["times"] = std::move(times);
  if (row.error) described.update(error_document(*row.error));
  return described;
}

}  // namespace

std::string to_lines(const InvarianceRow& row) {
  std::string text = title_of_case(row.given);
  for (const InvarianceSubject& subject : row.subjects)
    text += fmt::format("\n  {:24} {}", printable(subject.name), line_of(subject));
  for (const InvarianceTimes& times : row.times)
    text += fmt::format("\n  {:24} {}", times.stage, line_of(times));
  if (row.error) text += "\n  " + printable(row.error->to_line());
  return text;
}

std::string to_json(const InvarianceResult& result) {
  nlohmann::json results = nlohmann::json::array();
  for (const InvarianceRow& row : result.rows)
    results.push_back(describe(row));
  return json_text({{"device", result.device},
                    {"version", CUBINET_VERSION},
                    {"rounds", result.rounds},
                    {"seed", result.seed},
                    {"results", std::move(results)}});
}

}  // namespace cubinet
