// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/channel_pin.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ChannelArguments {
  PinOptions pin;
  ServerArguments server;
};

Result<ExitStatus> change_pin(const Context& context, const ChannelArguments& arguments, bool pin) {
  CUBINET_TRY(context.home());
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(arguments.server));
  const auto result =
      pin ? pin_channel(session, arguments.pin) : unpin_channel(session, arguments.pin.reference);
  if (!result && !pin && result.error().code == ErrorCode::not_found)
    return context.fail(result.error(), ExitStatus::negative);
  if (!result) return result.error();
  const std::string place = printable(result->reference);
  context.console().text(result->pinned ? fmt::format("{}: stays with sha256:{}", place, *result->pinned)
                                        : fmt::format("{}: follows the channel again", place));
  context.console().document_text(to_json(*result));
  return ExitStatus::done;
}

}  // namespace

void add_channel(CLI::App& root, Action& chosen) {
  CLI::App* channel =
      root.add_subcommand("channel", "Stay with one manifest of a server's channel, or follow it");
  channel->require_subcommand(1);
  for (const bool pin : {true, false}) {
    CLI::App* verb = channel->add_subcommand(
        pin ? "pin" : "unpin",
        pin ? "Stay with a manifest, whatever the channel names" : "Follow the channel again");
    auto options = std::make_shared<ChannelArguments>();
    verb->add_option("REF", options->pin.reference, "The channel, as for pull")->required()->type_name("");
    if (pin) {
      CLI::Option* manifest = add_text(*verb, "--manifest", options->pin.manifest, "DIGEST",
                                       "Of the manifest (default: what the channel named last)");
      CLI::Option* before =
          verb->add_flag("--before", options->pin.before, "The one that the channel named before")
              ->excludes(manifest);
      add_integer(*verb, "--bundle-version", options->pin.version, 0, INT64_MAX,
                  "The one of this version, if the home has seen it or the channel names it")
          ->excludes(manifest)
          ->excludes(before);
      add_server_options(*verb, options->server);
    }
    verb->footer(
        pin ? R"(A pinned manifest may be older than what was seen of the channel; it has to be signed all the same.

Examples:
  cubinet channel pin oci://registry.example/kernels:stable
  cubinet channel pin oci://registry.example/kernels:stable --before
  cubinet channel pin oci://registry.example/kernels:stable --bundle-version 6)"
            : "Example:\n  cubinet channel unpin oci://registry.example/kernels:stable");
    choose<ChannelArguments>(*verb, chosen, options,
                             [pin](const Context& context, const ChannelArguments& given) {
                               return change_pin(context, given, pin);
                             });
  }
  channel->footer(R"(Examples:
  cubinet channel pin oci://registry.example/kernels:stable
  cubinet channel unpin oci://registry.example/kernels:stable)");
}

}  // namespace cubinet::cli
