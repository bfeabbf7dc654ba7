// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/session.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A problem to measure. Equal problems are measured once; an append is left out.
struct TuneProblem {
  AttentionProblem problem;
  std::string where = {};  // begins the error of the problem: "'FILE', line 3"
  // Tokens with which all sequences begin. problem.kv_len counts them. If not 0, both attentions of
  // the plan over the shared prefix are measured, as two problems.
  std::uint32_t shared_prefix = 0;
};

// The measurement of a problem, or the error that prevented it. A problem over a shared prefix
// without a plan has one error.
struct TunedProblem {
  AttentionProblem problem;
  std::optional<TuningTable::Row> row = {};
  std::optional<Error> error = {};
  std::optional<Error> not_kept = {};  // why the row could not be written
  double seconds = 0;                  // that the measurement took
};

struct TuneProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  const TunedProblem& latest;
};

struct TuneOptions {
  std::vector<TuneProblem> problems;
  int device = 0;
  double budget_seconds = 10;   // for each problem, approximately
  std::string table_file = {};  // the rows are merged into this file; empty: into the home's table
  // Called after each problem, on the calling thread.
  Callback<void(const TuneProgress&)> progress = {};
  // Called often, from any thread. If it returns true, the measurements end. Finished ones are
  // kept.
  Callback<bool()> cancelled = {};
};

struct TuneResult {
  std::string place;                        // the home or the file that has the rows
  std::vector<TunedProblem> problems = {};  // in the order of the options
  double seconds = 0;
  bool cancelled = false;

  // Returns whether every problem was measured.
  bool complete() const;
};

// Measures which kernels run the problems fastest on a device (tune_attention) and keeps each row
// at once. Plans of sessions with this home then use the rows. The error of one problem is stored
// in its result. Errors of the whole call: unavailable without the device, or without a home or
// file to write; those of Home::open and of reading the file.
Result<TuneResult> tune(const Session& session, const TuneOptions& options);
// Returns the JSON that `cubinet tune --json` prints.
std::string to_json(const TuneResult& result);

// The plans that would be measured for a problem, the cost model's choice first, or the reason why
// there are none.
struct TuneCandidates {
  AttentionProblem problem;
  std::vector<AttentionPlan> plans = {};
  std::optional<Error> error = {};
};
// Lists the plans that tune() would measure. Compiles and writes nothing.
Result<std::vector<TuneCandidates>> tune_candidates(const Session& session, const TuneOptions& options);
std::string to_json(const std::vector<TuneCandidates>& candidates);

// The stored measurements.
struct Measurements {
  TuningTable table;
  // The indices, in table.rows(), of rows that were measured with another version of their kernel.
  // No plan uses them.
  std::vector<std::size_t> stale = {};
};
// Returns the measurements of a file or, if it is empty, of all stores of the session. Returns an
// error if a table cannot be read.
Result<Measurements> list_measurements(const Session& session, const std::string& table_file = {});
std::string to_json(const Measurements& measurements);

struct MergedMeasurements {
  std::string place;
  std::size_t merged = 0;  // rows of the files
};
// Merges tables that tune() wrote into `table_file` or, if it is empty, into the home's table.
Result<MergedMeasurements> merge_measurements(const SessionOptions& session,
                                              const std::vector<std::string>& files,
                                              const std::string& table_file = {});
std::string to_json(const MergedMeasurements& merged);

}  // namespace cubinet
