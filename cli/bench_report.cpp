// SPDX-License-Identifier: Apache-2.0
#include "bench_report.hpp"

#include "describe.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace cubinet::cli {
namespace {

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values)
    sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// What is measured, in the units of the tables.
struct Figures {
  double seconds = 0;
  double deviation = 0;
  double teraflops = 0;
  double terabytes = 0;     // a second, of Q, K, V and O
  double kv_terabytes = 0;  // of K and V alone
  double share_of_read = 0;
};

Figures figures_of(const BenchRow& row) {
  Figures figures;
  figures.seconds = median_of(row.seconds);
  figures.deviation = standard_deviation(row.seconds);
  figures.teraflops = row.work.operations / figures.seconds / 1e12;
  figures.terabytes = row.work.bytes / figures.seconds / 1e12;
  figures.kv_terabytes = row.work.kv_bytes / figures.seconds / 1e12;
  figures.share_of_read = median_ratio(row.read_seconds, row.seconds);
  return figures;
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

// "auto(templates)", as FlashInfer shows it.
std::string shown_backend(const BenchRow& row) {
  return row.requested == row.backend || row.backend.empty()
             ? row.requested
             : fmt::format("{}({})", row.requested, row.backend);
}

std::string result_of(const BenchRow& row) {
  if (row.error) return "error";
  return row.verdict.correct() ? "correct" : "wrong";
}

using Columns = std::vector<std::pair<const char*, std::string>>;

Columns columns_of(const BenchRow& row, std::uint64_t seed) {
  const AttentionProblem& problem = row.problem;
  const bool latent = problem.is_mla_generation();
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  const auto measured = [&](double value) { return row.error ? std::string() : number(value); };
  const Figures figures = row.error ? Figures() : figures_of(row);
  const auto type = [](DataType of) { return std::string(to_string(of)); };
  return {
      {"routine", row.measured.problem.operation},
      {"median_time", measured(figures.seconds * 1e3)},
      {"std_time", measured(figures.deviation * 1e3)},
      {"tflops", measured(figures.teraflops)},
      {"tb_per_sec", measured(figures.terabytes)},
      {"backend", shown_backend(row)},
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
      {"enable_pdl", yes_or_no(row.measured.programmatic_launch)},
      {"refcheck", yes_or_no(true)},
      {"no_cuda_graph", yes_or_no(false)},
      {"random_seed", fmt::to_string(seed)},
      {"case_tag", row.measured.tag},
      {"result", result_of(row)},
      {"worst_row_error", measured(row.verdict.error.worst_row)},
      {"kv_tb_per_sec", measured(figures.kv_terabytes)},
      {"share_of_read", measured(figures.share_of_read)},
      {"window", problem.window == kUnlimited ? "" : fmt::to_string(problem.window)},
      {"sinks", yes_or_no(problem.sinks)},
      {"lengths_unknown", yes_or_no(row.measured.lengths_unknown)},
      {"splits", row.error ? "" : fmt::to_string(row.splits)},
      {"error", row.error ? row.error->to_line() : ""},
  };
}

// ", FlashInfer 61.2 us (0.96 of it)", or why it has no time.
std::string beside(const BenchRow& row) {
  std::string text;
  for (const PeerTimes& peer : row.peers) {
    if (peer.seconds.empty()) {
      if (!peer.what.empty()) text += fmt::format(", {}: {}", printable(peer.name), printable(peer.what));
      continue;
    }
    text += fmt::format(", {} {} ({:.3f} of it)", printable(peer.name),
                        format_seconds(median_of(peer.seconds)), median_ratio(row.seconds, peer.seconds));
  }
  return text;
}

nlohmann::json describe_peers(const BenchRow& row) {
  nlohmann::json peers = nlohmann::json::array();
  for (const PeerTimes& peer : row.peers) {
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

nlohmann::json describe_goals(const BenchRow& row) {
  nlohmann::json goals = nlohmann::json::array();
  for (const JudgedGoal& goal : row.goals) {
    goals.push_back({{"goal", goal.text},
                     {"reached", goal.reached ? nlohmann::json(*goal.reached) : nlohmann::json(nullptr)},
                     {"met", goal.met}});
  }
  return goals;
}

std::string shape_of(const AttentionProblem& problem) {
  return fmt::format("{}x{} q {}, {}/{} heads of {}{}, {}:{}", problem.batch, problem.kv_len, problem.q_len,
                     problem.heads_q, problem.heads_kv, problem.head_dim_qk,
                     problem.sinks ? " with sinks" : "", to_string(problem.data_type_q),
                     to_string(problem.data_type_k));
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_ratio(const std::vector<double>& values, const std::vector<double>& by) {
  std::vector<double> ratios(values.size());
  std::transform(values.begin(), values.end(), by.begin(), ratios.begin(), std::divides<>());
  return median_of(std::move(ratios));
}

std::string title_of(const BenchRow& row) {
  const std::string name = row.measured.tag.empty() ? "" : printable(row.measured.tag) + ": ";
  return fmt::format("{}{}, {}", name, shape_of(row.problem), printable(shown_backend(row)));
}

std::string to_line(const BenchRow& row) {
  const std::string what = title_of(row);
  if (row.error) return fmt::format("{}: {}", what, printable(row.error->to_line()));
  const Figures figures = figures_of(row);
  return fmt::format("{}: {}, {:.2f} TB/s of K and V ({:.0f} % of reading alone), {:.1f} TFLOP/s{}; {}", what,
                     format_seconds(figures.seconds), figures.kv_terabytes, figures.share_of_read * 100,
                     figures.teraflops, beside(row),
                     row.verdict.correct() ? "correct"
                                           : fmt::format("WRONG: {:.1e} in the worst row, {:.0e} is allowed",
                                                         row.verdict.error.worst_row, row.verdict.allowed));
}

nlohmann::json describe_case(const BenchRow& row) {
  nlohmann::json described = {{"case_tag", row.measured.tag},
                              {"operation", row.measured.problem.operation},
                              {"batch", row.problem.batch},
                              {"q_len", row.problem.q_len},
                              {"kv_len", row.problem.kv_len},
                              {"mean_kv_length", row.mean_kv_length},
                              {"lengths_unknown", row.measured.lengths_unknown},
                              {"programmatic_launch", row.measured.programmatic_launch},
                              {"heads_q", row.problem.heads_q},
                              {"heads_kv", row.problem.heads_kv},
                              {"head_dim_qk", row.problem.head_dim_qk},
                              {"head_dim_v", row.problem.head_dim_v},
                              {"page_size", row.problem.tokens_per_page},
                              {"sinks", row.problem.sinks},
                              {"mask", to_string(row.problem.mask)},
                              {"dtype_q", to_string(row.problem.data_type_q)},
                              {"dtype_kv", to_string(row.problem.data_type_k)},
                              {"dtype_o", to_string(row.problem.data_type_o)}};
  if (row.problem.window != kUnlimited) described["window"] = row.problem.window;
  if (row.problem.soft_cap) described["soft_cap"] = *row.problem.soft_cap;
  return described;
}

nlohmann::json describe(const BenchRow& row) {
  nlohmann::json described = describe_case(row);
  described["requested"] = row.requested;
  described["backend"] = row.backend.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.backend);
  described["choice"] = row.choice.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.choice);
  if (!row.goals.empty()) described["goals"] = describe_goals(row);
  if (row.error) {
    described.update(error_document(*row.error));
    return described;
  }
  const Figures figures = figures_of(row);
  const AttentionDeviation& error = row.verdict.error;
  described["correct"] = row.verdict.correct();
  described["relative_error"] = {{"worst_row", error.worst_row},
                                 {"all_rows", error.all_rows},
                                 {"worst_lse", error.worst_lse},
                                 {"allowed", row.verdict.allowed}};
  described["splits"] = row.splits;
  described["seconds"] = figures.seconds;
  described["seconds_deviation"] = figures.deviation;
  described["read_seconds"] = median_of(row.read_seconds);
  described["share_of_read"] = figures.share_of_read;
  described["operations"] = row.work.operations;
  described["bytes"] = row.work.bytes;
  described["kv_bytes"] = row.work.kv_bytes;
  described["teraflops"] = figures.teraflops;
  described["terabytes_per_second"] = figures.terabytes;
  described["kv_terabytes_per_second"] = figures.kv_terabytes;
  if (!row.peers.empty()) described["peers"] = describe_peers(row);
  described["rounds"] = {{"seconds", row.seconds}, {"read_seconds", row.read_seconds}};
  return described;
}

std::string csv_of(const std::vector<BenchRow>& rows, std::uint64_t seed) {
  std::string text;
  for (const BenchRow& row : rows) {
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

}  // namespace cubinet::cli
