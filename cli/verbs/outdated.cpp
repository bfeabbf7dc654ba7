// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/outdated.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct OutdatedArguments {
  OutdatedOptions compared;
  ServerArguments server;
};

std::string verdict_of(const Comparison& compared) {
  if (compared.error) return "no answer: " + compared.error->to_line();
  const std::string newer =
      compared.there ? fmt::format("version {}", *compared.there) : std::string("another");
  if (compared.same) return compared.pinned ? "pinned, and the newest" : "the newest";
  return fmt::format("{}{} is there", compared.pinned ? "pinned; " : "", newer);
}

Result<ExitStatus> compare_channels(const Context& context, const OutdatedArguments& arguments) {
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(arguments.server));
  CUBINET_TRY_ASSIGN(const OutdatedResult result, outdated(session, arguments.compared));
  std::string text;
  for (const Comparison& compared : result.results) {
    text += fmt::format("{}{}: {}; {}", text.empty() ? "" : "\n", printable(compared.what),
                        compared.here ? fmt::format("version {} here", *compared.here) : "not here",
                        printable(verdict_of(compared)));
  }
  context.console().text(text.empty() ? "no channel of a server is known here" : text);
  context.console().document_text(to_json(result));
  return result.current() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_outdated(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("outdated", "Say what is older here than its channel on a server");
  auto options = std::make_shared<OutdatedArguments>();
  verb->add_option("REF", options->compared.references,
                   "Channels of servers; without one all that the home knows")
      ->type_name("");
  add_list(*verb, "--bundle", options->compared.bundles, "FILE",
           "A bundle to compare with its channel; may be repeated");
  add_server_options(*verb, options->server);
  verb->footer(R"(Status 1 where something is older, or a server gives no answer.

Examples:
  cubinet outdated
  cubinet outdated oci://registry.example/kernels:stable --bundle kernels.bundle)");
  choose<OutdatedArguments>(*verb, chosen, options, compare_channels);
}

}  // namespace cubinet::cli
