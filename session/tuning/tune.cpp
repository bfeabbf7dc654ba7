// SPDX-License-Identifier: Apache-2.0
#include "tuning/tuning_place.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/attention/tuning.hpp>
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/session/attention_json.hpp>
#include <cubinet/session/checked_shared_prefix.hpp>
#include <cubinet/session/error_place.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/tune.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// A problem to measure, or the reason why it has no plan.
struct MeasuredProblem {
  AttentionProblem problem;
  std::string where;
  std::optional<Error> error = {};
};

// Returns the problems of the two attentions over a shared prefix.
Result<std::vector<AttentionProblem>> parts_of(const Session& session, const DeviceProperties& device,
                                               const TuneProblem& given) {
  CUBINET_TRY_ASSIGN(const SharedPrefixProblem shared,
                     one_prefix_problem(given.problem, given.shared_prefix));
  CUBINET_TRY_ASSIGN(SharedPrefixPlan plan,
                     session.plan(without_lengths(shared), DeviceFacts::of(device), {}, device.name));
  return std::vector{std::move(plan.own.problem), std::move(plan.prefix.problem)};
}

// Returns the problems to measure: without an append, each one once.
Result<std::vector<MeasuredProblem>> problems_to_measure(const Session& session, const TuneOptions& options) {
  CUBINET_TRY_ASSIGN(const auto device, session.device(options.device));
  std::vector<MeasuredProblem> problems;
  for (const TuneProblem& given : options.problems) {
    std::vector<AttentionProblem> parts = {given.problem};
    if (given.shared_prefix > 0) {
      auto found = parts_of(session, device->properties(), given);
      if (!found) {
        problems.push_back({given.problem, given.where, with_place(std::move(found).error(), given.where)});
        continue;
      }
      parts = *std::move(found);
    }
    for (AttentionProblem& part : parts) {
      part.append.reset();
      const bool is_new = std::none_of(problems.begin(), problems.end(), [&](const MeasuredProblem& other) {
        return !other.error && other.problem == part;
      });
      if (is_new) problems.push_back({std::move(part), given.where});
    }
  }
  return problems;
}

// Returns whether a row does not apply to the current template. For published kernels only a plan
// can determine that.
bool is_stale(const TuningTable::Row& row, const TemplateCatalog& catalog) {
  if (row.kernel.name.empty()) return false;
  const auto kernel_template = catalog.find(row.kernel.name);
  return !kernel_template || version_of(**kernel_template) != row.version;
}

nlohmann::json row_json(const TuningTable::Row& row) {
  nlohmann::json described = {{"problem", row.problem},
                              {"batch", row.batch},
                              {"kv_len", row.kv_len},
                              {"device", row.device},
                              {"driver", row.driver},
                              {"version", row.version},
                              {"backend", row.backend},
                              {"kernel", nullptr},
                              {"splits", nullptr},
                              {"microseconds", row.microseconds},
                              {"modelled_microseconds", row.modelled_microseconds},
                              {"candidates", row.candidates},
                              {"measured", row.measured}};
  if (!row.kernel.name.empty()) described["kernel"] = describe(row.kernel);
  if (row.splits != 0) described["splits"] = row.splits;
  return described;
}

nlohmann::json failed_json(const AttentionProblem& problem, const Error& error) {
  nlohmann::json failed = error_document(error);
  failed["problem"] = describe(problem);
  return failed;
}

}  // namespace

bool TuneResult::complete() const {
  return !cancelled && std::all_of(problems.begin(), problems.end(),
                                   [](const TunedProblem& problem) { return problem.row.has_value(); });
}

Result<TuneResult> tune(const Session& session, const TuneOptions& options) {
  CUBINET_TRY_ASSIGN(const std::vector<MeasuredProblem> problems, problems_to_measure(session, options));
  CUBINET_TRY_ASSIGN(const TuningPlace place, TuningPlace::open(session.options(), options.table_file));
  TuneAttentionOptions measuring;
  measuring.budget_seconds = options.budget_seconds;
  measuring.cancelled = options.cancelled;
  const auto is_cancelled = [&] { return options.cancelled && options.cancelled(); };
  TuneResult result;
  result.place = place.name();
  const Stopwatch all;
  for (const auto& [problem, where, error] : problems) {
    if ((result.cancelled = is_cancelled())) break;
    const Stopwatch one;
    TunedProblem tuned;
    tuned.problem = problem;
    if (error) {
      tuned.error = error;
    } else if (auto row = tune_attention(session.runtime(), problem, options.device, measuring)) {
      tuned.row = *std::move(row);
      // A later row may be kept even if this one cannot be.
      if (auto kept = place.add_measured(*tuned.row); !kept) tuned.not_kept = std::move(kept).error();
    } else if ((result.cancelled = is_cancelled())) {
      break;
    } else {
      tuned.error = with_place(std::move(row).error(), where);
    }
    tuned.seconds = one.seconds();
    result.problems.push_back(std::move(tuned));
    if (options.progress) options.progress({result.problems.size(), problems.size(), result.problems.back()});
  }
  result.seconds = all.seconds();
  return result;
}

std::string to_json(const TuneResult& result) {
  nlohmann::json results = nlohmann::json::array();
  for (const TunedProblem& tuned : result.problems) {
    if (tuned.row) {
      results.push_back(row_json(*tuned.row));
      results.back()["seconds"] = tuned.seconds;
    } else if (tuned.error) {
      results.push_back(failed_json(tuned.problem, *tuned.error));
    }
  }
  nlohmann::json document = {
      {"place", result.place}, {"results", std::move(results)}, {"seconds", result.seconds}};
  if (result.cancelled) document["cancelled"] = true;
  return json_text(document);
}

Result<std::vector<TuneCandidates>> tune_candidates(const Session& session, const TuneOptions& options) {
  CUBINET_TRY_ASSIGN(const auto device, session.device(options.device));
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(session.runtime(), DeviceFacts::of(device->properties())));
  CUBINET_TRY_ASSIGN(const std::vector<MeasuredProblem> problems, problems_to_measure(session, options));
  std::vector<TuneCandidates> listed;
  for (const auto& [problem, where, error] : problems) {
    TuneCandidates& candidates = listed.emplace_back();
    candidates.problem = problem;
    if ((candidates.error = error)) continue;
    auto plans = tuning_candidates(planner.request(problem), planner.backends());
    if (plans) {
      candidates.plans = *std::move(plans);
    } else if (plans.error().code == ErrorCode::unsupported) {
      candidates.error = with_place(std::move(plans).error(), where);
    } else {
      return std::move(plans).error();
    }
  }
  return listed;
}

std::string to_json(const std::vector<TuneCandidates>& candidates) {
  nlohmann::json results = nlohmann::json::array();
  for (const TuneCandidates& each : candidates) {
    if (each.error) {
      results.push_back(failed_json(each.problem, *each.error));
      continue;
    }
    nlohmann::json plans = nlohmann::json::array();
    for (const AttentionPlan& plan : each.plans)
      plans.push_back(describe(plan));
    results.push_back({{"problem", describe(each.problem)}, {"candidates", std::move(plans)}});
  }
  return json_text({{"results", std::move(results)}});
}

Result<Measurements> list_measurements(const Session& session, const std::string& table_file) {
  Measurements measurements;
  if (!table_file.empty()) {
    CUBINET_TRY_ASSIGN(measurements.table, read_tuning_file(*posix_file_system(), table_file, false));
  } else {
    for (const auto& store : session.runtime().stores()) {
      RowTable* const table = row_table_of(*store);
      if (table == nullptr) continue;
      CUBINET_TRY_ASSIGN(const TuningTable held, table->checked_tuning());
      measurements.table.merge(held);
    }
  }
  for (std::size_t i = 0; i < measurements.table.rows().size(); ++i) {
    if (is_stale(measurements.table.rows()[i], session.runtime().templates()))
      measurements.stale.push_back(i);
  }
  return measurements;
}

std::string to_json(const Measurements& measurements) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TuningTable::Row& row : measurements.table.rows())
    rows.push_back(row_json(row));
  return json_text({{"digest", measurements.table.digest().to_hex()},
                    {"rows", std::move(rows)},
                    {"stale", measurements.stale.size()}});
}

Result<MergedMeasurements> merge_measurements(const SessionOptions& session,
                                              const std::vector<std::string>& files,
                                              const std::string& table_file) {
  TuningTable all;
  for (const std::string& file : files) {
    CUBINET_TRY_ASSIGN(const TuningTable table, read_tuning_file(*posix_file_system(), file, false));
    all.merge(table);
  }
  CUBINET_TRY_ASSIGN(const TuningPlace place, TuningPlace::open(session, table_file));
  CUBINET_TRY(place.add(all));
  return MergedMeasurements{place.name(), all.rows().size()};
}

std::string to_json(const MergedMeasurements& merged) {
  return json_text({{"place", merged.place}, {"merged", merged.merged}});
}

}  // namespace cubinet
