// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bundle_arguments.hpp"
#include "describe.hpp"
#include "device_filter.hpp"
#include "interrupt.hpp"
#include "kernel_arguments.hpp"
#include "progress.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/session/prebuild.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

constexpr std::uint64_t kMaximumMatrixBytes = std::uint64_t{64} << 20;
constexpr std::size_t kRefusalsShown = 50;

struct PrebuildArguments {
  std::string matrix;  // empty: only problems
  DeviceFilter problems;
  std::vector<std::string> workloads;
  std::vector<std::string> catalogs;
  std::string output;
  BundleOptions bundle;
  std::uint64_t memory = UINT64_MAX;
  bool skip_refused = false;
  MatrixShard shard;
  TemplateSources sources;
  Places places;
};

Result<PrebuildOptions> prebuild_options_of(const Context& context, const PrebuildArguments& arguments) {
  PrebuildOptions options;
  options.shard = arguments.shard;
  options.catalogs = arguments.catalogs;
  options.bundle = arguments.bundle;
  options.skip_refused = arguments.skip_refused;
  options.jobs = context.jobs();
  options.memory = arguments.memory;
  if (!arguments.matrix.empty()) {
    CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(arguments.matrix, kMaximumMatrixBytes));
    options.matrix = as_text(text);
    options.matrix_name = arguments.matrix;
  }
  if (!arguments.problems.empty()) {
    CUBINET_TRY_ASSIGN(options.request, device_request_of(context, arguments.problems));
  }
  for (const std::string& file : arguments.workloads) {
    CUBINET_TRY_ASSIGN(const Workload read, Workload::read(file));
    options.workload.merge(read);
  }
  std::vector<std::string> inputs = files_of_templates(*context.files(), arguments.sources.template_files);
  inputs.insert(inputs.end(), {arguments.matrix, arguments.problems.problems});
  inputs.insert(inputs.end(), arguments.workloads.begin(), arguments.workloads.end());
  const ProtectedFiles kept = context.protected_files(std::move(inputs), arguments.places);
  CUBINET_TRY_ASSIGN(const std::filesystem::path output,
                     check_output_file(*context.files(), arguments.output, kept));
  for (const char* ending : {".partial", ".licenses.txt", ".partial.licenses.txt"})
    CUBINET_TRY(check_output_file(*context.files(), output.string() + ending, kept));
  options.output = output.string();
  return options;
}

std::string line_of(const PrebuildProgress& progress) {
  std::string line = progress.kernel + ": " + progress.outcome;
  if (progress.bytes > 0)
    line += fmt::format(" in {}, {}", format_seconds(progress.seconds), format_bytes(progress.bytes));
  return progress.kept ? line : line + ", not kept";
}

// Shows the progress of a prebuild. After an interrupt, prints once which work it waits for.
class ShownPrebuild {
 public:
  ShownPrebuild(Console& console, const InterruptGuard& interrupt)
      : console_(console), interrupt_(interrupt) {}

  void show(const PrebuildProgress& progress) {
    if (!shown_) shown_.emplace(console_, progress.total);
    if (interrupt_.requested() && !std::exchange(announced_, true))
      console_.note("interrupted: waiting for the kernels that are being compiled; once more to leave them");
    if (progress.kernel.empty()) {
      shown_->tick();
    } else {
      shown_->finished(line_of(progress));
    }
  }

 private:
  Console& console_;
  const InterruptGuard& interrupt_;
  std::optional<Progress> shown_;
  bool announced_ = false;
};

void report_refusals(Console& console, const std::vector<PrebuildResult::Failure>& refused) {
  for (std::size_t i = 0; i < std::min(refused.size(), kRefusalsShown); ++i) {
    console.message(LogLevel::warning,
                    "refused: " + refused[i].kernel.to_string() + ": " + refused[i].error.to_line());
  }
  if (refused.size() > kRefusalsShown)
    console.message(LogLevel::warning,
                    fmt::format("and {} more; --json lists all", refused.size() - kRefusalsShown));
}

void report(Console& console, const PrebuildResult& result) {
  report_refusals(console, result.refused);
  for (const PrebuildResult::Failure& failure : result.failed) {
    Error error = failure.error;
    error.message = failure.kernel.to_string() + ": " + error.message;
    console.error(error);
  }
  // The error of a complete run with failures is that of a kernel above.
  if (result.error && (result.interrupted || result.failed.empty())) console.error(*result.error);
  if (result.bundle.empty()) return;
  console.text(fmt::format("{}: {}, {} compiled, {} found, in {}{}", printable(result.bundle),
                           plural(result.built.size(), "kernel"), result.compiled(),
                           result.built.size() - result.compiled(), format_seconds(result.seconds),
                           unserved_text(result.unserved)));
}

Result<ExitStatus> build_bundle(const Context& context, const PrebuildArguments& arguments) {
  Console& console = context.console();
  CUBINET_TRY_ASSIGN(PrebuildOptions options, prebuild_options_of(context, arguments));
  CUBINET_TRY_ASSIGN(SessionOptions session, context.session_options(arguments.places));
  context.warn_without_home();
  session.template_files = arguments.sources.template_files;
  CUBINET_TRY_ASSIGN(session.compile_options, compile_options(arguments.sources));
  const InterruptGuard interrupt;  // created before NVRTC starts threads
  const auto shown = std::make_shared<ShownPrebuild>(console, interrupt);
  options.progress = [shown](const PrebuildProgress& progress) { shown->show(progress); };
  options.cancelled = [&interrupt] { return interrupt.requested(); };
  const auto result = prebuild(session, options);
  console.clear_status_line();
  if (!result) return result.error();
  report(console, *result);
  console.document_text(to_json(*result));
  if (result->interrupted) {
    if (const auto written = console.finish(); !written) console.error(written.error());
    interrupt.end_process();
  }
  if (result->error) return exit_status_of(result->error->code);
  return result->unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_prebuild(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "prebuild", "Compile a matrix of kernels, or what problems or a workload need, into a bundle");
  auto options = std::make_shared<PrebuildArguments>();
  verb->add_option("MATRIX", options->matrix, "The matrix, a JSON file")->type_name("");
  add_built_problems(*verb, options->problems);
  CLI::Option* workloads =
      add_list(*verb, "--workload", options->workloads, "FILE",
               "What a recorded workload needs, for the devices that recorded it; several "
               "are merged");
  add_list(*verb, "--sources", options->catalogs, "NAME|all",
           "The kernels of an imported catalog of sources; licences are written beside the bundle");
  add_text(*verb, "-o,--output", options->output, "BUNDLE", "The bundle to write")->required();
  add_bundle_options(*verb, options->bundle);
  verb->add_option_function<std::string>(
          "--memory",
          [options](const std::string& text) {
            const auto size = parse_size(text, "--memory");
            if (!size) throw CLI::ValidationError(size.error().to_line());
            options->memory = *size;
          },
          "The most that compilations may take, each counted as 256M")
      ->type_name("SIZE");
  verb->add_flag("--skip-refused", options->skip_refused,
                 "Build the rest when some combinations are refused");
  verb->add_option_function<std::string>(
          "--shard",
          [options](const std::string& text) {
            const auto shard = MatrixShard::parse(text);
            if (!shard) throw CLI::ValidationError(("--shard: " + shard.error().to_line()));
            options->shard = *shard;
          },
          "The I-th of N parts of the matrix alone; the parts are the same on every machine")
      ->type_name("I/N")
      ->excludes("--problems")
      ->excludes(workloads);
  add_template_sources(*verb, options->sources);
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(R"(The matrix stands for the product of its lists:
  {"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [4096, 8192], "dtype": ["bf16"]},
                "targets": ["sm_80", "sm_90a"]}]}
A target is machine code ("sm_90a") or PTX ("compute_80", which the driver compiles where no machine code fits).
With --problems the bundle has the kernels of the plans of `select attention`: builds that exist, and others
compiled. With --workload (docs/workloads.md) it has the recorded kernels and those of plans for the recording
devices; none need be here. What nothing serves, and lines of no meaning, are listed, and the status is 1.
Every combination is checked before the first is compiled. Each kernel is in the home as soon as it is compiled:
after Ctrl-C the same command goes on. What is finished of an incomplete bundle is in BUNDLE.partial.

Examples:
  cubinet prebuild examples/matrix.json -o kernels.bundle
  cubinet prebuild examples/matrix.json -o kernels-8.bundle --bundle kernels.bundle --bundle-version 8
  cubinet prebuild examples/matrix.json -o kernels.bundle --jobs 4 --memory 2G
  cubinet prebuild -o decode.bundle --device sm_90 --problems bench/sweeps/decode.txt
  cubinet prebuild -o serving.bundle --workload rank0.workload --workload rank1.workload
  cubinet prebuild examples/matrix.json -o kernels-2.bundle --shard 2/8 --json)");
  choose<PrebuildArguments>(*verb, chosen, options, build_bundle);
}

}  // namespace cubinet::cli
