// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"
#include "benchmarks.hpp"
#include "process_timing.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/prepare.hpp>

#include <fstream>
#include <mutex>
#include <thread>

namespace cubinet::bench {
namespace {

struct PrepareBench {
  const Settings& settings;
  const PrepareBenchOptions& options;
  Workload workload;
  unsigned jobs = 1;
};

// Prepares the workload in a new session and returns the seconds from its opening to the last load.
Result<double> prepare_once(const PrepareBench& bench, SessionOptions options) {
  options.compiler = bench.settings.compiler;
  const double start = now_seconds();
  CUBINET_TRY_ASSIGN(const auto session, Session::open(std::move(options)));
  CUBINET_TRY_ASSIGN(
      const PrepareResult prepared,
      prepare(*session, bench.workload, {.device = bench.settings.device, .jobs = bench.jobs}));
  const double seconds = now_seconds() - start;
  if (prepared.error) return *prepared.error;
  return seconds;
}

Result<std::vector<Cubin>> kernels_of(const std::string& home) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> store, Home::open({.path = home}));
  CUBINET_TRY_ASSIGN(const CubinRecords records, store->list());
  std::vector<Cubin> cubins;
  for (const auto& record : records) {
    CUBINET_TRY_ASSIGN(std::optional<Cubin> cubin, store->load(record));
    if (!cubin) return Error{ErrorCode::internal, "a new home lost a kernel"};
    cubins.push_back(*std::move(cubin));
  }
  return cubins;
}

// Writes the complete source of each kernel to its own file.
Result<std::vector<std::vector<std::string>>> nvcc_commands(const PrepareBench& bench,
                                                            const std::vector<Cubin>& cubins) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, TemplateCatalog::builtin());
  std::vector<std::vector<std::string>> commands;
  for (const Cubin& cubin : cubins) {
    CompileRequest request;
    CUBINET_TRY_ASSIGN(request.spec, decode_kernel(cubin.record->identity.kernel_encoding()));
    CUBINET_TRY_ASSIGN(request.kernel_template, templates.find(request.spec.name));
    request.target = cubin.record->target;
    CUBINET_TRY_ASSIGN(const std::string source, specialised_source(request));
    const std::string file = fresh_path(bench.settings, "kernel").replace_extension(".cu").string();
    std::ofstream(file) << source;
    const std::string target = request.target.to_string();  // "sm_90a"
    commands.push_back({bench.options.nvcc, "-shared", "-Xcompiler", "-fPIC", "-std=c++17", "-gencode",
                        "arch=compute_" + target.substr(3) + ",code=" + target, "-o", file + ".so", file});
  }
  return commands;
}

// Runs all commands, `jobs` at a time.
Result<double> run_all(const std::vector<std::vector<std::string>>& commands, unsigned jobs) {
  std::mutex mutex;
  Result<void> outcome;
  const double start = now_seconds();
  parallel_for(commands.size(), jobs, [&](std::size_t index) {
    const Result<double> ended = time_process(commands[index]);
    const std::lock_guard lock(mutex);
    if (!ended) outcome = ended.error();
  });
  CUBINET_TRY(outcome);
  return now_seconds() - start;
}

// Returns the kernels that the preparation compiled.
Result<std::vector<Cubin>> add_cold(const PrepareBench& bench, Report& report) {
  const std::string first_home = fresh_path(bench.settings, "home").string();
  CUBINET_TRY(prepare_once(bench, {.home = first_home}));
  CUBINET_TRY_ASSIGN(std::vector<Cubin> cubins, kernels_of(first_home));
  if (bench.options.cold_rounds == 0) return cubins;
  std::vector<Contender> contenders = {
      {"prepare, empty home",
       [&] { return prepare_once(bench, {.home = fresh_path(bench.settings, "home").string()}); }}};
  if (!bench.options.nvcc.empty()) {
    CUBINET_TRY_ASSIGN(auto commands, nvcc_commands(bench, cubins));
    contenders.push_back(
        {"nvcc -shared", [&bench, commands = std::move(commands)] { return run_all(commands, bench.jobs); }});
  }
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, bench.options.cold_rounds));
  nlohmann::json row = report.rounds_row(
      "cold, " + std::to_string(cubins.size()) + " kernels on " + std::to_string(bench.jobs) + " cores",
      rounds, "ms");
  if (contenders.size() > 1) Report::add_ratio(row, rounds, 0, 1, 0.35);
  report.add(std::move(row));
  return cubins;
}

Result<void> add_from_bundle(const PrepareBench& bench, const std::vector<Cubin>& cubins, Report& report) {
  CUBINET_TRY_ASSIGN(const BareDriver driver, BareDriver::open(bench.settings.device));
  const std::string bundle = fresh_path(bench.settings, "kernels.bundle").string();
  CUBINET_TRY(create_bundle(bundle, cubins, {"bench", 1}));
  const std::vector<Contender> contenders = {
      {"prepare, from a bundle",
       [&] {
         return prepare_once(bench, {.bundles = {{.place = bundle}}, .compile = CompilePolicy::never});
       }},
      {"bare driver",
       [&]() -> Result<double> {
         std::vector<BareKernel> loaded;
         const double start = now_seconds();
         for (const Cubin& cubin : cubins) {
           CUBINET_TRY_ASSIGN(loaded.emplace_back(), load_bare(driver.api(), cubin));
         }
         const double seconds = now_seconds() - start;
         for (const BareKernel& kernel : loaded)
           driver.api().library_unload(kernel.library);
         return seconds;
       }},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, bench.settings.rounds));
  nlohmann::json row =
      report.rounds_row("from a bundle, " + std::to_string(cubins.size()) + " kernels", rounds, "ms");
  Report::add_ratio(row, rounds, 0, 1, 1.5);
  const double seconds = rounds.median_seconds(0);
  row["ratios"]["prepare, from a bundle : 0.1 s"] = {
      {"median", seconds / 0.1}, {"goal", 1}, {"met", seconds <= 0.1}};
  report.add(std::move(row));
  return {};
}

}  // namespace

Result<void> bench_prepare(const Settings& settings, const PrepareBenchOptions& options, Report& report) {
  PrepareBench bench{settings, options, {}, options.jobs};
  if (bench.jobs == 0) bench.jobs = std::max(1U, std::thread::hardware_concurrency());
  CUBINET_TRY_ASSIGN(bench.workload, Workload::read(options.workload.string()));
  report.set("method",
             "a new session in this process, from its opening to the last load; nvcc: one process for each "
             "kernel, as many at a time as there are cores; bare driver: one load after the other");
  report.set("workload_entries", bench.workload.size());
  CUBINET_TRY_ASSIGN(const std::vector<Cubin> cubins, add_cold(bench, report));
  return add_from_bundle(bench, cubins, report);
}

}  // namespace cubinet::bench
