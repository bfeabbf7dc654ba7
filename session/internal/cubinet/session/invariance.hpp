// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/session/benchmark.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// Whether the bits of a row depend on the batch, the chunk, the pages and the stage that computes
// it, and the price of bits that do not.
namespace cubinet {

// The rows of one stage, of one query head of one token each.
struct InvarianceStage {
  std::string name;       // "decode in a batch"
  std::size_t rows = 0;   // compared rows
  std::size_t equal = 0;  // those with the bits of the whole prompt
};

// One implementation: ours with one of the numerics, or a peer.
struct InvarianceSubject {
  std::string name;
  std::vector<InvarianceStage> stages = {};
  std::optional<Error> error = std::nullopt;  // why later stages are missing

  // Returns whether all stages ran and every row has the same bits.
  bool keeps_bits() const;
};

// The times of one problem.
struct InvarianceTimes {
  std::string stage;
  std::vector<double> fast;  // seconds of one run in each round
  BenchmarkRow invariant;    // `seconds` and `peers` are from the same rounds
  bool correct = false;      // if true, both agree with attention in double precision

  double ratio() const;  // the time of invariant numerics as a part of that of fast ones
};

struct InvarianceRow {
  BenchmarkCase given;
  std::vector<InvarianceSubject> subjects;  // invariant numerics, fast numerics, then the peers
  std::vector<InvarianceTimes> times;
  std::optional<Error> error;  // why the row is not complete

  // Returns whether invariant numerics keep the bits and every timed run was correct.
  bool good() const;
};

struct InvarianceResult {
  std::string device;  // DeviceProperties::name
  int rounds = 0;
  std::uint64_t seed = 0;
  std::vector<InvarianceRow> rows;

  bool good() const;  // returns whether every row is good
};

// Compares the rows of each case: the first sequence is prefilled whole, then in chunks, over other
// pages, beside the other sequences of the batch, by verification and by decode. Rows are equal if
// their outputs and, for ours, their log-sum-exps are equal by memcmp. Then times the whole prompt,
// its last chunk, verification and decode, by both numerics and the peers in the same rounds.
//
// It ignores everything in a case but its problem, tag and `where`, and the problem's q_len,
// numerics, layout and append. It compares cases that are then equal once. Peers need
// `options.peer_folder`. Calls `progress` after each case. Errors are those of benchmark(); the
// error of one case is stored in its row.
Result<InvarianceResult> compare_bits(const Session& session, const BenchmarkOptions& options,
                                      const Callback<void(const InvarianceRow&)>& progress = {});

// Returns a row as lines for people.
std::string to_lines(const InvarianceRow& row);
// Returns the JSON that `cubinet bench invariance --json` prints.
std::string to_json(const InvarianceResult& result);

}  // namespace cubinet
