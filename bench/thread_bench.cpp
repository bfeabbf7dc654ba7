// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"
#include "benchmarks.hpp"
#include "launch_threads.hpp"
#include "look_up_timing.hpp"

#include <array>

namespace cubinet::bench {
namespace {

constexpr int kThreadKernels = 200;
constexpr std::array kLookUpThreads = {1U, 2U, 4U, 8U};
constexpr std::array kLaunchThreads = {1U, 4U, 8U, 16U};

// The kernels of the benchmark, loaded on each device that it uses.
struct Loaded {
  std::shared_ptr<Runtime> runtime;
  std::vector<KernelSpec> specs;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<CUfunction> handles;  // of the kernels on the first device
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
  CUBINET_TRY_ASSIGN(loaded.kernels, load_small_kernels(*loaded.runtime, settings.device, kThreadKernels));
  for (const auto& kernel : loaded.kernels) {
    loaded.specs.push_back(small_spec("bench_struct", static_cast<int>(loaded.specs.size())));
    CUBINET_TRY_ASSIGN(const Function function, loaded.runtime->function(*kernel, settings.device));
    loaded.handles.push_back(function.handle());
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
  for (const unsigned threads : kLookUpThreads) {
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

Result<void> launch_bare(const BareDriverApi& api, CUfunction function, CUstream stream,
                         const BenchStruct& argument) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  void* pointer = const_cast<BenchStruct*>(&argument);
  return check(api.launch_kernel_ex(&config, function, &pointer, nullptr), "cuLaunchKernelEx");
}

// Adds a row of the seconds per launch with `count` kernels by as many threads, beside launches by
// the driver alone on as many threads.
Result<void> add_launches(const Settings& settings, const Loaded& loaded, const std::vector<Stream>& streams,
                          int count, unsigned threads, Report& report) {
  CUBINET_TRY_ASSIGN(const BareDriver driver, BareDriver::open(settings.device));
  Runtime& runtime = *loaded.runtime;
  const BenchStruct argument;
  const auto kernel = [count](unsigned thread, int i) {
    return static_cast<std::size_t>((static_cast<int>(thread) * 25 + i) % count);
  };
  const auto bare = [&]() {
    return time_thread_launches(streams, threads, [&](unsigned thread, int i, CUstream stream) {
      return launch_bare(driver.api(), loaded.handles[kernel(thread, i)], stream, argument);
    });
  };
  const auto launched = [&](const Result<Function>& function, CUstream stream) -> Result<void> {
    if (!function) return function.error();
    LaunchConfig config;
    config.stream = stream;
    return function->launch(config, argument);
  };
  const std::vector<Contender> contenders = {
      {"bare cuLaunchKernelEx", bare},
      {"look-up and launch",
       [&] {
         return time_thread_launches(streams, threads, [&](unsigned thread, int i, CUstream stream) {
           return launched(runtime.function(*loaded.kernels[kernel(thread, i)], settings.device), stream);
         });
       }},
      {"look-up by specification and launch",
       [&] {
         return time_thread_launches(streams, threads, [&](unsigned thread, int i, CUstream stream) {
           return launched(runtime.function(loaded.specs[kernel(thread, i)], settings.device), stream);
         });
       }},
      {"bare cuLaunchKernelEx, again", bare},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row =
      report.rounds_row("launches, " + std::string(count == 1 ? "one kernel" : "200 kernels") + ", " +
                            std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                        rounds, "ns");
  Report::add_ratio(row, rounds, 1, 0, 1.03);
  Report::add_ratio(row, rounds, 2, 0, 1.08);
  // the spread of two measurements of the same thing
  Report::add_ratio(row, rounds, 3, 0, std::nullopt);
  report.add(std::move(row));
  return {};
}

Result<void> add_all_launches(const Settings& settings, const Loaded& loaded, Report& report) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, loaded.runtime->device(settings.device));
  std::vector<Stream> streams;
  for (unsigned i = 0; i < kLaunchThreads.back(); ++i) {
    CUBINET_TRY_ASSIGN(Stream stream, Stream::create(device));
    streams.push_back(std::move(stream));
  }
  for (const int count : {1, kThreadKernels}) {
    for (const unsigned threads : kLaunchThreads)
      CUBINET_TRY(add_launches(settings, loaded, streams, count, threads, report));
  }
  return {};
}

}  // namespace

Result<void> bench_threads(const Settings& settings, const ThreadOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(const Loaded loaded, load(settings, options));
  Runtime& runtime = *loaded.runtime;
  const auto kernel = [](int i) { return static_cast<std::size_t>(i % kThreadKernels); };
  report.set(
      "method",
      "look-ups: median over the threads of the mean of 100,000; the Function is dropped each time. "
      "Launches: mean over the threads of 16 batches of 256, each thread on its own stream, each batch "
      "waited for untimed");
  if (options.driver.empty()) CUBINET_TRY(add_all_launches(settings, loaded, report));
  CUBINET_TRY(add_row(
      settings, "one kernel, one device", kLookUpThreads.back(),
      [&](unsigned, int) { return runtime.function(*loaded.kernels.front(), settings.device); }, report));
  CUBINET_TRY(add_row(
      settings, "200 kernels, one device", kLookUpThreads.back(),
      [&](unsigned thread, int i) {
        return runtime.function(*loaded.kernels[kernel(i + static_cast<int>(thread) * 25)], settings.device);
      },
      report));
  CUBINET_TRY(add_row(
      settings, "200 kernels by specification, one device", kLookUpThreads.back(),
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
