// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_set.hpp"
#include "report.hpp"

#include <cubinet/base/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace cubinet::bench {

// Cold compilation: through cubinet, by NVRTC alone, by nvcc.
struct CompileOptionsOfBench {
  std::string nvcc;  // program to run; empty: left out
};
Result<void> bench_compile(const Settings& settings, const CompileOptionsOfBench& options, Report& report);

// From a specification to a launchable function when the cubin is there: home, bundle, and the driver alone.
Result<void> bench_load(const Settings& settings, Report& report);

// Look-up and launch, and the launch of the driver alone.
struct LaunchOptions {
  std::filesystem::path
      cubins;  // where to leave the two kernels for the peers, as NAME.cubin; empty: nowhere
  bool only_launch = false;
};
Result<void> bench_launch(const Settings& settings, const LaunchOptions& options, Report& report);

// One first request in this process, as one JSON line on stdout: scripts alternate processes of it with those
// of others.
struct FirstOptions {
  std::filesystem::path home;
  std::vector<std::filesystem::path> bundles;
  std::filesystem::path write_bundle;  // after the clock has stopped; empty: not
  int head_dim = 128;
  int page_size = 64;
};
Result<void> bench_first(const Settings& settings, const FirstOptions& options);

// A source without a declaration, as scripts/corpus and bench/peers/raw_path.py write it down.
struct RawProgram {
  SourceProgram program;
  std::vector<std::string> include_directories;
};
Result<RawProgram> read_raw_program(const std::filesystem::path& path);

// Such a source, once in this process: looked up and compiled, or by NVRTC alone, as one JSON line on stdout.
struct RawOptions {
  std::filesystem::path program;
  std::filesystem::path home;
  bool bare = false;
  bool load = false;  // to a launchable function, instead of the cubin
};
Result<void> bench_raw(const Settings& settings, const RawOptions& options);

// Launches kernels of the corpus and compares what they leave with what is expected: the cases of one file,
// from bundles alone. An error names those that are wrong.
struct CorpusOptions {
  std::filesystem::path cases;
  std::vector<std::filesystem::path> bundles;
};
Result<void> bench_corpus(const Settings& settings, const CorpusOptions& options);

// The kernel table at 100 and 50,000 rows: loading it beside a bare SQLite scan, looking up beside a bare
// map, selecting. Needs no GPU.
Result<void> bench_table(const Settings& settings, Report& report);

// Opening a bundle and fetching one cubin of it: of 100 kernels and of 23,000. Needs no GPU.
Result<void> bench_bundle(const Settings& settings, Report& report);
// The same verb, where a folder of published cubins is given: what packing takes, and what comes of it.
Result<void> bench_packing(const Settings& settings, const std::filesystem::path& folder, Report& report);

// Decode attention through the empty home, the warm home, the bundle and the process cache: error against
// float64 and time of each; then the kernels' time in a CUDA graph.
struct DecodeOptions {
  bool small = false;                // the small sweep instead of Llama-3-70B's shapes
  std::vector<std::string> without;  // no problem whose name begins so
  bool time = true;
};
Result<void> bench_decode(const Settings& settings, const DecodeOptions& options, Report& report);

// A decode step, append and attention, of e4m3 beside bf16, with and without programmatic launch, and
// attention alone.
Result<void> bench_step(const Settings& settings, Report& report);

}  // namespace cubinet::bench
