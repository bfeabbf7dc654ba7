// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmark/peer_process.hpp"

#include <cubinet/attention/reference.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/session/benchmark.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Starts the peers of the options. Returns invalid_argument for a peer without a name or command,
// and if two peers have the same name.
Result<std::vector<PeerProcess>> start_peers(const BenchmarkOptions& options);

// Returns the question that peers are asked about a row: to prepare `runs` runs.
nlohmann::json peer_question(const BenchmarkRow& row, const std::vector<std::int32_t>& kv_lengths,
                             const std::vector<std::int32_t>& q_lengths, std::uint32_t runs,
                             std::uint32_t copies);

// Returns the output of a peer, of `bytes` bytes, for the inputs that write_peer_inputs() wrote
// into `folder`, an absolute path. `question` is peer_question().
Result<Bytes> output_of_peer(FileSystem& files, PeerProcess& peer, nlohmann::json question,
                             const std::filesystem::path& folder, std::size_t bytes);

// The peers in the rounds of one row. A peer that fails is left out of the later rounds.
class PeerRounds {
 public:
  // Asks every peer to prepare for the case, and adds its entry to the row.
  PeerRounds(std::vector<PeerProcess>& peers, const nlohmann::json& question, BenchmarkRow& row);

  std::size_t size() const { return peers_.size(); }
  void measure(std::size_t peer);
  // Ends the rounds and adds to the row why a peer has no times. A peer that missed a round has no
  // times.
  void finish();

 private:
  std::vector<PeerProcess>& peers_;
  BenchmarkRow& row_;
  std::vector<std::optional<Error>> failed_;
};

// Gives the inputs, as files in the folder, to the peers that have times, and compares their
// outputs with the reference.
Result<void> compare_peers(std::vector<PeerProcess>& peers, const std::string& folder,
                           const AttentionInputs& inputs, const AttentionOutputs& reference,
                           const nlohmann::json& question, BenchmarkRow& row);

}  // namespace cubinet
