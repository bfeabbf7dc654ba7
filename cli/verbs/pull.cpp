// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "device_filter.hpp"
#include "record_arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>
#include <cubinet/session/pull.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct PullArguments {
  std::string reference;
  std::vector<std::string> mirrors;
  std::string output;
  bool dry_run = false;
  RecordArguments filter;
  DeviceFilter device;
  ServerArguments server;
};

Result<PullOptions> pull_options_of(const Context& context, const PullArguments& arguments) {
  PullOptions options{arguments.reference, arguments.mirrors};
  options.dry_run = arguments.dry_run;
  if (!arguments.output.empty()) {
    CUBINET_TRY_ASSIGN(const std::filesystem::path output,
                       check_output_file(*context.files(), arguments.output, context.protected_files({})));
    options.output = output.string();
  } else if (!arguments.dry_run) {
    CUBINET_TRY(context.home());
  }
  CUBINET_TRY_ASSIGN(options.filter, record_filter_of(arguments.filter));
  if (!arguments.device.empty()) {
    CUBINET_TRY_ASSIGN(options.device, device_request_of(context, arguments.device));
  }
  Console& console = context.console();
  options.progress = [&console](const TransferProgress& progress) {
    console.show_status_line(
        fmt::format("{} of {}", format_bytes(progress.bytes), format_bytes(progress.total)));
  };
  return options;
}

Error nothing_fits(const PullResult& result) {
  std::string message = "the bundle holds no kernel that fits: nothing is pulled";
  if (!result.unserved.empty())
    message += "; of the first problem it says that " + result.unserved.front().reason;
  return {ErrorCode::not_found, message, "pull with --dry-run says what it holds"};
}

std::string text_of(const PullOptions& options, const PullResult& result) {
  const std::string into =
      options.dry_run ? "" : "  -> " + (result.bundle.empty() ? "the home" : printable(result.bundle));
  std::string text = fmt::format("{}\n{} {}: {}, {}, {}{}", printable(result.reference),
                                 printable(result.channel), result.version, plural(result.kernels, "kernel"),
                                 format_bytes(result.bytes), to_text(result.trust), into);
  if (result.pinned) text += "\nit is pinned: `cubinet channel unpin` follows the channel again";
  if (result.present > 0) text += fmt::format("\nhere already: {}", plural(result.present, "kernel"));
  if (!result.bundle.empty() && options.is_part())
    text += "\na part of a bundle is another bundle: its maker's signatures are not over it";
  for (const StoreFinding& finding : result.refused)
    text += fmt::format("\nrefused: {}", printable(finding.reason));
  return text + outranked_text(result.outranked) + unserved_text(result.unserved);
}

Result<ExitStatus> pull_bundle(const Context& context, const PullArguments& arguments) {
  CUBINET_TRY_ASSIGN(const PullOptions options, pull_options_of(context, arguments));
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(arguments.server));
  const auto result = pull(session, options);
  context.console().clear_status_line();
  if (!result) return result.error();
  if (result->empty()) return context.fail(nothing_fits(*result), ExitStatus::negative);
  context.console().text(text_of(options, *result));
  context.console().document_text(to_json(*result));
  return result->refused.empty() && result->unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_pull(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("pull", "Get a bundle, or a part of it, from a server, checked");
  auto options = std::make_shared<PullArguments>();
  verb->add_option("REF", options->reference,
                   "https://host/folder#CHANNEL, s3://bucket/prefix#CHANNEL, oci://host/name:CHANNEL, "
                   "file:///folder#CHANNEL, or with @sha256:DIGEST in the channel's place")
      ->required()
      ->type_name("");
  add_text(*verb, "-o,--output", options->output, "BUNDLE",
           "The bundle to write, its signatures beside it; without it kernels go into the home");
  add_record_arguments(*verb, options->filter);
  add_function_arguments(*verb, options->filter);
  add_device_filter(*verb, options->device);
  add_list(*verb, "--mirror", options->mirrors, "REF", "Where to ask next, without a channel");
  verb->add_flag("--dry-run", options->dry_run, "Say how much would be pulled, and remember nothing of it");
  add_server_options(*verb, options->server);
  verb->footer(
      R"(Where the home's policy asks for signatures, they are checked before the bundle's kernels travel.

Examples:
  cubinet pull oci://registry.example:5000/team/kernels:stable -o kernels.bundle
  cubinet pull https://files.example/kernels#stable -o kernels.bundle --mirror s3://bucket/kernels
  cubinet pull oci://registry.example/kernels:stable --device sm_103 --types bf16
  cubinet pull oci://registry.example/kernels:stable --device sm_103 --sm-count 148 --problems shapes.txt
  cubinet pull file:///srv/kernels#stable --dry-run)");
  choose<PullArguments>(*verb, chosen, options, pull_bundle);
}

}  // namespace cubinet::cli
