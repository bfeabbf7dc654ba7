// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>
#include <cubinet/attention/problem.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/session.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cubinet {

// An attention problem to measure, and how.
struct BenchmarkCase {
  AttentionProblem problem;                   // its kv_lengths are ignored
  std::vector<std::int32_t> kv_lengths = {};  // of each sequence; empty: all problem.kv_len
  // With ragged_q: the query tokens of each sequence. Empty: random ones up to problem.q_len.
  std::vector<std::int32_t> q_lengths = {};
  // Tokens with which all sequences begin. problem.kv_len and kv_lengths count them. If not 0, the
  // run is that of a SharedPrefixProblem, without alternatives.
  std::uint32_t shared_prefix = 0;
  bool lengths_unknown = false;            // if true, the plan does not use them, as in a CUDA graph
  bool starts_early = false;               // PlanOptions::starts_early
  std::uint32_t splits = 0;                // PlanOptions::splits; 0: as planned
  std::optional<std::string> rules = {};   // PlanOptions::rules
  std::vector<std::string> backends = {};  // each gives a row; empty: auto
  // The limits that the rows must meet. Ratios are of medians in the same rounds.
  //   read:0.95       a kernel that only reads K and V takes at least 0.95 times as long
  //   us:475          a run takes at most 475 microseconds
  //   teraflops:527   a run reaches at least 527 teraflops
  //   row:TAG:1.15    at most 1.15 times the time of the one earlier row with this tag
  //   peer:NAME:0.9   at most 0.9 times the time of this peer
  //   error:NAME:1.1  the error of the whole output is at most 1.1 times this peer's error with
  //                   the same inputs
  // A goal is missed if a time that it needs was not measured.
  std::vector<std::string> goals = {};
  std::string tag = {};    // names the case in results and goals
  std::string where = {};  // begins the messages about the case: "'FILE', line 3"
};

// A peer is another implementation of attention: a process that answers questions in JSON
// (docs/benchmarks.md).
struct BenchmarkPeer {
  std::string name;     // unique; goals refer to it
  std::string command;  // /bin/sh runs it
};

// The times of a peer for a case, in the rounds of the row.
struct BenchmarkPeerTimes {
  std::string name;
  std::string what;             // how the peer calls itself, or why it has no times
  std::vector<double> seconds;  // of one run in each round; empty: none
  // ||o - ref|| / ||ref|| of the whole output for our inputs; nullopt: not compared.
  std::optional<double> error = std::nullopt;
};

// Another kernel or another number of splits for the problem of a row, timed in the same rounds as
// the plan.
struct BenchmarkAlternative {
  std::string kernel;                // its specification
  std::uint32_t splits = 0;          // KV splits of a sequence
  std::uint64_t blocks = 0;          // CTAs of the attention kernel
  bool combines_apart = false;       // if true, a second kernel combines the splits
  KernelCost modelled = {};          // the cost model's estimate
  bool correct = false;              // as BenchmarkAccuracy::correct; a wrong one is not timed
  std::vector<double> seconds = {};  // of one run in each round
  double ratio = 0;                  // the time of the plan as a part of its time; 0: not timed
};

struct BenchmarkGoal {
  std::string text;               // as in BenchmarkCase::goals
  std::optional<double> reached;  // the value that the goal bounds; nullopt: not measured
  bool met = false;
};

// The relative errors of a run against attention in double precision, and the largest that is
// allowed.
struct BenchmarkAccuracy {
  bool correct = false;
  double worst_row = 0;
  double all_rows = 0;
  double worst_lse = 0;
  double allowed = 0;
  double allowed_lse = 0;
};

// The times of one backend for one case.
struct BenchmarkRow {
  BenchmarkCase given;
  std::string requested;      // the backend of the case
  std::string backend;        // the backend that ran
  std::string choice;         // AttentionPlan::measured
  double mean_kv_length = 0;  // tokens
  double operations = 0;      // of one run
  double kv_bytes = 0;        // of K and V that one run reads
  double bytes = 0;           // of Q, K, V and O
  BenchmarkAccuracy accuracy;
  std::uint32_t splits = 0;
  std::vector<double> seconds;       // of one run, in each round
  std::vector<double> read_seconds;  // of a kernel that only reads K and V, in the same rounds
  std::vector<BenchmarkPeerTimes> peers;
  std::vector<BenchmarkGoal> goals;
  // With BenchmarkOptions::alternatives: the plan's choice without times of its own, and all
  // others. The fastest comes first. Only its ratio has no bias, because it was measured once more.
  std::optional<BenchmarkAlternative> planned;
  std::vector<BenchmarkAlternative> alternatives;
  std::optional<Error> error;  // why there are no times

  // Returns whether the row has times and no run was wrong.
  bool good() const;
};

// Numbers that are computed from the medians of a row.
struct BenchmarkFigures {
  struct Peer {
    double seconds = 0;
    double ratio = 0;  // the row's time as a part of the peer's
  };
  double seconds = 0;
  double deviation = 0;  // standard deviation of the rounds
  double teraflops = 0;
  double terabytes = 0;      // per second, of Q, K, V and O
  double kv_terabytes = 0;   // per second, of K and V
  double share_of_read = 0;  // the time of only reading K and V, as a part of the run's
  std::vector<Peer> peers;   // as BenchmarkRow::peers; 0 for a peer without times
};
// REQUIRES: !row.error.
BenchmarkFigures figures_of(const BenchmarkRow& row);
// Returns the backends as "auto(templates)": the requested one and, if it differs, the one that
// ran.
std::string backend_text(const BenchmarkRow& row);

// The distance of plans from the best alternative of each row. A plan that no alternative beats has
// a ratio of 1.
struct BenchmarkPlanQuality {
  std::size_t rows = 0;          // with at least one timed alternative
  double mean_ratio = 1;         // geometric mean of the plan's time as a part of the best time
  double behind_3_percent = 0;   // share of the rows whose ratio is above 1.03
  double behind_10_percent = 0;  // share of the rows whose ratio is above 1.10
};
BenchmarkPlanQuality plan_quality_of(std::span<const BenchmarkRow> rows);

struct BenchmarkProgress {
  std::size_t done = 0;  // cases
  std::size_t total = 0;
  std::span<const BenchmarkRow> rows;    // of all finished cases
  std::span<const BenchmarkRow> latest;  // of the case that has just been finished
};

struct BenchmarkOptions {
  std::vector<BenchmarkCase> cases;
  int device = 0;
  int rounds = 20;
  std::uint64_t seed = 1;  // of the random inputs
  unsigned threads = 0;    // that compute the reference; 0: one per core
  std::vector<BenchmarkPeer> peers = {};
  std::vector<std::string> peer_environment = {};  // NAME=value, of the peers' processes
  // A folder. If it is given, the peers get our inputs as files in it, and their outputs are
  // compared too.
  std::string peer_folder = {};
  // If true, each row also times other kernels and other numbers of splits (docs/benchmarks.md).
  // They are compiled if the session may compile.
  bool alternatives = false;
  // Called after each case, on the calling thread.
  Callback<void(const BenchmarkProgress&)> progress = {};
  // Called often, from the calling thread. If it returns true the benchmark ends after the last
  // finished case.
  Callback<bool()> cancelled = {};
};

struct BenchmarkResult {
  std::string device;  // DeviceProperties::name
  int rounds = 0;
  std::uint64_t seed = 0;
  std::vector<BenchmarkRow> rows;
  bool cancelled = false;

  // Returns whether every row is correct. A missed goal does not change the result.
  bool good() const;
};

// Measures the cases on a device. First compares every row of the output with attention in double
// precision. Each round then times a CUDA graph of 20 runs over copies of K and V that exceed the
// L2, a kernel that only reads as many bytes, and the peers. The error of one case is stored in its
// rows. Errors of the whole call: invalid_argument, before anything is measured, if a case, goal or
// peer is invalid; unavailable if there is no device; io if a peer cannot be started.
Result<BenchmarkResult> benchmark(const Session& session, const BenchmarkOptions& options);

// Draws decode problems from a distribution of what servers run (docs/benchmarks.md). Equal seeds
// give equal problems on every machine, and the first n of a longer sample are the sample of n. The
// tag of case i is "sample-SEED-i".
std::vector<BenchmarkCase> sample_cases(std::uint32_t count, std::uint64_t seed);

// Returns a row as a line for people.
std::string to_line(const BenchmarkRow& row);
// Returns "18 of 20 goals are reached; not: …" with a line for each missed goal; "" if there are no
// goals.
std::string summary_of_goals(std::span<const BenchmarkRow> rows);
// Returns one sentence with plan_quality_of(); "" if no row has a timed alternative.
std::string summary_of_alternatives(std::span<const BenchmarkRow> rows);

// Returns the JSON that `cubinet bench attention --json` prints.
std::string to_json(const BenchmarkResult& result);
// Returns a table: the columns of FlashInfer's benchmark that attention has, then ours. Times are
// in milliseconds; operations and bytes are exact.
std::string to_csv(std::span<const BenchmarkRow> rows, std::uint64_t seed);

}  // namespace cubinet
