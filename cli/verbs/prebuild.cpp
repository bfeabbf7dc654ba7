// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bundle_arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "kernel_arguments.hpp"
#include "matrix.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace cubinet::cli {
namespace {

constexpr std::uint64_t kMaximumMatrixBytes = std::uint64_t{64} << 20;
constexpr std::size_t kRefusalsShown = 50;

struct PrebuildOptions {
  std::string matrix;
  std::string output;
  BundleOptions bundle;
  std::uint64_t memory = UINT64_MAX;  // for compilations
  bool skip_refused = false;
  MatrixShard shard;
  TemplateSources sources;
  Places places;
};

struct BuildFailure {
  const MatrixKernel* kernel;
  Error error;
};

struct BuiltKernel {
  const MatrixKernel* kernel;
  FoundCubin found;
  bool kept = false;  // in the home

  bool compiled() const { return found.source == KernelSource::compiled; }
  double seconds() const { return compiled() ? found.compile_seconds : found.find_seconds; }
};

struct BuildTally {
  std::vector<BuiltKernel> built;
  std::vector<BuildFailure> failures;
  std::vector<BuildFailure> not_kept;  // in the bundle, and not in the home
  bool interrupted = false;
  double seconds = 0;

  std::size_t compiled() const {
    return static_cast<std::size_t>(
        std::count_if(built.begin(), built.end(), [](const BuiltKernel& one) { return one.compiled(); }));
  }
};

std::string describe_refusal(const MatrixRefusal& refusal) {
  return fmt::format("{} for {}: {}", refusal.spec.to_string(), refusal.target.to_string(),
                     refusal.error.to_line());
}

nlohmann::json describe_refusals(const std::vector<MatrixRefusal>& refusals) {
  nlohmann::json described = nlohmann::json::array();
  for (const MatrixRefusal& refusal : refusals) {
    nlohmann::json one = describe(refusal.spec);
    one["target"] = refusal.target.to_string();
    one["error"] = error_document(refusal.error)["error"];
    described.push_back(std::move(one));
  }
  return described;
}

void list_refusals(Console& console, const std::vector<MatrixRefusal>& refusals) {
  for (std::size_t i = 0; i < std::min(refusals.size(), kRefusalsShown); ++i) {
    console.message(LogLevel::warning, "refused: " + describe_refusal(refusals[i]));
  }
  if (refusals.size() > kRefusalsShown) {
    console.message(LogLevel::warning,
                    fmt::format("and {} more; --json lists all", refusals.size() - kRefusalsShown));
  }
}

// Targets that the compiler found here does not build for are refused like those that a template refuses,
// before anything is compiled. Without a compiler whatever the home holds can still be bundled.
void refuse_unknown_targets(Runtime& runtime, MatrixExpansion& expansion) {
  const auto compiler = runtime.compiler();
  if (!compiler) return;
  const auto supported = (*compiler)->supported_targets();
  if (!supported) return;
  std::vector<MatrixKernel> kept;
  for (MatrixKernel& kernel : expansion.kernels) {
    if (std::find(supported->begin(), supported->end(), kernel.target.target) != supported->end()) {
      kept.push_back(std::move(kernel));
    } else {
      Error error{ErrorCode::unsupported,
                  fmt::format("{} does not build for {}", (*compiler)->identity(), kernel.target.to_string()),
                  "`cubinet doctor` lists the targets that it does build for"};
      expansion.refused.push_back({std::move(kernel.given), kernel.target, std::move(error)});
    }
  }
  expansion.kernels = std::move(kept);
}

ExitStatus fail_for_refusals(const Context& context, const std::vector<MatrixRefusal>& refusals) {
  const Error error{
      ErrorCode::invalid_argument,
      fmt::format("{} of the matrix refused; nothing was built", plural(refusals.size(), "combination")),
      "change the matrix, or build the others with --skip-refused"};
  list_refusals(context.console(), refusals);
  if (!context.console().json()) return context.fail(error);
  nlohmann::json document = error_document(error);
  document["refused"] = describe_refusals(refusals);
  context.console().document(document);
  return ExitStatus::usage;
}

// Asks the runtime for every kernel: each is in the home as soon as it is compiled, so that whatever ends
// this process, the next one goes on from there.
BuildTally build_all(const Context& context, Runtime& runtime, const std::vector<MatrixKernel>& kernels,
                     const InterruptGuard& interrupt, unsigned jobs) {
  const Stopwatch watch;
  BuildTally tally;
  std::mutex mutex;
  Progress progress(context.console(), kernels.size());
  const auto work = [&](std::size_t index) {
    const MatrixKernel& kernel = kernels[index];
    auto found = runtime.cubin(kernel.spec, kernel.target.target, kernel.target.kind);
    const auto kept = found && *found ? is_kept(runtime, **found) : Result<bool>(false);
    std::string outcome;
    {
      const std::lock_guard lock(mutex);
      if (!found) {
        tally.failures.push_back({&kernel, found.error()});
        outcome = "failed: " + found.error().message;
      } else if (!found->has_value()) {
        tally.failures.push_back({&kernel, Error{ErrorCode::not_found, "nothing was found or compiled"}});
        outcome = "not found";
      } else {
        const BuiltKernel& built =
            tally.built.emplace_back(BuiltKernel{&kernel, **std::move(found), kept && *kept});
        outcome = fmt::format("{} in {}, {}", to_string(built.found.source), format_seconds(built.seconds()),
                              format_bytes(built.found.cubin.image->size()));
        if (!kept) {
          tally.not_kept.push_back({&kernel, kept.error()});
          outcome += ", not kept";
        }
      }
    }
    progress.finished(kernel.to_string() + ": " + outcome);
  };
  bool announced = false;
  const auto tick = [&] {
    if (interrupt.requested() && !std::exchange(announced, true)) {
      context.console().note(
          "interrupted: waiting for the kernels that are being compiled; once more to leave them");
    }
    progress.tick();
  };
  parallel_for(kernels.size(), jobs, work, {[&] { return interrupt.requested(); }, tick});
  tally.interrupted = interrupt.requested() && tally.built.size() + tally.failures.size() < kernels.size();
  // In the matrix's order, not in that in which they were finished.
  std::sort(tally.built.begin(), tally.built.end(),
            [](const BuiltKernel& a, const BuiltKernel& b) { return a.kernel < b.kernel; });
  tally.seconds = watch.seconds();
  return tally;
}

// What the bundle has and the home should have; one reason stands for all.
Error not_kept(const BuildTally& tally) {
  Error error = tally.not_kept.front().error;
  error.message =
      fmt::format("the home could not keep {}: {}", plural(tally.not_kept.size(), "kernel"), error.message);
  return error;
}

void report_failures(const Context& context, const BuildTally& tally) {
  for (const BuildFailure& failure : tally.failures) {
    Error error = failure.error;
    error.message = failure.kernel->to_string() + ": " + error.message;
    context.console().error(error);
  }
  if (!tally.not_kept.empty()) context.console().error(not_kept(tally));
}

nlohmann::json describe_failures(const std::vector<BuildFailure>& failures) {
  nlohmann::json failed = nlohmann::json::array();
  for (const BuildFailure& failure : failures) {
    nlohmann::json one = describe(failure.kernel->given);
    one["target"] = failure.kernel->target.to_string();
    one["error"] = error_document(failure.error)["error"];
    failed.push_back(std::move(one));
  }
  return failed;
}

nlohmann::json describe_built(const std::vector<BuiltKernel>& built) {
  nlohmann::json described = nlohmann::json::array();
  for (const BuiltKernel& one : built) {
    nlohmann::json kernel = describe(*one.found.cubin.record);
    kernel["source"] = to_string(one.found.source);
    kernel["seconds"] = one.seconds();
    kernel["kept"] = one.kept;
    described.push_back(std::move(kernel));
  }
  return described;
}

nlohmann::json describe_tally(const BuildTally& tally, const std::vector<MatrixRefusal>& refusals,
                              const std::filesystem::path& bundle) {
  return {{"bundle", bundle.string()},
          {"kernels", tally.built.size()},
          {"compiled", tally.compiled()},
          {"reused", tally.built.size() - tally.compiled()},
          {"results", describe_built(tally.built)},
          {"seconds", tally.seconds},
          {"interrupted", tally.interrupted},
          {"failed", describe_failures(tally.failures)},
          {"not_kept", describe_failures(tally.not_kept)},
          {"refused", describe_refusals(refusals)}};
}

// A bundle bears the name it was asked for only when it is complete: what is finished of the others goes
// beside it.
std::filesystem::path partial_path(const std::filesystem::path& bundle) {
  return bundle.string() + ".partial";
}

Result<ExitStatus> conclude(const Context& context, const BundleOptions& options, const MatrixShard& shard,
                            const BuildTally& tally, const std::filesystem::path& output,
                            const std::vector<MatrixRefusal>& refusals, const InterruptGuard& interrupt) {
  Console& console = context.console();
  const bool complete = !tally.interrupted && tally.failures.empty();
  // Nothing finished: nothing to write.
  const std::filesystem::path bundle = complete              ? output
                                       : tally.built.empty() ? std::filesystem::path()
                                                             : partial_path(output);
  if (!bundle.empty()) {
    std::vector<Cubin> cubins;
    for (const BuiltKernel& one : tally.built)
      cubins.push_back(one.found.cubin);
    CUBINET_TRY(create_bundle(bundle, std::move(cubins), options, context.files()));
  }
  if (complete) CUBINET_TRY(context.files()->remove(partial_path(output)));
  report_failures(context, tally);
  if (!bundle.empty()) {
    console.text(fmt::format("{}: {}, {} compiled, {} found, in {}", printable(bundle.string()),
                             plural(tally.built.size(), "kernel"), tally.compiled(),
                             tally.built.size() - tally.compiled(), format_seconds(tally.seconds)));
  }
  nlohmann::json document = describe_tally(tally, refusals, bundle);
  document["shard"] = shard.to_string();
  if (complete && tally.not_kept.empty()) {
    console.document(document);
    return ExitStatus::done;
  }
  const Error error =
      tally.interrupted
          ? Error{ErrorCode::unavailable, fmt::format("interrupted; '{}' is not written", output.string()),
                  "the same command goes on where this one ended"}
      : complete ? not_kept(tally)
                 : tally.failures.front().error;
  document.update(error_document(error));
  console.document(document);
  if (tally.interrupted) {
    console.error(error);
    if (const auto written = console.finish(); !written) console.error(written.error());
    interrupt.end_process();
  }
  return exit_status_of(error.code);
}

Result<ExitStatus> prebuild(const Context& context, const PrebuildOptions& options) {
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(options.sources.template_files));
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(options.matrix, kMaximumMatrixBytes));
  CUBINET_TRY_ASSIGN(const auto elements, parse_matrix(as_text(text), options.matrix));
  CUBINET_TRY_ASSIGN(CompileOptions compiling, compile_options(options.sources));
  CUBINET_TRY_ASSIGN(MatrixExpansion expansion, expand_matrix(elements, catalog, compiling.flags));
  std::vector<std::string> inputs = files_of_templates(*context.files(), options.sources.template_files);
  inputs.push_back(options.matrix);
  const ProtectedFiles kept = context.protected_files(std::move(inputs), options.places);
  CUBINET_TRY_ASSIGN(const std::filesystem::path output,
                     check_output_file(*context.files(), options.output, kept));
  CUBINET_TRY(check_output_file(*context.files(), partial_path(output).string(), kept));
  CUBINET_TRY(check_bundle_options(options.bundle));
  // What a template refuses needs no compiler to be told.
  if (!expansion.refused.empty() && !options.skip_refused)
    return fail_for_refusals(context, expansion.refused);
  const bool nothing = expansion.kernels.empty();
  // Before the compiler's refusals: another compiler must not get other parts.
  expansion.kernels = take_shard(std::move(expansion.kernels), options.shard);
  const InterruptGuard interrupt;  // before the compiler is loaded, and so before any thread of its
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, std::move(compiling), {}, options.places));
  refuse_unknown_targets(*runtime, expansion);
  if (!expansion.refused.empty() && !options.skip_refused)
    return fail_for_refusals(context, expansion.refused);
  list_refusals(context.console(), expansion.refused);
  // A part of a small matrix may be empty.
  if (nothing || (expansion.kernels.empty() && options.shard.count == 1)) {
    return Error{ErrorCode::invalid_argument,
                 "every combination of the matrix is refused: there is nothing to build"};
  }
  const unsigned jobs = jobs_within(context.jobs(), options.memory);
  context.console().message(
      LogLevel::info, fmt::format("{}, {} at a time", plural(expansion.kernels.size(), "kernel"), jobs));
  const BuildTally tally = build_all(context, *runtime, expansion.kernels, interrupt, jobs);
  return conclude(context, options.bundle, options.shard, tally, output, expansion.refused, interrupt);
}

}  // namespace

void add_prebuild(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("prebuild", "Compile a matrix of kernels into a bundle");
  auto options = std::make_shared<PrebuildOptions>();
  verb->add_option("MATRIX", options->matrix, "The matrix, a JSON file")->required()->type_name("");
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
            if (!shard) throw CLI::ValidationError(shard.error().to_line());
            options->shard = *shard;
          },
          "The I-th of N parts of the matrix alone; the parts are the same on every machine")
      ->type_name("I/N");
  add_template_sources(*verb, options->sources);
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(R"(The matrix stands for the product of its lists:
  {"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": [4096, 8192], "dtype": ["bf16"]},
                "targets": ["sm_80", "sm_90a"]}]}
A target is machine code ("sm_90a") or PTX ("compute_80", which the driver compiles where no machine code fits).
Every combination is checked before the first is compiled. Each kernel is in the home as soon as it is compiled:
after Ctrl-C the same command goes on. What is finished of an incomplete bundle is in BUNDLE.partial.

Examples:
  cubinet prebuild examples/matrix.json -o kernels.bundle
  cubinet prebuild examples/matrix.json -o kernels-8.bundle --bundle kernels.bundle --bundle-version 8
  cubinet prebuild examples/matrix.json -o kernels.bundle --jobs 4 --memory 2G --bundle-version 7
  cubinet prebuild examples/matrix.json -o kernels-2.bundle --shard 2/8 --json)");
  choose<PrebuildOptions>(*verb, chosen, options, prebuild);
}

}  // namespace cubinet::cli
