// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_set.hpp"
#include "report.hpp"

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cubinet::bench {

// Measures cold compilation by cubinet, by NVRTC alone and by nvcc.
struct CompileOptionsOfBench {
  std::string nvcc;  // program to run; empty: skipped
};
Result<void> bench_compile(const Settings& settings, const CompileOptionsOfBench& options, Report& report);

// Measures the path from a specification to a launchable function with an existing cubin: from a
// home, from a bundle, and by the driver alone.
Result<void> bench_load(const Settings& settings, Report& report);

// Measures lookup and launch, and a launch by the driver alone.
struct LaunchOptions {
  std::filesystem::path
      cubins;  // Folder for the two kernels for the peers, as NAME.cubin. Empty: not written.
  bool only_launch = false;
};
Result<void> bench_launch(const Settings& settings, const LaunchOptions& options, Report& report);

// Measures look-ups by 1, 2, 4 and 8 threads: of one kernel, of 200, and on a device for each
// thread. Measures look-up and launch by 1, 4, 8 and 16 threads beside bare launches by as many.
struct ThreadOptions {
  // The library of the driver, such as the tests' stub, which launches nothing. Empty:
  // libcuda.so.1.
  std::filesystem::path driver;
};
Result<void> bench_threads(const Settings& settings, const ThreadOptions& options, Report& report);

// Measures hits of 15 threads while a 16th compiles a kernel for about ten seconds, without it, and
// while it loads the kernel.
Result<void> bench_busy(const Settings& settings, Report& report);

// Launches 200 kernels from several threads with random release, reload and trim, and compares
// every result; replays graphs of released kernels; loads and unloads a kernel many times. Reports
// the memory of the process and the device.
struct SoakOptions {
  std::uint64_t launches = 10'000'000;
  std::uint64_t graphs = 2'000;
  std::uint64_t cycles = 100'000;
  unsigned threads = 16;
};
Result<void> bench_soak(const Settings& settings, const SoakOptions& options, Report& report);

// Measures prepare() of a workload with an empty home beside nvcc, which builds the same sources as
// shared objects with as many processes, and prepare() from a bundle beside loads by the driver
// alone.
struct PrepareBenchOptions {
  std::filesystem::path workload;
  std::string nvcc;     // program to run; empty: skipped
  unsigned jobs = 0;    // 0: as many as processors
  int cold_rounds = 3;  // a cold preparation takes many seconds; 0: only the preparation from a bundle
};
Result<void> bench_prepare(const Settings& settings, const PrepareBenchOptions& options, Report& report);

// Measures one first request in this process and prints one JSON line. Scripts alternate its
// processes with those of peers.
struct FirstOptions {
  std::filesystem::path home;
  std::vector<std::filesystem::path> bundles;
  std::filesystem::path write_bundle;  // written after the clock has stopped; empty: not written
  int head_dim = 128;
  int page_size = 64;
};
Result<void> bench_first(const Settings& settings, const FirstOptions& options);

// A source without a declaration, in the format of scripts/corpus and bench/peers/raw_path.py.
struct RawProgram {
  SourceProgram program;
  std::vector<std::string> include_directories;
};
Result<RawProgram> read_raw_program(const std::filesystem::path& path);

// Measures such a source once in this process: lookup and compilation, or NVRTC alone. Prints one
// JSON line.
struct RawOptions {
  std::filesystem::path program;
  std::filesystem::path home;
  bool bare = false;
  bool load = false;  // if true, measures up to a launchable function instead of the cubin
};
Result<void> bench_raw(const Settings& settings, const RawOptions& options);

// Launches kernels of the corpus and compares their outputs with the expected ones: the cases of
// one file, from bundles only. An error names the wrong ones.
struct CorpusOptions {
  std::filesystem::path cases;
  std::vector<std::filesystem::path> bundles;
};
Result<void> bench_corpus(const Settings& settings, const CorpusOptions& options);

// Measures the kernel table at 100 and 50,000 rows: loading beside a bare SQLite scan, lookup
// beside a bare map, and selection. Needs no GPU.
Result<void> bench_table(const Settings& settings, Report& report);

// Measures opening a bundle and fetching one cubin, with 100 and with 23,000 kernels. Needs no GPU.
Result<void> bench_bundle(const Settings& settings, Report& report);
// Measures the time and the result of packing a folder of published cubins. Runs under the same
// verb if a folder is given.
Result<void> bench_packing(const Settings& settings, const std::filesystem::path& folder, Report& report);

// Measures decode attention through the empty home, the warm home, the bundle and the process
// cache: error against float64 and time of each. Then measures the kernels in a CUDA graph.
struct DecodeOptions {
  // If true, runs the small sweep instead of Llama-3-70B's shapes.
  bool small = false;
  std::vector<std::string> without;  // skips problems with these prefixes
  bool time = true;
};
Result<void> bench_decode(const Settings& settings, const DecodeOptions& options, Report& report);

// Measures a decode step, append and attention, in e4m3 and bf16, with and without programmatic
// launch, and attention alone.
Result<void> bench_step(const Settings& settings, Report& report);

}  // namespace cubinet::bench
