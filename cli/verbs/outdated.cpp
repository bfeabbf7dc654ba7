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

// Returns the kind of failure of a comparison: the server refused the request or the policy refused
// the newer bundle, the server does not have the channel, or the server did not answer.
std::string_view failure_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::untrusted:
    case ErrorCode::corruption:
      return "refused";
    case ErrorCode::not_found:
      return "not found";
    default:
      return "no answer";
  }
}

std::string verdict_of(const Comparison& compared) {
  if (compared.error)
    return fmt::format("{}: {}", failure_of(compared.error->code), compared.error->to_line());
  if (compared.same) return compared.pinned ? "pinned, and the newest" : "the newest";
  return fmt::format("{}the server has {}", compared.pinned ? "pinned; " : "",
                     compared.there ? fmt::format("version {}", *compared.there) : "another bundle");
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
  context.console().text(text.empty() ? "the home knows no channel of a server" : text);
  context.console().document_text(to_json(result));
  return result.current() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_outdated(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("outdated", "List bundles that are older than their channels on servers");
  auto options = std::make_shared<OutdatedArguments>();
  verb->add_option("REF", options->compared.references,
                   "Channels of servers; without one, all that the home knows")
      ->type_name("");
  add_list(*verb, "--bundle", options->compared.bundles, "FILE",
           "A bundle to compare with its channel; may be repeated");
  add_server_options(*verb, options->server);
  verb->footer(
      R"(Status 1 if a bundle is older, or if it could not be compared: "refused" by the server or the policy, "not found"
on the server, or "no answer".

Examples:
  cubinet outdated
  cubinet outdated oci://registry.example/kernels:stable --bundle kernels.bundle)");
  choose<OutdatedArguments>(*verb, chosen, options, compare_channels);
}

}  // namespace cubinet::cli
