// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "kernel_arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/compilation.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct CompileVerbOptions {
  KernelArguments kernel;
  std::string emit = "cubin";
  bool record = false;
  std::string output;
  Places places;
};

// The outcome for one target.
struct Outcome {
  std::shared_ptr<const Bytes> content;
  std::shared_ptr<const CubinRecord> record;  // nullptr for source
  std::string source;                         // "compiled", "registry", ...
  double seconds = 0;
  std::optional<Error> error;     // why there is no result
  std::optional<Error> not_kept;  // why the home could not keep the result
  bool kept = false;              // if true, the home has the result
  std::filesystem::path file;
};

// Returns whether the builds go through a Runtime, which searches the home and keeps builds there.
// Only plain cubins, and PTX of PTX targets, do, because a Runtime could request them again. Other
// outputs are for people and are compiled each time.
bool goes_through_home(const CompileVerbOptions& options) {
  return options.emit == "cubin";
}

// Returns ptx if the target or --emit requests it.
ImageKind kind_of(const CompileVerbOptions& options, ImageTarget target) {
  return options.emit == "ptx" ? ImageKind::ptx : target.kind;
}

const char* extension(const CompileVerbOptions& options, ImageTarget target) {
  if (options.emit == "source") return ".cu";
  return kind_of(options, target) == ImageKind::ptx ? ".ptx" : ".cubin";
}

Error unusable_output(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message),
               "for several targets name a folder, or a file with {target} in its name"};
}

std::filesystem::path record_path(const std::filesystem::path& file) {
  return file.string() + ".record";
}

// Returns the file for each target. A path is empty if nothing is written to a file.
Result<std::vector<std::filesystem::path>> output_files(const Context& context,
                                                        const CompileVerbOptions& options,
                                                        const ResolvedKernel& kernel) {
  const std::string& output = options.output;
  std::vector<std::filesystem::path> files(kernel.targets.size());
  if (output.empty()) return files;
  if (output == "-") {
    if (kernel.targets.size() == 1 && !context.console().json() && !options.record) return files;
    return unusable_output("-o - writes one result as it is: not several, not with --json or --record");
  }
  constexpr std::string_view kPlaceholder = "{target}";
  std::error_code ignored;
  const bool folder = output.ends_with('/') || std::filesystem::is_directory(output, ignored);
  if (kernel.targets.size() > 1 && !folder && output.find(kPlaceholder) == std::string::npos) {
    return unusable_output(fmt::format("'{}' is one file for {} targets", output, kernel.targets.size()));
  }
  std::vector<std::string> inputs =
      files_of_templates(*context.files(), options.kernel.sources.template_files);
  inputs.insert(inputs.end(), options.kernel.source_files.begin(), options.kernel.source_files.end());
  inputs.insert(inputs.end(), options.kernel.prelude_files.begin(), options.kernel.prelude_files.end());
  const ProtectedFiles kept = context.protected_files(std::move(inputs), options.places);
  for (std::size_t i = 0; i < kernel.targets.size(); ++i) {
    const std::string target = kernel.targets[i].to_string();
    std::string name = output;
    if (folder) {
      name += fmt::format("{}{}.{}.{}{}", output.ends_with('/') ? "" : "/", kernel.spec.name, target,
                          identify(kernel.spec, kernel.targets[i].target).key().to_string(),
                          extension(options, kernel.targets[i]));
    }
    for (std::size_t at = name.find(kPlaceholder); !folder && at != std::string::npos;
         at = name.find(kPlaceholder, at + target.size()))
      name.replace(at, kPlaceholder.size(), target);
    CUBINET_TRY_ASSIGN(files[i], check_output_file(*context.files(), name, kept));
    if (options.record)
      CUBINET_TRY(check_output_file(*context.files(), record_path(files[i]).string(), kept));
  }
  return files;
}

KernelToCompile kernel_for(const CompileVerbOptions& options, const ResolvedKernel& kernel,
                           ImageTarget target) {
  return {kernel.kernel_template, kernel.spec, kernel.options, target, kind_of(options, target)};
}

Result<std::vector<Outcome>> generate_sources(const CompileVerbOptions& options,
                                              const ResolvedKernel& kernel) {
  std::vector<Outcome> outcomes(kernel.targets.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CUBINET_TRY_ASSIGN(const std::string text, source_of(kernel_for(options, kernel, kernel.targets[i])));
    const ByteView bytes = as_bytes(text);
    outcomes[i].content = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
    outcomes[i].source = "generated";
  }
  return outcomes;
}

Result<std::vector<Outcome>> compile_for_file(const Context& context, const CompileVerbOptions& options,
                                              const ResolvedKernel& kernel) {
  std::vector<KernelToCompile> kernels;
  for (const ImageTarget target : kernel.targets)
    kernels.push_back(kernel_for(options, kernel, target));
  CUBINET_TRY_ASSIGN(const auto compiled,
                     compile_directly(context.session_options(), kernels, context.jobs()));
  std::vector<Outcome> outcomes(compiled.size());
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    Outcome& outcome = outcomes[i];
    if (!compiled[i]) {
      outcome.error = compiled[i].error();
      continue;
    }
    outcome.content = compiled[i]->image;
    outcome.record = compiled[i]->record;
    outcome.source = "compiled";
    outcome.seconds = compiled[i]->seconds;
  }
  return outcomes;
}

Error lost() {
  return Error{ErrorCode::unavailable,
               "the home cannot be used or written and no output file is named: the result would be lost",
               "name a file with -o, or another home with --home"};
}

Error not_kept(const KernelSpec& spec, ImageTarget target, Error reason) {
  reason.message = fmt::format("{} for {} is compiled, and the home could not keep it: {}", spec.to_string(),
                               target.to_string(), reason.message);
  return reason;
}

Result<std::vector<Outcome>> find_or_compile(const Context& context, const CompileVerbOptions& options,
                                             const TemplateCatalog& catalog, const ResolvedKernel& kernel) {
  CUBINET_TRY_ASSIGN(const auto runtime, context.runtime(catalog, kernel.options, {}, options.places));
  const bool memory_only = runtime->stores().size() == 1 && runtime->caches().empty();
  if (memory_only && options.output.empty()) return lost();
  // The Runtime then knows the source of the specification.
  if (kernel.program) CUBINET_TRY(runtime->resolve(*kernel.program));
  std::vector<Outcome> outcomes(kernel.targets.size());
  const auto work = [&](std::size_t index) {
    Outcome& outcome = outcomes[index];
    auto found = runtime->cubin(kernel.spec, kernel.targets[index].target, kernel.targets[index].kind);
    if (!found) {
      outcome.error = found.error();
    } else if (!found->has_value()) {
      outcome.error =
          Error{ErrorCode::unavailable,
                kernel.spec.to_string() + " is in no store, and CUBINET_COMPILE forbids compiling",
                "add a --bundle that has it, or allow compiling"};
    } else {
      outcome.content = (*found)->cubin.image;
      outcome.record = (*found)->cubin.record;
      outcome.source = to_string((*found)->source);
      outcome.seconds =
          (*found)->source == KernelSource::compiled ? (*found)->compile_seconds : (*found)->find_seconds;
      if (const auto kept = is_kept(*runtime, **found); !kept) {
        auto& error = options.output.empty() ? outcome.error : outcome.not_kept;
        error = not_kept(kernel.spec, kernel.targets[index], kept.error());
      } else {
        outcome.kept = *kept;
        if (!*kept && options.output.empty()) outcome.error = lost();
      }
    }
  };
  parallel_for(outcomes.size(), context.jobs(), work);
  return outcomes;
}

Result<void> write_outcome(const Context& context, const CompileVerbOptions& options,
                           const Outcome& outcome) {
  if (outcome.file.empty()) return {};
  CUBINET_TRY(write_file_atomically(*context.files(), outcome.file, *outcome.content));
  if (!options.record) return {};
  CUBINET_TRY(check_storable(*outcome.record));
  return write_file_atomically(*context.files(), record_path(outcome.file), encode_record(*outcome.record));
}

nlohmann::json describe_outcome(const Outcome& outcome, ImageTarget target, bool inline_text) {
  nlohmann::json described = outcome.record ? describe_fully(*outcome.record) : nlohmann::json::object();
  described["target"] = target.to_string();
  described["bytes"] = outcome.content->size();
  described["source"] = outcome.source;
  described["seconds"] = outcome.seconds;
  described["kept"] = outcome.kept;
  if (!outcome.file.empty()) described["file"] = outcome.file.string();
  if (inline_text) described["text"] = as_text(*outcome.content);
  return described;
}

// Prints the symbol of each name of a source. Two names may have the same symbol.
void print_symbols(Console& console, const CubinRecord& record) {
  for (const EntryPoint& entry : record.entry_points)
    console.text(fmt::format("  {}  {}", printable(entry.symbol),
                             entry.name == entry.symbol ? "" : printable(entry.name)));
  for (const auto& [name, symbol] : record.globals)
    console.text(fmt::format("  {}  {}", printable(symbol), name == symbol ? "" : printable(name)));
}

// Logs the input of NVRTC for each target (-v) and returns it as JSON. An error here does not fail
// the verb.
nlohmann::json log_inputs(const Context& context, const CompileVerbOptions& options,
                          const ResolvedKernel& kernel) {
  nlohmann::json given = nlohmann::json::array();
  Console& console = context.console();
  for (const ImageTarget target : kernel.targets) {
    const auto inputs = compilation_inputs(context.session_options(), kernel_for(options, kernel, target));
    if (!inputs) {
      console.message(LogLevel::info, inputs.error().to_line());
      continue;
    }
    for (const CompilationInput& input : *inputs) {
      for (const std::string& line : input.lines)
        console.message(LogLevel::info, line);
      given.push_back(input.document);
    }
  }
  return given;
}

// Writes the results that exist and reports the failures, after all targets were tried.
Result<ExitStatus> deliver(const Context& context, const CompileVerbOptions& options,
                           const ResolvedKernel& kernel, std::vector<Outcome>& outcomes,
                           nlohmann::json given) {
  Console& console = context.console();
  const bool to_stdout = options.output == "-" || (options.output.empty() && options.emit != "cubin");
  nlohmann::json results = nlohmann::json::array();
  std::optional<Error> first_error;
  const auto fail = [&](const Error& error) {
    if (first_error || !console.json()) console.error(error);
    if (!first_error) first_error = error;
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Outcome& outcome = outcomes[i];
    if (!outcome.error) {
      if (const auto written = write_outcome(context, options, outcome); !written)
        outcome.error = written.error();
    }
    if (outcome.not_kept) fail(*outcome.not_kept);
    if (outcome.error) {
      fail(*outcome.error);
      continue;
    }
    if (outcome.record && !outcome.record->warnings.empty()) {
      console.message(LogLevel::warning, "the compiler warned about " + kernel.spec.to_string() + ":");
      console.log(outcome.record->warnings);
    }
    results.push_back(describe_outcome(outcome, kernel.targets[i], to_stdout));
    if (to_stdout) {
      if (!console.json()) console.raw(as_text(*outcome.content));
    } else {
      const std::string key = identify(kernel.spec, kernel.targets[i].target).key().to_string();
      console.text(fmt::format("{}  {}  {}  {} in {}{}", kernel.targets[i].to_string(), key,
                               format_bytes(outcome.content->size()), outcome.source,
                               format_seconds(outcome.seconds),
                               outcome.file.empty() ? "" : "  -> " + printable(outcome.file.string())));
      if (kernel.program) print_symbols(console, *outcome.record);
    }
  }
  nlohmann::json document = first_error ? error_document(*first_error) : describe(kernel.spec);
  document["results"] = std::move(results);
  if (!given.empty()) document["given"] = std::move(given);
  console.document(document);
  return first_error ? exit_status_of(first_error->code) : ExitStatus::done;
}

Result<ExitStatus> compile(const Context& context, const CompileVerbOptions& options) {
  if (options.record && (options.emit != "cubin" || options.output.empty())) {
    return Error{ErrorCode::invalid_argument, "--record describes a cubin file", "name it with -o"};
  }
  CUBINET_TRY_ASSIGN(const TemplateCatalog catalog, context.catalog(options.kernel.sources.template_files));
  const auto kernel = resolve_kernel(*context.files(), catalog, options.kernel);
  if (!kernel) return context.fail(kernel.error(), ExitStatus::usage);
  CUBINET_TRY_ASSIGN(const auto files, output_files(context, options, *kernel));
  // An interrupt ends the process by the signal. NVRTC's handler would end it with an exit status.
  const InterruptGuard interrupt(InterruptGuard::First::ends);
  nlohmann::json given;
  if (context.verbose() && options.emit != "source") given = log_inputs(context, options, *kernel);
  auto outcomes = options.emit == "source"     ? generate_sources(options, *kernel)
                  : goes_through_home(options) ? find_or_compile(context, options, catalog, *kernel)
                                               : compile_for_file(context, options, *kernel);
  if (!outcomes) return outcomes.error();
  for (std::size_t i = 0; i < files.size(); ++i)
    (*outcomes)[i].file = files[i];
  return deliver(context, options, *kernel, *outcomes, std::move(given));
}

}  // namespace

void add_compile(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("compile", "Compile one kernel for one or several targets");
  auto options = std::make_shared<CompileVerbOptions>();
  add_kernel_arguments(*verb, options->kernel);
  verb->add_option("--emit", options->emit, "What to make: cubin, ptx or source")
      ->check(CLI::IsMember({"cubin", "ptx", "source"}))
      ->type_name("KIND");
  verb->add_flag_callback(
      "--lineinfo", [options] { options->kernel.sources.flags.emplace_back("-lineinfo"); },
      "Source lines for profilers: --flag=-lineinfo");
  add_text(*verb, "-o,--output", options->output, "FILE",
           "A file, a folder, or a name with {target} in it; - is stdout");
  verb->add_flag("--record", options->record,
                 "Write FILE.record too, from which `bundle create` takes the cubin");
  add_places(*verb, options->places);
  add_written_cache(*verb, options->places);
  verb->footer(
      R"(A plain cubin is looked for in the home first and kept there. Without -o it is kept there only, and ptx and
source go to stdout.

Examples:
  cubinet compile rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a -o rms_norm.cubin
  cubinet compile rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_80,sm_100f -o 'rms_norm.{target}.cubin'
  cubinet compile rms_norm -p hidden_size=4096 -p dtype=bf16 --target sm_90a --emit ptx
  cubinet compile scale_add --template-file scale_add.cu -p dtype=bf16 --target sm_90a --lineinfo -o scale_add.cubin
  cubinet compile --source axpy.cu --name 'axpy<float, 4>' -D UNROLL=4 --flag=--std=c++20 --target sm_90a -o axpy.cubin
  cubinet compile --source a.cu --source b.cu --library cudadevrt --target sm_90a -o both.cubin)");
  choose<CompileVerbOptions>(*verb, chosen, options, compile);
}

}  // namespace cubinet::cli
