// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peers.hpp"

#include "benchmark/peer_inputs.hpp"
#include "benchmark/report.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <chrono>

namespace cubinet {
namespace {

// Allows time for a peer to make its own inputs and to compile.
constexpr std::chrono::seconds kToPrepare{900};
constexpr std::chrono::seconds kToMeasure{120};

// Returns the text that a peer gives under this name, or the reason why it does not take part.
Result<std::string> ask_for(const char* name, PeerProcess& peer, const nlohmann::json& question) {
  CUBINET_TRY_ASSIGN(const nlohmann::json answer, peer.ask(question, kToPrepare));
  const auto text = [&](const char* key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (std::string found = text(name); !found.empty()) return found;
  const std::string declined = text("declined");
  return Error{ErrorCode::unsupported, declined.empty() ? "it answered " + answer.dump() : declined};
}

Result<double> time_peer(PeerProcess& peer) {
  CUBINET_TRY_ASSIGN(const nlohmann::json answer, peer.ask({{"time", 1}}, kToMeasure));
  const auto seconds = answer.find("seconds");
  if (seconds != answer.end() && seconds->is_number() && seconds->get<double>() > 0)
    return seconds->get<double>();
  return Error{ErrorCode::io, "the peer " + peer.name() + " measured nothing: " + answer.dump()};
}

}  // namespace

Result<std::vector<PeerProcess>> start_peers(const BenchmarkOptions& options) {
  std::vector<PeerProcess> started;
  for (const BenchmarkPeer& peer : options.peers) {
    if (peer.name.empty() || peer.command.empty())
      return Error{ErrorCode::invalid_argument, "`BenchmarkOptions::peers`: a peer has a name and a command"};
    const bool taken = std::any_of(started.begin(), started.end(),
                                   [&](const PeerProcess& other) { return other.name() == peer.name; });
    if (taken) {
      return Error{ErrorCode::invalid_argument,
                   "`BenchmarkOptions::peers`: two are named '" + printable(peer.name) + "'",
                   "give each a name of its own: goals refer to it"};
    }
    CUBINET_TRY_ASSIGN(PeerProcess process,
                       PeerProcess::start(peer.name, peer.command, options.peer_environment));
    started.push_back(std::move(process));
  }
  return started;
}

nlohmann::json peer_question(const BenchmarkRow& row, const std::vector<std::int32_t>& kv_lengths,
                             const std::vector<std::int32_t>& q_lengths, std::uint32_t runs,
                             std::uint32_t copies) {
  nlohmann::json problem = describe_case(row);
  problem["kv_lengths"] = kv_lengths;
  if (row.given.problem.ragged_q) problem["q_lengths"] = q_lengths;
  return {{"problem", std::move(problem)}, {"runs", runs}, {"copies", copies}};
}

Result<Bytes> output_of_peer(FileSystem& files, PeerProcess& peer, nlohmann::json question,
                             const std::filesystem::path& folder, std::size_t bytes) {
  question["inputs"] = folder.string();
  CUBINET_TRY(ask_for("ready", peer, question));
  const std::filesystem::path output = folder / "output";
  CUBINET_TRY(files.remove(output));  // of the peer before
  CUBINET_TRY(ask_for("written", peer, {{"output", output.string()}}));
  return read_peer_output(files, output, bytes);
}

PeerRounds::PeerRounds(std::vector<PeerProcess>& peers, const nlohmann::json& question, BenchmarkRow& row)
    : peers_(peers), row_(row), failed_(peers.size()) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    row.peers.push_back({peers[i].name(), "", {}});
    if (auto ready = ask_for("ready", peers[i], question)) {
      row.peers[i].what = *std::move(ready);
    } else {
      failed_[i] = std::move(ready).error();
    }
  }
}

void PeerRounds::measure(std::size_t peer) {
  if (failed_[peer]) return;
  if (auto seconds = time_peer(peers_[peer])) {
    row_.peers[peer].seconds.push_back(*seconds);
  } else {
    failed_[peer] = std::move(seconds).error();
  }
}

void PeerRounds::finish() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!failed_[i]) continue;
    row_.peers[i].what = failed_[i]->to_line();
    row_.peers[i].seconds.clear();  // a ratio needs all rounds
  }
}

Result<void> compare_peers(std::vector<PeerProcess>& peers, const std::string& folder,
                           const AttentionInputs& inputs, const AttentionOutputs& reference,
                           const nlohmann::json& question, BenchmarkRow& row) {
  const auto files = posix_file_system();
  // The peer may have another working directory.
  CUBINET_TRY_ASSIGN(const std::filesystem::path place, absolute_path(folder));
  const AttentionProblem& problem = row.given.problem;
  CUBINET_TRY(write_peer_inputs(*files, place, problem, inputs));
  const std::size_t bytes = reference.o.size() * (bits_of(problem.data_type_o) / 8);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    BenchmarkPeerTimes& peer = row.peers[i];
    if (peer.seconds.empty()) continue;
    const auto error = [&]() -> Result<double> {
      CUBINET_TRY_ASSIGN(const Bytes o, output_of_peer(*files, peers[i], question, place, bytes));
      CUBINET_TRY_ASSIGN(const AttentionDeviation apart, compare_attention(problem, reference, o, {}));
      return apart.all_rows;
    }();
    if (error) {
      peer.error = *error;
    } else {
      peer.what += "; no output: " + error.error().to_line();
    }
  }
  return {};
}

}  // namespace cubinet
