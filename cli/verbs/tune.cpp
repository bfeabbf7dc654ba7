// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bench_cases.hpp"
#include "checked_attention.hpp"
#include "describe.hpp"
#include "describe_attention.hpp"
#include "interrupt.hpp"
#include "option_lines.hpp"
#include "output_file.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/attention/tuning.hpp>
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/file_lock.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

namespace cubinet::cli {
namespace {

// What is measured, and which line of a sweep wants it.
struct WantedProblem {
  AttentionProblem problem;
  std::string where;
};

struct TuneOptions {
  AttentionArguments problem;
  std::string sweep;
  std::string output;
  std::vector<std::string> merge;
  bool show = false;
  bool dry_run = false;
  std::uint32_t budget = 10;  // seconds for a problem
  int device = 0;
  Places places;
};

std::string choice_of(const TuningTable::Row& row) {
  std::string choice = printable(row.backend);
  if (!row.kernel.name.empty()) choice += ": " + printable(row.kernel.to_string());
  if (row.splits != 0) choice += ", " + plural(row.splits, "KV split");
  return choice;
}

// Whether the row says something of a kernel that there is; where it is published only a plan can tell.
bool is_stale(const TuningTable::Row& row, const TemplateCatalog& catalog) {
  if (row.kernel.name.empty()) return false;
  const auto kernel_template = catalog.find(row.kernel.name);
  return !kernel_template || version_of(**kernel_template) != row.version;
}

nlohmann::json describe_measured(const TuningTable::Row& row) {
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

nlohmann::json describe_table(const TuningTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TuningTable::Row& row : table.rows())
    rows.push_back(describe_measured(row));
  return {{"digest", table.digest().to_hex()}, {"rows", std::move(rows)}};
}

std::string line_of(const TuningTable::Row& row) {
  const double modelled = row.modelled_microseconds;
  const double gain = modelled > 0 ? 100 * (1 - row.microseconds / modelled) : 0;
  return fmt::format("{}, batch {}, kv_len {}: {:.1f} us, {:.1f} as modelled ({:.1f} % less), {}",
                     printable(row.problem), row.batch, row.kv_len, row.microseconds,
                     row.modelled_microseconds, gain, choice_of(row));
}

// Empty where there is no file.
Result<TuningTable> read_table(const Context& context, const std::string& file, bool may_be_missing) {
  const auto bytes = context.files()->read(file, kMaximumTuningBytes);
  if (!bytes && may_be_missing && bytes.error().code == ErrorCode::not_found) return TuningTable();
  if (!bytes) {
    Error error = bytes.error();
    if (error.remedy.empty()) error.remedy = "name a table that `cubinet tune --output` has written";
    return error;
  }
  auto table = TuningTable::decode(*bytes);
  if (table) return table;
  Error error = std::move(table).error();
  error.message = "'" + file + "': " + error.message;
  return error;
}

// What the home and the other places hold, or a file of --output's.
Result<ExitStatus> show_measured(const Context& context, const TuneOptions& options) {
  TuningTable table;
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  if (!options.output.empty()) {
    CUBINET_TRY_ASSIGN(table, read_table(context, options.output, false));
  } else {
    CUBINET_TRY_ASSIGN(const auto stores, context.stores(options.places, HomeOptions::Access::read_only));
    for (const auto& store : stores) {
      CUBINET_TRY_ASSIGN(const TuningTable held, store->checked_tuning());
      table.merge(held);
    }
  }
  std::size_t stale = 0;
  for (const TuningTable::Row& row : table.rows()) {
    const bool is_of_another = is_stale(row, catalog);
    stale += is_of_another ? 1 : 0;
    context.console().text(fmt::format("{}{}; {}", line_of(row), is_of_another ? ", of another version" : "",
                                       printable(row.device)));
  }
  context.console().text(fmt::format("{}, {} of another version of its kernel, sha256:{}",
                                     plural(table.rows().size(), "measurement"), stale,
                                     table.digest().to_hex()));
  nlohmann::json document = describe_table(table);
  document["stale"] = stale;
  context.console().document(document);
  return ExitStatus::done;
}

// Held while a table is read, merged into and replaced, so that of two who measure into one file neither
// loses a row. Nothing is held where the file system has no locks.
class TableLock {
 public:
  TableLock(FileSystem& files, std::filesystem::path path, std::unique_ptr<FileLock> lock)
      : files_(files), path_(std::move(path)), lock_(std::move(lock)) {}
  TableLock(TableLock&&) = default;
  ~TableLock() {
    if (lock_ != nullptr) (void)files_.remove(path_);
  }

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::unique_ptr<FileLock> lock_;
};

Result<TableLock> lock_beside(FileSystem& files, const std::filesystem::path& file) {
  constexpr double kPatience = 10;  // seconds; a merge takes milliseconds
  const std::filesystem::path path = file.parent_path() / ("." + file.filename().string() + ".lock");
  for (const Stopwatch waited; waited.seconds() < kPatience;) {
    auto lock = files.lock(path);
    if (!lock && knows_no_locks(lock.error())) return TableLock(files, path, nullptr);
    if (!lock) return lock.error();
    if (*lock != nullptr) return TableLock(files, path, *std::move(lock));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Error{ErrorCode::busy, "'" + file.string() + "' is being written by another process", "try again"};
}

// Where the rows go: a file that was named, or the home.
class Destination {
 public:
  static Result<Destination> open(const Context& context, const TuneOptions& options) {
    Destination destination(context);
    if (options.output.empty()) {
      CUBINET_TRY_ASSIGN(destination.home_, context.open_registry(HomeOptions::Access::read_write));
      return destination;
    }
    std::vector<std::string> inputs = options.merge;
    if (!options.sweep.empty()) inputs.push_back(options.sweep);
    CUBINET_TRY_ASSIGN(destination.file_, check_output_file(*context.files(), options.output,
                                                            context.protected_files(std::move(inputs))));
    CUBINET_TRY(read_table(context, destination.file_.string(), true));  // what it is not is said now
    return destination;
  }

  std::string place() const { return home_ != nullptr ? home_->description().place : file_.string(); }
  Result<void> add(const TuningTable& table) const {
    if (home_ != nullptr) return home_->add_tuning(table);
    CUBINET_TRY_ASSIGN(const auto alone, lock_beside(*context_.files(), file_));
    CUBINET_TRY_ASSIGN(TuningTable merged, read_table(context_, file_.string(), true));
    merged.merge(table);
    const Bytes bytes = merged.encode();
    if (bytes.size() > kMaximumTuningBytes) {
      return Error{ErrorCode::unavailable,
                   fmt::format("'{}' would have {} bytes, and {} are allowed", file_.string(), bytes.size(),
                               kMaximumTuningBytes),
                   "name another file, and measure what is used"};
    }
    return write_file_atomically(*context_.files(), file_, bytes);
  }
  // What was measured now counts, though a clock that was ahead once has dated what is there later.
  Result<void> add_measured(TuningTable::Row& row) const {
    const auto held = home_ != nullptr ? home_->tuning() : read_table(context_, file_.string(), true);
    const TuningTable::Row* const before = held ? held->find(row) : nullptr;
    if (before != nullptr) TuningTable::date_after(row, *before);
    TuningTable measured;
    measured.add(row);
    return add(measured);
  }

 private:
  explicit Destination(const Context& context) : context_(context) {}

  const Context& context_;
  std::shared_ptr<Home> home_;
  std::filesystem::path file_;
};

Result<ExitStatus> merge_tables(const Context& context, const TuneOptions& options) {
  TuningTable all;
  for (const std::string& file : options.merge) {
    CUBINET_TRY_ASSIGN(const TuningTable table, read_table(context, file, false));
    all.merge(table);
  }
  CUBINET_TRY_ASSIGN(const Destination destination, Destination::open(context, options));
  CUBINET_TRY(destination.add(all));
  context.console().text(
      fmt::format("{}: {} merged", printable(destination.place()), plural(all.rows().size(), "measurement")));
  context.console().document({{"place", destination.place()}, {"merged", all.rows().size()}});
  return ExitStatus::done;
}

// What a row says of its problem, its batch and its KV length is measured once.
Result<std::vector<WantedProblem>> problems_of(const Context& context, const TuneOptions& options) {
  std::vector<BenchCase> cases(1);
  cases.front().problem = options.problem;
  if (!options.sweep.empty()) {
    CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(options.sweep, kMaximumOptionFile));
    CUBINET_TRY_ASSIGN(cases, parse_sweep(as_text(text), options.sweep));
  } else if (options.problem.kv_len == 0 || options.problem.heads_q == 0) {
    return Error{ErrorCode::invalid_argument, "there is nothing to measure",
                 "give --kv-len and --heads-q, or a --sweep; --show prints what was measured"};
  }
  std::vector<WantedProblem> problems;
  for (const BenchCase& given : cases) {
    CUBINET_TRY_ASSIGN(AttentionProblem problem, attention_problem_of(given.problem));
    problem.append.reset();
    const bool is_new = std::none_of(problems.begin(), problems.end(),
                                     [&](const WantedProblem& other) { return other.problem == problem; });
    if (is_new) problems.push_back({std::move(problem), given.where});
  }
  return problems;
}

Result<ExitStatus> list_candidates(const Context& context, Runtime& runtime, const Device& device,
                                   const std::vector<WantedProblem>& problems) {
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner,
                     AttentionPlanner::create(runtime, DeviceFacts::of(device.properties())));
  nlohmann::json results = nlohmann::json::array();
  bool good = true;
  for (const auto& [problem, where] : problems) {
    CUBINET_TRY_ASSIGN(const std::vector<AttentionPlan> plans,
                       tuning_candidates(planner.request(problem), planner.backends()));
    if (plans.empty()) {
      good = false;
      CUBINET_TRY_ASSIGN(const AttentionResolution resolution,
                         planner.resolve(problem, {.uses_tuning = false}));
      const Error error = of_case(resolution.error(), where);
      nlohmann::json failed = error_document(error);
      failed["problem"] = describe(problem);
      results.push_back(std::move(failed));
      context.console().error(error);
      continue;
    }
    nlohmann::json candidates = nlohmann::json::array();
    for (const AttentionPlan& plan : plans) {
      // Of one tile there are several kernels: of other stages, say.
      const auto* kernel = std::get_if<KernelSpec>(&plan.steps[plan.attention_step()].kernel);
      context.console().text(summary_of(plan) +
                             (kernel == nullptr ? std::string() : ", " + printable(kernel->to_string())));
      candidates.push_back(describe(plan));
    }
    results.push_back({{"problem", describe(problem)}, {"candidates", std::move(candidates)}});
  }
  context.console().document({{"results", std::move(results)}});
  return good ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> tune(const Context& context, const TuneOptions& options) {
  if (options.output == "-") {
    return Error{ErrorCode::invalid_argument, "--output: a table is merged into a file, and '-' is none",
                 "name a file; ./- if that is its name"};
  }
  if (options.show) return show_measured(context, options);
  if (!options.merge.empty()) return merge_tables(context, options);
  CUBINET_TRY_ASSIGN(const std::vector<WantedProblem> problems, problems_of(context, options));
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog({}));
  const InterruptGuard interrupt(InterruptGuard::First::ends);  // not by a handler of NVRTC's
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, {}, {}, options.places));
  // Once, not for each problem.
  CUBINET_TRY_ASSIGN(const auto device, runtime->device(options.device));
  if (options.dry_run) return list_candidates(context, *runtime, *device, problems);
  CUBINET_TRY_ASSIGN(const Destination destination, Destination::open(context, options));
  const Stopwatch all;
  nlohmann::json results = nlohmann::json::array();
  std::size_t measured = 0;
  std::optional<Error> not_kept;
  for (const auto& [problem, where] : problems) {
    const Stopwatch one;
    auto row = tune_attention(*runtime, problem, options.device, {}, nullptr, options.budget);
    if (!row) {
      const Error error = of_case(row.error(), where);
      nlohmann::json failed = error_document(error);
      failed["problem"] = describe(problem);
      results.push_back(std::move(failed));
      context.console().error(error);
      continue;
    }
    ++measured;
    // One by one: a sweep may take an hour, and what cannot be kept now may be the next time. What was
    // measured is printed all the same.
    if (auto kept = destination.add_measured(*row); !kept) {
      if (!not_kept) context.console().message(LogLevel::warning, kept.error().to_line());
      not_kept = std::move(kept).error();
    }
    context.console().text(fmt::format("{}; {} in {:.1f} s", line_of(*row),
                                       plural(row->candidates, "candidate"), one.seconds()));
    results.push_back(describe_measured(*row));
    results.back()["seconds"] = one.seconds();
  }
  const bool good = measured == problems.size();
  context.console().text(fmt::format("{}: {}{} in {:.1f} s", printable(destination.place()),
                                     good ? "" : fmt::format("{} of ", measured),
                                     plural(problems.size(), "problem"), all.seconds()));
  context.console().document(
      {{"place", destination.place()}, {"results", std::move(results)}, {"seconds", all.seconds()}});
  if (not_kept) return *std::move(not_kept);
  return good ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_tune(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("tune", "Measure which kernels are fastest on a GPU, for later plans");
  auto options = std::make_shared<TuneOptions>();
  add_operation_argument(*verb, options->problem);
  add_attention_arguments(*verb, options->problem);
  const std::vector<CLI::Option*> of_a_problem = verb->get_options([](const CLI::Option* option) {
    return option->get_name() != "--help" && option->get_name() != "-h,--help";
  });
  CLI::Option* sweep =
      verb->add_option("--sweep", options->sweep, "Problems from a file, instead of the one of the line")
          ->type_name("FILE");
  for (CLI::Option* option : of_a_problem) {
    option->required(false);
    sweep->excludes(option);
  }
  CLI::Option* shown = verb->add_flag("--show", options->show, "Print what was measured; measure nothing");
  CLI::Option* merged = add_list(*verb, "--merge", options->merge, "FILE",
                                 "Merge the table of a file into the home's; measure nothing");
  shown->excludes(sweep)->excludes(merged);
  merged->excludes(sweep);
  // They say no problem: as a filter it would be ignored.
  for (CLI::Option* option : of_a_problem) {
    shown->excludes(option);
    merged->excludes(option);
  }
  CLI::Option* dry = verb->add_flag("--dry-run", options->dry_run, "Print what would be measured");
  dry->excludes(shown)->excludes(merged);
  add_text(*verb, "-o,--output", options->output, "FILE",
           "A table to merge into, instead of the home's; with --show, to print");
  add_integer(*verb, "--budget", options->budget, 1, 86'400, "Seconds for a problem, about (default: 10)");
  add_integer(*verb, "--device", options->device, 0, 1023, "The GPU's number (default: 0)");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(
      R"(Kernels that do not exist are compiled and kept. Each candidate is timed in a CUDA graph over copies of K and V that
no L2 holds. Plans that are made with the home, or with a bundle that has the table, then take what was fastest.

Examples:
  cubinet tune --batch 64 --kv-len 8192 --heads-q 64 --heads-kv 8
  cubinet tune --sweep bench/sweeps/decode.txt --budget 5 -o h200.tuning
  cubinet tune --merge h200.tuning
  cubinet tune --show)");
  choose<TuneOptions>(*verb, chosen, options, tune);
}

}  // namespace cubinet::cli
