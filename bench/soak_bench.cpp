// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"
#include "benchmarks.hpp"
#include "launch_threads.hpp"
#include "launch_timing.hpp"

#include <cubinet/loader/memory.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <random>
#include <thread>
#include <unistd.h>

namespace cubinet::bench {
namespace {

constexpr int kSoakKernels = 200;
constexpr int kSoakParts = 20;  // memory is read after each
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A launch writes `value` plus the number of its kernel to its own slot.
BenchStruct argument_for(const DeviceBuffer& slots, int slot, int value) {
  BenchStruct argument;
  argument.out = slots.address() + static_cast<std::uint64_t>(slot) * sizeof(int);
  argument.values.fill(value);
  return argument;
}

struct Soak {
  const Settings& settings;
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Device> device;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  BareDriver driver;

  Result<void> launch(int kernel, const Stream& stream, const BenchStruct& argument) const {
    const Result<Function> function =
        runtime->function(*kernels[static_cast<std::size_t>(kernel)], settings.device);
    if (!function) return function.error();
    LaunchConfig config;
    config.stream = stream.handle();
    return function->launch(config, argument);
  }
};

Error wrong_result(int kernel, int expected, int found) {
  return Error{ErrorCode::internal, "kernel " + std::to_string(kernel) + " wrote " + std::to_string(found) +
                                        " instead of " + std::to_string(expected)};
}

// Memory of the process and the device, in bytes.
struct MemorySample {
  std::uint64_t resident = 0;
  std::uint64_t heap = 0;  // allocated by malloc and not freed
  std::uint64_t device_used = 0;
};

Result<MemorySample> sample_memory(const Soak& soak) {
  // Returns freed memory of all threads to the system, so that only what is kept is counted.
  malloc_trim(0);
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  CUBINET_TRY_ASSIGN(const auto context, soak.device->make_current());
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  CUBINET_TRY(check(soak.driver.api().mem_get_info(&free_bytes, &total_bytes), "cuMemGetInfo"));
  const struct mallinfo2 heap = mallinfo2();
  return MemorySample{resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                      heap.uordblks + heap.hblkhd, total_bytes - free_bytes};
}

// Adds the samples to a row, and by how much memory grew from the first quarter's largest to the
// last quarter's.
void add_memory(nlohmann::json& row, const std::vector<MemorySample>& samples) {
  const auto growth = [&](std::uint64_t MemorySample::*member, const char* name) {
    std::uint64_t early = 0;
    std::uint64_t late = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint64_t value = samples[i].*member;
      row[name].push_back(static_cast<double>(value * 10 / kMiB) / 10);
      if (i < samples.size() / 4) early = std::max(early, value);
      if (i >= samples.size() - samples.size() / 4) late = std::max(late, value);
    }
    const double grown = (static_cast<double>(late) - static_cast<double>(early)) / static_cast<double>(kMiB);
    row["growth_mib"][name] = {{"value", grown}, {"goal", 4}, {"met", grown <= 4}};
  };
  growth(&MemorySample::resident, "resident_mib");
  growth(&MemorySample::heap, "heap_mib");
  growth(&MemorySample::device_used, "device_mib");
}

// Launches random kernels and releases some. Every result is compared.
Result<void> launch_randomly(const Soak& soak, const Stream& stream, std::uint64_t launches, unsigned seed,
                             std::atomic<std::uint64_t>& released) {
  CUBINET_TRY_ASSIGN(const DeviceBuffer slots,
                     DeviceBuffer::zeroed(soak.device, kLaunchesOfBatch * sizeof(int)));
  std::mt19937 random(seed);
  std::vector<int> chosen(kLaunchesOfBatch);
  std::vector<int> found(kLaunchesOfBatch);
  for (std::uint64_t done = 0; done < launches; done += kLaunchesOfBatch) {
    const int value = static_cast<int>(random() % 1000000);
    for (int slot = 0; slot < kLaunchesOfBatch; ++slot) {
      const int kernel = static_cast<int>(random() % kSoakKernels);
      chosen[static_cast<std::size_t>(slot)] = kernel;
      CUBINET_TRY(soak.launch(kernel, stream, argument_for(slots, slot, value)));
      if (random() % 2000 != 0) continue;
      released += soak.runtime->release(*soak.kernels[random() % kSoakKernels], soak.settings.device) ? 1 : 0;
    }
    CUBINET_TRY(slots.copy_to(found));
    for (std::size_t slot = 0; slot < found.size(); ++slot) {
      if (found[slot] != value + chosen[slot])
        return wrong_result(chosen[slot], value + chosen[slot], found[slot]);
    }
  }
  return {};
}

// A captured graph of launches and the results that it must write.
struct CheckedGraph {
  Graph graph;
  DeviceBuffer slots;
  std::vector<int> expected;

  Result<void> replay(const Stream& stream) const {
    CUBINET_TRY(slots.fill(std::byte{0}));
    CUBINET_TRY(graph.launch(stream));
    std::vector<int> found(expected.size());
    CUBINET_TRY(slots.copy_to(found));
    if (found != expected)
      return Error{ErrorCode::internal, "a graph of released kernels wrote other values"};
    return {};
  }
};

// Captures launches of 16 kernels and releases these kernels.
Result<CheckedGraph> capture_and_release(const Soak& soak, const Stream& stream, std::mt19937& random) {
  constexpr int kLaunches = 16;
  CUBINET_TRY_ASSIGN(DeviceBuffer slots, DeviceBuffer::zeroed(soak.device, kLaunches * sizeof(int)));
  std::vector<int> kernels(kLaunches);
  std::vector<int> expected(kLaunches);
  const int value = static_cast<int>(random() % 1000000);
  for (std::size_t slot = 0; slot < kernels.size(); ++slot) {
    kernels[slot] = static_cast<int>(random() % kSoakKernels);
    expected[slot] = value + kernels[slot];
    CUBINET_TRY(
        soak.runtime->function(*soak.kernels[static_cast<std::size_t>(kernels[slot])], soak.settings.device));
  }
  const auto record = [&]() -> Result<void> {
    for (int slot = 0; slot < kLaunches; ++slot) {
      CUBINET_TRY(
          soak.launch(kernels[static_cast<std::size_t>(slot)], stream, argument_for(slots, slot, value)));
    }
    return {};
  };
  CUBINET_TRY_ASSIGN(Graph graph, Graph::capture(stream, record));
  for (const int kernel : kernels)
    soak.runtime->release(*soak.kernels[static_cast<std::size_t>(kernel)], soak.settings.device);
  return CheckedGraph{std::move(graph), std::move(slots), std::move(expected)};
}

// Samples memory while no thread launches: every thread calls arrive() after each part.
class PartSampler {
 public:
  PartSampler(const Soak& soak, unsigned threads)
      : soak_(soak), barrier_(threads, [this]() noexcept { sample(); }) {}
  void arrive() { barrier_.arrive_and_wait(); }
  // Takes the place of a thread in the parts that it does not reach.
  void leave() { barrier_.arrive_and_drop(); }
  const std::vector<MemorySample>& samples() const { return samples_; }
  const Result<void>& outcome() const { return outcome_; }

 private:
  void sample() {
    const auto trimmed = soak_.runtime->trim(UINT64_MAX, soak_.settings.device);
    const auto memory = sample_memory(soak_);
    if (!trimmed) outcome_ = trimmed.error();
    if (memory)
      samples_.push_back(*memory);
    else
      outcome_ = memory.error();
  }

  const Soak& soak_;
  std::vector<MemorySample> samples_;
  Result<void> outcome_;
  std::barrier<std::function<void()>> barrier_;
};

// Runs threads that launch and release beside one that trims.
Result<void> soak_launches(const Soak& soak, const SoakOptions& options, Report& report) {
  std::vector<Stream> streams;
  for (unsigned i = 0; i < options.threads; ++i) {
    CUBINET_TRY_ASSIGN(Stream stream, Stream::create(soak.device));
    streams.push_back(std::move(stream));
  }
  const double start = now_seconds();
  std::atomic<std::uint64_t> released{0};
  std::uint64_t trimmed = 0;
  std::atomic<bool> ended{false};
  Result<void> trims;
  std::thread trimming([&] {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const Result<TrimmedModules> now = soak.runtime->trim(64 << 10, soak.settings.device);
      if (!now)
        trims = now.error();
      else
        trimmed += now->modules;
    }
  });
  PartSampler sampler(soak, options.threads);
  const auto work = [&](unsigned index) -> Result<void> {
    for (int part = 0; part < kSoakParts; ++part) {
      const Result<void> launched =
          launch_randomly(soak, streams[index], options.launches / kSoakParts / options.threads,
                          static_cast<unsigned>(part) * options.threads + index, released);
      if (!launched) {
        sampler.leave();
        return launched;
      }
      sampler.arrive();
    }
    return {};
  };
  const Result<void> launched = run_threads(*soak.device, options.threads, work);
  ended = true;
  trimming.join();
  CUBINET_TRY(launched);
  CUBINET_TRY(trims);
  CUBINET_TRY(sampler.outcome());
  const Runtime::Counters counters = soak.runtime->counters();
  nlohmann::json row = {{"name", "launches with release, reload and trim"},
                        {"threads", options.threads},
                        {"kernels", kSoakKernels},
                        {"launches", options.launches},
                        {"wrong", 0},
                        {"released", released.load()},
                        {"trimmed_modules", trimmed},
                        {"loads", counters.memory_hits + counters.registry_hits + counters.compiled},
                        {"seconds", now_seconds() - start}};
  add_memory(row, sampler.samples());
  report.add(std::move(row));
  return {};
}

// Captures graphs, releases and trims their kernels, replays the graphs and destroys them.
Result<void> soak_graphs(const Soak& soak, const SoakOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(const auto context, soak.device->make_current());
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(soak.device));
  std::mt19937 random(1);
  std::vector<MemorySample> samples;
  std::uint64_t replays = 0;
  const double start = now_seconds();
  for (int part = 0; part < kSoakParts; ++part) {
    std::vector<CheckedGraph> graphs;
    for (std::uint64_t i = 0; i < options.graphs / kSoakParts; ++i) {
      CUBINET_TRY_ASSIGN(CheckedGraph graph, capture_and_release(soak, stream, random));
      graphs.push_back(std::move(graph));
    }
    CUBINET_TRY(soak.runtime->trim(UINT64_MAX, soak.settings.device));
    for (int i = 0; i < 5; ++i) {
      for (const CheckedGraph& graph : graphs)
        CUBINET_TRY(graph.replay(stream));
      replays += graphs.size();
    }
    graphs.clear();
    CUBINET_TRY(soak.runtime->trim(UINT64_MAX, soak.settings.device));
    CUBINET_TRY_ASSIGN(samples.emplace_back(), sample_memory(soak));
  }
  nlohmann::json row = {{"name", "graphs of released kernels"},
                        {"graphs", options.graphs},
                        {"replays", replays},
                        {"wrong", 0},
                        {"seconds", now_seconds() - start}};
  add_memory(row, samples);
  report.add(std::move(row));
  return {};
}

Result<void> soak_loads(const Soak& soak, const SoakOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(const auto context, soak.device->make_current());
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(soak.device));
  CUBINET_TRY_ASSIGN(const DeviceBuffer slot, DeviceBuffer::zeroed(soak.device, sizeof(int)));
  std::vector<MemorySample> samples;
  std::uint64_t unloaded = 0;
  const double start = now_seconds();
  for (int part = 0; part < kSoakParts; ++part) {
    for (std::uint64_t i = 0; i < options.cycles / kSoakParts; ++i) {
      const int kernel = static_cast<int>(i % kSoakKernels);
      CUBINET_TRY(soak.launch(kernel, stream, argument_for(slot, 0, static_cast<int>(i))));
      if (i % 100 == 0) {
        std::vector<int> found(1);
        CUBINET_TRY(slot.copy_to(found));
        if (found[0] != static_cast<int>(i) + kernel)
          return wrong_result(kernel, static_cast<int>(i) + kernel, found[0]);
      }
      soak.runtime->release(*soak.kernels[static_cast<std::size_t>(kernel)], soak.settings.device);
      CUBINET_TRY_ASSIGN(const TrimmedModules trimmed, soak.runtime->trim(1, soak.settings.device));
      unloaded += trimmed.modules;
    }
    CUBINET_TRY_ASSIGN(samples.emplace_back(), sample_memory(soak));
  }
  nlohmann::json row = {{"name", "load, launch and unload"},
                        {"cycles", options.cycles},
                        {"unloaded", unloaded},
                        {"seconds", now_seconds() - start}};
  add_memory(row, samples);
  report.add(std::move(row));
  return {};
}

}  // namespace

Result<void> bench_soak(const Settings& settings, const SoakOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings,
                     runtime_options(settings, fresh_path(settings, "home")));
  CUBINET_TRY_ASSIGN(BareDriver driver, BareDriver::open(settings.device));
  if (driver.api().mem_get_info == nullptr)
    return Error{ErrorCode::unsupported, "the driver has no cuMemGetInfo"};
  Soak soak{settings, {}, {}, {}, std::move(driver)};
  CUBINET_TRY_ASSIGN(soak.runtime, Runtime::create(std::move(runtime_settings)));
  CUBINET_TRY_ASSIGN(soak.device, soak.runtime->device(settings.device));
  CUBINET_TRY_ASSIGN(soak.kernels, load_small_kernels(*soak.runtime, settings.device, kSoakKernels));
  report.set("method",
             "every launch of the threads writes its own value, which is compared; memory is read 20 times, "
             "after a trim of everything that is not in use");
  CUBINET_TRY(soak_launches(soak, options, report));
  CUBINET_TRY(soak_graphs(soak, options, report));
  return soak_loads(soak, options, report);
}

}  // namespace cubinet::bench
