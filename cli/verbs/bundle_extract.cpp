// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "record_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/spec/image_check.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ExtractOptions {
  std::string bundle;
  std::string kernel;
  std::vector<std::string> targets;
  std::string output;
  bool record = false;
};

// Returns the one build that the options select. Builds of a kernel for several targets count as
// several.
Result<std::shared_ptr<const CubinRecord>> find_build(Bundle& bundle, const ExtractOptions& options) {
  RecordArguments filter;
  filter.kernels = {options.kernel};
  filter.targets = options.targets;
  CUBINET_TRY_ASSIGN(auto listed, bundle.list());
  CUBINET_TRY_ASSIGN(const auto records, select_records(filter, std::move(listed)));
  CUBINET_TRY(check_one_kernel(options.kernel, records));
  if (records.empty()) {
    return Error{ErrorCode::not_found,
                 fmt::format("bundle '{}' holds no kernel of the key or name '{}'{}", options.bundle,
                             options.kernel, options.targets.empty() ? "" : " for " + join(options.targets)),
                 "`cubinet bundle list` prints the keys that it holds"};
  }
  if (records.size() == 1) return records.front();
  std::vector<std::string> builds;
  for (const auto& record : records)
    builds.push_back(record->identity.key().to_string() + " for " + record->target_name());
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' has {} builds in bundle '{}': {}", options.kernel, records.size(),
                           options.bundle, join(builds, "; ")),
               "name one by its key, or choose with --target"};
}

// Returns the first part of a file name for a kernel. A bundle may give a kernel any name. The
// result has no separator and does not begin with a dot.
std::string file_name_of(const std::string& kernel) {
  constexpr std::size_t kLongest = 100;
  std::string name = kernel.substr(0, kLongest);
  for (char& c : name) {
    if (!is_word_character(c) && c != '-' && c != '+' && c != '.') c = '_';
  }
  if (name.starts_with('.')) name.front() = '_';
  return name;
}

const char* ending_of(ImageKind kind) {
  switch (kind) {
    case ImageKind::cubin:
      return "cubin";
    case ImageKind::ptx:
      return "ptx";
    case ImageKind::cache_entry:
      return "entry";
  }
  return "image";
}

Result<ExitStatus> extract(const Context& context, const ExtractOptions& options) {
  CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(options.bundle));
  const auto build = find_build(*bundle, options);
  if (!build) {
    const bool no_answer = build.error().code == ErrorCode::not_found;
    return context.fail(build.error(), no_answer ? std::optional(ExitStatus::negative) : std::nullopt);
  }
  const CubinRecord& record = **build;
  std::error_code unknown;
  std::string output = options.output;
  if (output.empty() || std::filesystem::is_directory(output, unknown)) {
    const auto name = fmt::format("{}.{}.{}.{}", file_name_of(spec_of(record).name), record.target_name(),
                                  record.identity.key().to_string(), ending_of(record.kind));
    output = (std::filesystem::path(output) / name).string();
  }
  const ProtectedFiles kept = context.protected_files({options.bundle});
  CUBINET_TRY_ASSIGN(const auto file, check_output_file(*context.files(), output, kept));
  const std::string record_file = file.string() + ".record";
  if (options.record) CUBINET_TRY(check_output_file(*context.files(), record_file, kept));
  CUBINET_TRY_ASSIGN(const Cubin cubin, bundle->read(*build));
  CUBINET_TRY(check_image(record, *cubin.image));
  CUBINET_TRY(write_file_atomically(*context.files(), file, *cubin.image));
  if (options.record)
    CUBINET_TRY(write_file_atomically(*context.files(), record_file, encode_record(record)));
  nlohmann::json document = describe_fully(record);
  document["file"] = file.string();
  context.console().text(fmt::format("{}  {}  {}  -> {}", record.target_name(),
                                     record.identity.key().to_string(), format_bytes(record.size),
                                     printable(file.string())));
  context.console().document(document);
  return ExitStatus::done;
}

}  // namespace

void add_bundle_extract(CLI::App& bundle, Action& chosen) {
  CLI::App* verb = bundle.add_subcommand("extract", "Write one kernel of a bundle to a file, verified");
  auto options = std::make_shared<ExtractOptions>();
  verb->add_option("BUNDLE", options->bundle, "The bundle")->required()->type_name("");
  verb->add_option("KERNEL", options->kernel,
                   "A key, as `bundle list` prints it, or a name; NAME@PIN for one pin or version")
      ->required()
      ->type_name("");
  add_list(*verb, "--target", options->targets, "sm_90a[,...]", "The target, where a name has several");
  add_text(*verb, "-o,--output", options->output, "FILE",
           "A file or a folder (default: a file of the kernel's name, target and key, here)");
  verb->add_flag("--record", options->record,
                 "Write FILE.record too, from which `bundle create` takes the cubin");
  verb->footer(R"(Examples:
  cubinet bundle extract kernels.bundle 0123456789abcdef -o rms_norm.cubin
  cubinet bundle extract kernels.bundle rms_norm --target sm_90a -o rms_norm.cubin --record)");
  choose<ExtractOptions>(*verb, chosen, options, extract);
}

}  // namespace cubinet::cli
