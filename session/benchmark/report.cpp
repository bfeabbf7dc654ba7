// SPDX-License-Identifier: Apache-2.0
#include "benchmark/report.hpp"

#include "benchmark/statistics.hpp"

#include <cubinet/session/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cubinet {
namespace {

// Returns the operation as the tool's --op names it.
const char* operation_of(const AttentionProblem& problem) {
  if (problem.prefill) return "prefill";
  return problem.is_mla_generation() ? "mla-decode" : "decode";
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

const char* yes_or_no(bool value) {
  return value ? "True" : "False";  // as the scripts that read such files expect it
}

std::string result_of(const BenchmarkRow& row) {
  if (row.error) return "error";
  return row.accuracy.correct ? "correct" : "wrong";
}

using Columns = std::vector<std::pair<const char*, std::string>>;

Columns columns_of(const BenchmarkRow& row, std::uint64_t seed) {
  const AttentionProblem& problem = row.given.problem;
  const bool latent = problem.is_mla_generation();
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  const auto measured = [&](double value) { return row.error ? std::string() : number(value); };
  const BenchmarkFigures figures = row.error ? BenchmarkFigures() : figures_of(row);
  const auto type = [](DataType of) { return std::string(to_string(of)); };
  return {
      {"routine", operation_of(row.given.problem)},
      {"median_time", measured(figures.seconds * 1e3)},
      {"std_time", measured(figures.deviation * 1e3)},
      {"tflops", measured(figures.teraflops)},
      {"tb_per_sec", measured(figures.terabytes)},
      {"backend", backend_text(row)},
      {"resolved_backend", row.backend},
      {"s_qo", fmt::to_string(problem.q_len)},
      {"s_kv", fmt::to_string(problem.kv_len)},
      {"head_dim_qk", latent ? "" : fmt::to_string(problem.head_dim_qk)},
      {"head_dim_vo", latent ? "" : fmt::to_string(problem.head_dim_v)},
      {"head_dim_ckv", latent ? fmt::to_string(problem.head_dim_v) : ""},
      {"head_dim_kpe", latent ? fmt::to_string(problem.head_dim_qk - problem.head_dim_v) : ""},
      {"causal", yes_or_no(problem.mask == AttentionMask::causal)},
      {"q_dtype", type(problem.data_type_q)},
      {"kv_dtype", type(problem.data_type_k)},
      {"avg_actual_seq_len", number(row.mean_kv_length)},
      {"random_actual_seq_len", yes_or_no(false)},
      {"batch_size", fmt::to_string(problem.batch)},
      {"out_dtype", type(problem.data_type_o)},
      {"num_qo_heads", fmt::to_string(problem.heads_q)},
      {"num_kv_heads", fmt::to_string(problem.heads_kv)},
      {"page_size", fmt::to_string(problem.tokens_per_page)},
      {"enable_pdl", yes_or_no(row.given.starts_early)},
      {"refcheck", yes_or_no(true)},
      {"no_cuda_graph", yes_or_no(false)},
      {"random_seed", fmt::to_string(seed)},
      {"case_tag", row.given.tag},
      {"result", result_of(row)},
      {"worst_row_error", measured(row.accuracy.worst_row)},
      {"kv_tb_per_sec", measured(figures.kv_terabytes)},
      {"share_of_read", measured(figures.share_of_read)},
      {"window", problem.window == kUnlimited ? "" : fmt::to_string(problem.window)},
      {"sinks", yes_or_no(problem.sinks)},
      {"shared_prefix", row.given.shared_prefix == 0 ? "" : fmt::to_string(row.given.shared_prefix)},
      {"kv_scales", std::string(to_string(problem.kv_scales))},
      {"numerics", std::string(to_string(problem.numerics))},
      {"lengths_unknown", yes_or_no(row.given.lengths_unknown)},
      {"splits", row.error ? "" : fmt::to_string(row.splits)},
      {"error", row.error ? row.error->to_line() : ""},
  };
}

nlohmann::json describe_goals(const BenchmarkRow& row) {
  nlohmann::json goals = nlohmann::json::array();
  for (const BenchmarkGoal& goal : row.goals) {
    goals.push_back({{"goal", goal.text},
                     {"reached", goal.reached ? nlohmann::json(*goal.reached) : nlohmann::json(nullptr)},
                     {"met", goal.met}});
  }
  return goals;
}

nlohmann::json describe_alternative(const BenchmarkAlternative& alternative) {
  nlohmann::json described = {
      {"kernel", alternative.kernel},          {"splits", alternative.splits},
      {"blocks", alternative.blocks},          {"combines_apart", alternative.combines_apart},
      {"modelled", alternative.modelled.time}, {"correct", alternative.correct}};
  const CostTerms& terms = alternative.modelled.terms;
  if (terms.sum() > 0) {
    described["terms"] = {{"start", terms.start},
                          {"read", terms.read},
                          {"items", terms.items},
                          {"turnover", terms.turnover},
                          {"combine", terms.combine}};
  }
  if (alternative.seconds.empty()) return described;
  described["seconds"] = median_of(alternative.seconds);
  described["rounds"] = alternative.seconds.size();
  described["ratio"] = alternative.ratio;
  return described;
}

nlohmann::json describe_alternatives(const BenchmarkRow& row) {
  nlohmann::json alternatives = nlohmann::json::array();
  for (const BenchmarkAlternative& alternative : row.alternatives)
    alternatives.push_back(describe_alternative(alternative));
  return alternatives;
}

nlohmann::json describe_quality(const BenchmarkPlanQuality& quality) {
  return {{"rows", quality.rows},
          {"mean_ratio", quality.mean_ratio},
          {"behind_3_percent", quality.behind_3_percent},
          {"behind_10_percent", quality.behind_10_percent}};
}

}  // namespace

bool BenchmarkRow::good() const {
  const auto is_correct = [](const BenchmarkAlternative& alternative) { return alternative.correct; };
  return !error && accuracy.correct && std::all_of(alternatives.begin(), alternatives.end(), is_correct);
}

BenchmarkFigures figures_of(const BenchmarkRow& row) {
  BenchmarkFigures figures;
  figures.seconds = median_of(row.seconds);
  figures.deviation = standard_deviation(row.seconds);
  figures.teraflops = row.operations / figures.seconds / 1e12;
  figures.terabytes = row.bytes / figures.seconds / 1e12;
  figures.kv_terabytes = row.kv_bytes / figures.seconds / 1e12;
  figures.share_of_read = median_ratio(row.read_seconds, row.seconds);
  for (const BenchmarkPeerTimes& peer : row.peers) {
    BenchmarkFigures::Peer& own = figures.peers.emplace_back();
    if (!peer.seconds.empty()) own = {median_of(peer.seconds), median_ratio(row.seconds, peer.seconds)};
  }
  return figures;
}

std::string backend_text(const BenchmarkRow& row) {
  return row.requested == row.backend || row.backend.empty()
             ? row.requested
             : fmt::format("{}({})", row.requested, row.backend);
}

bool BenchmarkResult::good() const {
  return !cancelled &&
         std::all_of(rows.begin(), rows.end(), [](const BenchmarkRow& row) { return row.good(); });
}

nlohmann::json describe_peers(const BenchmarkRow& row) {
  nlohmann::json peers = nlohmann::json::array();
  for (const BenchmarkPeerTimes& peer : row.peers) {
    nlohmann::json described = {{"name", peer.name}, {"what", peer.what}};
    if (!peer.seconds.empty()) {
      described["seconds"] = median_of(peer.seconds);
      described["ratio"] = median_ratio(row.seconds, peer.seconds);
      described["rounds"] = peer.seconds;
    }
    if (peer.error) described["all_rows_error"] = *peer.error;
    peers.push_back(std::move(described));
  }
  return peers;
}

nlohmann::json describe_case(const BenchmarkRow& row) {
  nlohmann::json described = {{"case_tag", row.given.tag},
                              {"operation", operation_of(row.given.problem)},
                              {"batch", row.given.problem.batch},
                              {"q_len", row.given.problem.q_len},
                              {"kv_len", row.given.problem.kv_len},
                              {"mean_kv_length", row.mean_kv_length},
                              {"lengths_unknown", row.given.lengths_unknown},
                              {"programmatic_launch", row.given.starts_early},
                              {"heads_q", row.given.problem.heads_q},
                              {"heads_kv", row.given.problem.heads_kv},
                              {"head_dim_qk", row.given.problem.head_dim_qk},
                              {"head_dim_v", row.given.problem.head_dim_v},
                              {"qkv_layout", to_string(row.given.problem.layout)},
                              {"page_size", row.given.problem.tokens_per_page},
                              {"ragged_q", row.given.problem.ragged_q},
                              {"sinks", row.given.problem.sinks},
                              {"mask", to_string(row.given.problem.mask)},
                              {"dtype_q", to_string(row.given.problem.data_type_q)},
                              {"dtype_kv", to_string(row.given.problem.data_type_k)},
                              {"dtype_o", to_string(row.given.problem.data_type_o)}};
  if (row.given.problem.window != kUnlimited) described["window"] = row.given.problem.window;
  if (row.given.problem.soft_cap) described["soft_cap"] = *row.given.problem.soft_cap;
  if (row.given.problem.kv_scales != KvScales::none)
    described["kv_scales"] = to_string(row.given.problem.kv_scales);
  if (row.given.shared_prefix > 0) described["shared_prefix"] = row.given.shared_prefix;
  if (row.given.problem.is_invariant()) described["numerics"] = to_string(row.given.problem.numerics);
  return described;
}

nlohmann::json describe(const BenchmarkRow& row) {
  nlohmann::json described = describe_case(row);
  described["requested"] = row.requested;
  described["backend"] = row.backend.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.backend);
  described["choice"] = row.choice.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.choice);
  if (!row.goals.empty()) described["goals"] = describe_goals(row);
  if (row.error) {
    described.update(error_document(*row.error));
    return described;
  }
  const BenchmarkFigures figures = figures_of(row);
  described["correct"] = row.accuracy.correct;
  described["relative_error"] = {{"worst_row", row.accuracy.worst_row},
                                 {"all_rows", row.accuracy.all_rows},
                                 {"worst_lse", row.accuracy.worst_lse},
                                 {"allowed", row.accuracy.allowed},
                                 {"allowed_lse", row.accuracy.allowed_lse}};
  described["splits"] = row.splits;
  described["seconds"] = figures.seconds;
  described["seconds_deviation"] = figures.deviation;
  described["read_seconds"] = median_of(row.read_seconds);
  described["share_of_read"] = figures.share_of_read;
  described["operations"] = row.operations;
  described["bytes"] = row.bytes;
  described["kv_bytes"] = row.kv_bytes;
  described["teraflops"] = figures.teraflops;
  described["terabytes_per_second"] = figures.terabytes;
  described["kv_terabytes_per_second"] = figures.kv_terabytes;
  if (!row.peers.empty()) described["peers"] = describe_peers(row);
  if (row.planned) {
    described["planned"] = describe_alternative(*row.planned);
    described["alternatives"] = describe_alternatives(row);
  }
  described["rounds"] = {{"seconds", row.seconds}, {"read_seconds", row.read_seconds}};
  return described;
}

std::string to_json(const BenchmarkResult& result) {
  nlohmann::json results = nlohmann::json::array();
  for (const BenchmarkRow& row : result.rows)
    results.push_back(describe(row));
  nlohmann::json document = {{"device", result.device},
                             {"version", CUBINET_VERSION},
                             {"rounds", result.rounds},
                             {"seed", result.seed},
                             {"results", std::move(results)}};
  if (const auto quality = plan_quality_of(result.rows); quality.rows > 0)
    document["alternatives"] = describe_quality(quality);
  if (result.cancelled) document["cancelled"] = true;
  return json_text(document);
}

std::string to_csv(std::span<const BenchmarkRow> rows, std::uint64_t seed) {
  std::string text;
  for (const BenchmarkRow& row : rows) {
    const Columns columns = columns_of(row, seed);
    std::string head;
    std::string line;
    for (const auto& column : columns) {
      head += std::string(head.empty() ? "" : ",") + column.first;
      line += (&column == &columns.front() ? "" : ",") + field(column.second);
    }
    if (text.empty()) text = head + "\n";
    text += line + "\n";
  }
  return text;
}

}  // namespace cubinet
