// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/push.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct PushArguments {
  PushOptions push;
  ServerArguments server;
};

Result<ExitStatus> push_bundle(const Context& context, const PushArguments& arguments) {
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(arguments.server));
  CUBINET_TRY_ASSIGN(const PushResult result, push(session, arguments.push));
  context.console().text(
      fmt::format("{}: {}, {}", printable(result.reference), plural(result.signatures, "signature"),
                  result.channel.empty() ? "no channel" : "channel " + printable(result.channel)));
  context.console().document_text(to_json(result));
  return ExitStatus::done;
}

}  // namespace

void add_push(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("push", "Put a bundle and its signatures on a server");
  auto options = std::make_shared<PushArguments>();
  verb->add_option("BUNDLE", options->push.bundle, "The bundle; FILE.<key id>.minisig beside it go too")
      ->required()
      ->type_name("");
  verb->add_option(
          "REF", options->push.reference,
          "https://host/folder, s3://bucket/prefix, oci://host/name, an existing folder, or file:///folder, "
          "which is created; with #CHANNEL, oci with :CHANNEL, or else the bundle's own channel")
      ->required()
      ->type_name("");
  add_server_options(*verb, options->server);
  verb->footer(R"(Examples:
  cubinet push kernels.bundle oci://registry.example:5000/team/kernels:stable
  cubinet push kernels.bundle s3://bucket/kernels
  cubinet push kernels.bundle https://files.example/kernels#stable --user me --password-file -)");
  choose<PushArguments>(*verb, chosen, options, push_bundle);
}

}  // namespace cubinet::cli
