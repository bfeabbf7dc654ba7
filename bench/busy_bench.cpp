// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"
#include "latency_histogram.hpp"
#include "launch_threads.hpp"
#include "launch_timing.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace cubinet::bench {
namespace {

constexpr int kBusyKernels = 200;
constexpr unsigned kBusyThreads = 15;  // the 16th compiles

// The traffic stops if a load takes longer behind it.
constexpr std::chrono::seconds kLongestLoad(10);

// A source that NVRTC compiles for about ten seconds: 330 inlined double precision functions.
SourceProgram slow_program(int variant) {
  SourceProgram program;
  program.name = "slow";
  program.text = "extern \"C\" __global__ void slow(double* p) {\n  double x = p[threadIdx.x];\n";
  for (int i = 0; i < 330; ++i) {
    program.text += "  x = sin(x) + pow(x, " + std::to_string(i) + "." + std::to_string(variant) + ");\n";
  }
  program.text += "  p[threadIdx.x] = x;\n}\n";
  return program;
}

// The hits of all threads from begin() to end().
class Traffic {
 public:
  using Hit = std::function<Result<void>(unsigned thread, int i, CUstream stream)>;

  Traffic(std::shared_ptr<const Device> device, const std::vector<Stream>& streams, Hit hit, int batch)
      : streams_(streams), hit_(std::move(hit)), batch_(batch), latencies_(kBusyThreads) {
    thread_ = std::thread([this, device = std::move(device)] {
      outcome_ = run_threads(*device, kBusyThreads, [this](unsigned index) { return work(index); });
    });
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  ~Traffic() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Stops the threads and returns what they measured.
  Result<LatencyHistogram> end() {
    stopped_ = true;
    thread_.join();
    CUBINET_TRY(outcome_);
    LatencyHistogram all;
    for (const LatencyHistogram& one : latencies_)
      all.merge(one);
    return all;
  }

 private:
  Result<void> work(unsigned index) {
    for (int i = 0; !stopped_.load(std::memory_order_relaxed); ++i) {
      const auto start = std::chrono::steady_clock::now();
      CUBINET_TRY(hit_(index, i, streams_[index].handle()));
      const auto taken = std::chrono::steady_clock::now() - start;
      latencies_[index].add(static_cast<std::uint64_t>(std::chrono::nanoseconds(taken).count()));
      if (i % batch_ == batch_ - 1) CUBINET_TRY(streams_[index].synchronize());
    }
    return {};
  }

  const std::vector<Stream>& streams_;
  Hit hit_;
  int batch_;
  std::vector<LatencyHistogram> latencies_;
  std::atomic<bool> stopped_{false};
  Result<void> outcome_;
  std::thread thread_;
};

nlohmann::json described(const LatencyHistogram& latencies) {
  return {{"hits", latencies.total()},
          {"p50_ns", latencies.quantile(0.5)},
          {"p99_ns", latencies.quantile(0.99)},
          {"p999_ns", latencies.quantile(0.999)},
          {"maximum_ns", latencies.maximum()}};
}

struct Bench {
  const Settings& settings;
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Device> device;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<Stream> streams;
  int variants = 0;
};

// Measures one kind of hit in `rounds` rounds: without a compilation, during one, and during the
// load of the compiled kernel.
Result<void> add_hits(Bench& bench, const std::string& name, int batch, const Traffic::Hit& hit,
                      Report& report) {
  std::vector<double> ratios;
  nlohmann::json row = {{"name", name}, {"threads", kBusyThreads}, {"rounds", nlohmann::json::array()}};
  const SmTarget target = best_target(bench.settings.device);
  for (int round = 0; round < bench.settings.rounds; ++round) {
    CUBINET_TRY_ASSIGN(const auto slow, bench.runtime->resolve(slow_program(bench.variants++)));
    Traffic compiling(bench.device, bench.streams, hit, batch);
    double start = now_seconds();
    CUBINET_TRY(bench.runtime->cubin(slow->spec(), target));
    const double seconds = now_seconds() - start;
    CUBINET_TRY_ASSIGN(const LatencyHistogram during, compiling.end());

    Traffic undisturbed(bench.device, bench.streams, hit, batch);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    CUBINET_TRY_ASSIGN(const LatencyHistogram without, undisturbed.end());

    Traffic loading(bench.device, bench.streams, hit, batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start = now_seconds();
    auto load = std::async(std::launch::async, [&] {
      const auto function = bench.runtime->function(*slow, bench.settings.device);
      return std::pair(function ? Result<void>() : function.error(), now_seconds());
    });
    const bool ended = load.wait_for(kLongestLoad) == std::future_status::ready;
    CUBINET_TRY_ASSIGN(const LatencyHistogram behind_load, loading.end());
    const auto [loaded, end] = load.get();
    CUBINET_TRY(loaded);
    row["rounds"].push_back({{"compile_seconds", seconds},
                             {"load_seconds", end - start},
                             {"load_ended_during_traffic", ended},
                             {"without", described(without)},
                             {"compiling", described(during)},
                             {"loading", described(behind_load)}});
    ratios.push_back(static_cast<double>(during.quantile(0.99)) /
                     static_cast<double>(without.quantile(0.99)));
  }
  const double ratio = median(ratios);
  row["ratios"]["p99 while a key compiles : p99 without"] = {
      {"median", ratio}, {"goal", 1.5}, {"met", ratio <= 1.5}};
  report.add(std::move(row));
  return {};
}

}  // namespace

Result<void> bench_busy(const Settings& settings, Report& report) {
  CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings, fresh_path(settings, "home")));
  Bench bench{settings, {}, {}, {}, {}};
  CUBINET_TRY_ASSIGN(bench.runtime, Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(bench.device, bench.runtime->device(settings.device));
  CUBINET_TRY_ASSIGN(bench.kernels, load_small_kernels(*bench.runtime, settings.device, kBusyKernels));
  for (unsigned i = 0; i < kBusyThreads; ++i) {
    CUBINET_TRY_ASSIGN(Stream stream, Stream::create(bench.device));
    bench.streams.push_back(std::move(stream));
  }
  report.set(
      "method",
      "15 threads on 200 kernels; a 16th compiles a kernel for about 10 s, then nobody does for as "
      "long, then it loads the kernel. Every hit is timed. The traffic stops 10 s after the load began");
  const auto kernel = [&](unsigned thread, int i) -> const Kernel& {
    return *bench.kernels[(thread * 13 + static_cast<unsigned>(i)) % kBusyKernels];
  };
  CUBINET_TRY(add_hits(
      bench, "look-up", 1 << 20,
      [&](unsigned thread, int i, CUstream) -> Result<void> {
        const Result<Function> function = bench.runtime->function(kernel(thread, i), settings.device);
        return function ? Result<void>() : function.error();
      },
      report));
  const BenchStruct argument;
  return add_hits(
      bench, "look-up and launch", kLaunchesOfBatch,
      [&](unsigned thread, int i, CUstream stream) -> Result<void> {
        const Result<Function> function = bench.runtime->function(kernel(thread, i), settings.device);
        if (!function) return function.error();
        LaunchConfig config;
        config.stream = stream;
        return function->launch(config, argument);
      },
      report);
}

}  // namespace cubinet::bench
