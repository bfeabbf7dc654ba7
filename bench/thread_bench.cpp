// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"
#include "look_up_timing.hpp"

#include <array>

namespace cubinet::bench {
namespace {

constexpr int kKernels = 200;
constexpr std::array kThreads = {1U, 2U, 4U, 8U};

// The kernels of the benchmark, loaded on each device that it uses.
struct Loaded {
  std::shared_ptr<Runtime> runtime;
  std::vector<KernelSpec> specs;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  int devices = 1;
};

Result<Loaded> load(const Settings& settings, const ThreadOptions& options) {
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings,
                     runtime_options(settings, fresh_path(settings, "home")));
  if (!options.driver.empty()) runtime_settings.driver_library = options.driver.string();
  Loaded loaded;
  CUBINET_TRY_ASSIGN(loaded.runtime, Runtime::create(std::move(runtime_settings)));
  CUBINET_TRY_ASSIGN(const auto device, loaded.runtime->device(settings.device));
  loaded.devices = static_cast<int>(device->driver()->devices().size());
  for (int variant = 0; variant < kKernels; ++variant) {
    loaded.specs.push_back(small_spec("bench_struct", variant));
    CUBINET_TRY_ASSIGN(loaded.kernels.emplace_back(), loaded.runtime->resolve(loaded.specs.back()));
    CUBINET_TRY(loaded.runtime->function(*loaded.kernels.back(), settings.device));
  }
  for (int ordinal = 0; ordinal < loaded.devices; ++ordinal)
    CUBINET_TRY(loaded.runtime->function(*loaded.kernels.front(), ordinal));
  return loaded;
}

using LookUp = std::function<Result<Function>(unsigned, int)>;

// Adds a row of the seconds per look-up at each number of threads, with ratios to one thread.
Result<void> add_row(const Settings& settings, const std::string& name, unsigned most_threads,
                     const LookUp& look_up, Report& report) {
  std::vector<Contender> contenders;
  for (const unsigned threads : kThreads) {
    if (threads > most_threads) continue;
    contenders.push_back({std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                          [&look_up, threads] { return time_look_ups(threads, look_up); }});
  }
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row = report.rounds_row(name, rounds, "ns");
  for (std::size_t i = 1; i < contenders.size(); ++i)
    Report::add_ratio(row, rounds, i, 0, std::nullopt);
  report.add(std::move(row));
  return {};
}

}  // namespace

Result<void> bench_threads(const Settings& settings, const ThreadOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(const Loaded loaded, load(settings, options));
  Runtime& runtime = *loaded.runtime;
  const auto kernel = [](int i) { return static_cast<std::size_t>(i % kKernels); };
  report.set("method",
             "median over the threads of the mean of 100,000 look-ups; the Function is dropped each time");
  CUBINET_TRY(add_row(
      settings, "one kernel, one device", kThreads.back(),
      [&](unsigned, int) { return runtime.function(*loaded.kernels.front(), settings.device); }, report));
  CUBINET_TRY(add_row(
      settings, "200 kernels, one device", kThreads.back(),
      [&](unsigned thread, int i) {
        return runtime.function(*loaded.kernels[kernel(i + static_cast<int>(thread) * 25)], settings.device);
      },
      report));
  CUBINET_TRY(add_row(
      settings, "200 kernels by specification, one device", kThreads.back(),
      [&](unsigned thread, int i) {
        return runtime.function(loaded.specs[kernel(i + static_cast<int>(thread) * 25)], settings.device);
      },
      report));
  return add_row(
      settings, "one kernel, a device for each thread", static_cast<unsigned>(loaded.devices),
      [&](unsigned thread, int) {
        return runtime.function(*loaded.kernels.front(), static_cast<int>(thread));
      },
      report);
}

}  // namespace cubinet::bench
