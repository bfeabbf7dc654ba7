// SPDX-License-Identifier: Apache-2.0
// cubinet_bench has one verb per benchmark. docs/benchmarks.md describes the measurements and how
// to run them all.
#include "benchmarks.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <unistd.h>

namespace {

using namespace cubinet;
using namespace cubinet::bench;

// A folder that is removed with its content when the run ends.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& parent)
      : path_(parent / ("cubinet-bench-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Result<void> with_report(const char* name, const Settings& settings,
                         const std::function<Result<void>(Report&)>& benchmark) {
  Report report(name, settings.commit, settings.device);
  const Result<void> outcome = benchmark(report);
  if (!outcome) report.set("error", outcome.error().to_line());
  // Measurements made before an error are kept.
  const Result<void> written = report.write(settings.output);
  return outcome ? written : outcome;
}

struct Arguments {
  Settings settings;
  CompileOptionsOfBench compile;
  FirstOptions first;
  DecodeOptions decode;
  LaunchOptions launch;
  ThreadOptions threads;
  SoakOptions soak;
  PrepareBenchOptions prepare;
  RawOptions raw;
  CorpusOptions corpus;
  std::filesystem::path published;
  std::filesystem::path scratch_parent = std::filesystem::temp_directory_path();
  std::string nvrtc;
  std::filesystem::path toolkit = CUBINET_BENCH_CUDA_ROOT;
};

void declare(CLI::App& app, Arguments& arguments, std::function<Result<void>()>& chosen) {
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--device", arguments.settings.device, "Ordinal of the device");
  app.add_option("--rounds", arguments.settings.rounds, "Rounds of each comparison")
      ->check(CLI::Range(1, 1000));
  app.add_option("--commit", arguments.settings.commit, "Commit that was built, for the result");
  app.add_option("-o,--output", arguments.settings.output, "Result file (JSON); stdout without it");
  app.add_option("--scratch", arguments.scratch_parent, "Folder for temporary homes");
  app.add_option("--nvrtc", arguments.nvrtc, "NVRTC to use instead of the one that is found");
  app.add_option("--toolkit-root", arguments.toolkit,
                 "Folder whose lib64/ or lib/ is searched for NVRTC first (that of the build)");
  app.add_option("--wheel-root", arguments.settings.compiler.wheel_roots, "Folder with the NVRTC wheel");
  const auto verb = [&](const char* name, const char* summary, std::function<Result<void>()> run) {
    CLI::App* added = app.add_subcommand(name, summary);
    added->callback([&chosen, run = std::move(run)] { chosen = run; });
    return added;
  };
  const Settings& settings = arguments.settings;

  CLI::App* compile = verb("compile", "Cold compilation beside NVRTC alone and nvcc", [&] {
    return with_report("compile", settings,
                       [&](Report& report) { return bench_compile(settings, arguments.compile, report); });
  });
  compile->add_option("--nvcc", arguments.compile.nvcc, "nvcc to run beside; none without it");

  verb("load", "A kernel found in the home or a bundle, beside the driver alone", [&] {
    return with_report("load", settings, [&](Report& report) { return bench_load(settings, report); });
  });

  CLI::App* bundle =
      verb("bundle", "Opening a bundle and fetching one cubin, of 100 kernels and of 23,000", [&] {
        return with_report("bundle", settings, [&](Report& report) -> Result<void> {
          CUBINET_TRY(bench_bundle(settings, report));
          return arguments.published.empty() ? Result<void>()
                                             : bench_packing(settings, arguments.published, report);
        });
      });
  bundle->add_option("--published", arguments.published, "Folder of published cubins, to pack all of them");

  verb("table", "The kernel table: load, look-up, selection", [&] {
    return with_report("table", settings, [&](Report& report) { return bench_table(settings, report); });
  });

  CLI::App* launch = verb("launch", "Look-up and launch, beside the driver alone", [&] {
    return with_report("launch", settings,
                       [&](Report& report) { return bench_launch(settings, arguments.launch, report); });
  });
  launch->add_option("--cubins", arguments.launch.cubins, "Folder to leave the launched cubins in");
  launch->add_flag("--only-launch", arguments.launch.only_launch, "Without the look-ups alone");

  CLI::App* threads = verb("threads", "Look-ups and launches by several threads", [&] {
    return with_report("threads", settings,
                       [&](Report& report) { return bench_threads(settings, arguments.threads, report); });
  });
  threads->add_option("--driver", arguments.threads.driver, "Library of the driver, such as the tests' stub");

  verb("busy", "Hits of 15 threads while a 16th compiles and loads", [&] {
    return with_report("busy", settings, [&](Report& report) { return bench_busy(settings, report); });
  });

  CLI::App* soak = verb("soak", "Launches with random release, reload and trim; load and unload", [&] {
    return with_report("soak", settings,
                       [&](Report& report) { return bench_soak(settings, arguments.soak, report); });
  });
  soak->add_option("--launches", arguments.soak.launches, "Launches of all threads");
  soak->add_option("--graphs", arguments.soak.graphs, "Graphs of released kernels");
  soak->add_option("--cycles", arguments.soak.cycles, "Cycles of load and unload");
  soak->add_option("--threads", arguments.soak.threads, "Threads that launch");

  CLI::App* prepare = verb("prepare", "A workload prepared, beside nvcc and the driver alone", [&] {
    return with_report("prepare", settings,
                       [&](Report& report) { return bench_prepare(settings, arguments.prepare, report); });
  });
  prepare->add_option("workload", arguments.prepare.workload, "The workload")->required();
  prepare->add_option("--nvcc", arguments.prepare.nvcc, "nvcc to run beside; none without it");
  prepare->add_option("--cold-rounds", arguments.prepare.cold_rounds, "Rounds with an empty home");
  prepare->add_option("--jobs", arguments.prepare.jobs,
                      "Parallel compilations; as many as processors without it");

  CLI::App* decode = verb("decode", "Decode attention: errors and times on every path, kernel times", [&] {
    return with_report("decode", settings,
                       [&](Report& report) { return bench_decode(settings, arguments.decode, report); });
  });
  decode->add_flag("--small", arguments.decode.small,
                   "Small problems of every kind, untimed, for a sanitizer");
  decode->add_option("--without", arguments.decode.without, "Leave out problems whose name begins so");

  verb("step", "A decode step, append and attention, of e4m3 beside bf16", [&] {
    return with_report("step", settings, [&](Report& report) { return bench_step(settings, report); });
  });

  CLI::App* raw = verb("raw", "A source without a declaration, once in this process",
                       [&] { return bench_raw(settings, arguments.raw); });
  raw->add_option("program", arguments.raw.program, "Its source, names and flags (JSON)")->required();
  raw->add_option("--home", arguments.raw.home, "Home, empty or warm; none without it");
  raw->add_flag("--bare", arguments.raw.bare, "By NVRTC alone");
  raw->add_flag("--load", arguments.raw.load, "To a launchable function");

  CLI::App* corpus = verb("corpus", "Kernels of the corpus, run and compared with what is expected",
                          [&] { return bench_corpus(settings, arguments.corpus); });
  corpus->add_option("cases", arguments.corpus.cases, "What to launch and to expect (JSON)")->required();
  corpus->add_option("--bundle", arguments.corpus.bundles, "Bundles with the kernels")->required();

  CLI::App* first = verb("first", "This process's first attention_decode",
                         [&] { return bench_first(settings, arguments.first); });
  first->add_option("--home", arguments.first.home, "Home, empty or warm; none without it");
  first->add_option("--bundle", arguments.first.bundles, "Bundles");
  first->add_option("--write-bundle", arguments.first.write_bundle,
                    "Leave the kernel in a bundle, after the clock");
  first->add_option("--head-dim", arguments.first.head_dim, "Head dimension");
  first->add_option("--page-size", arguments.first.page_size, "Tokens of a page");
}

int run(int count, char** values) {
  Arguments arguments;
  arguments.settings.commit = CUBINET_BENCH_COMMIT;
  std::function<Result<void>()> chosen;
  CLI::App app("Benchmarks of cubinet");
  declare(app, arguments, chosen);
  CLI11_PARSE(app, count, values);
  auto& toolkits = arguments.settings.compiler.toolkit_roots;
  toolkits.insert(toolkits.begin(), arguments.toolkit);
  if (!arguments.nvrtc.empty()) arguments.settings.compiler.library = arguments.nvrtc;
  arguments.decode.time = !arguments.decode.small;
  const ScratchFolder scratch(arguments.scratch_parent);
  arguments.settings.scratch = scratch.path();
  const Result<void> outcome = chosen();
  if (outcome) return 0;
  std::cerr << "cubinet_bench: " << outcome.error().to_line() << '\n' << outcome.error().detail;
  return outcome.error().code == ErrorCode::unavailable ? 3 : 1;
}

}  // namespace

int main(int count, char** values) {
  // Neither the driver nor NVRTC may cache compiled code, so that cold rows are cold.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  try {
    return run(count, values);
  } catch (const std::exception& error) {
    std::cerr << "cubinet_bench: " << error.what() << '\n';
    return 1;
  }
}
