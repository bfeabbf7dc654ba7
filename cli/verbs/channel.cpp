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
  context.console().text(result->pinned ? fmt::format("{}: pinned to sha256:{}", place, *result->pinned)
                                        : fmt::format("{}: follows the channel again", place));
  context.console().document_text(to_json(*result));
  return ExitStatus::done;
}

struct ChannelListArguments {};

Result<ExitStatus> print_channels(const Context& context, const ChannelListArguments&) {
  CUBINET_TRY_ASSIGN(const ChannelList list, list_channels(context.session_options()));
  const auto line = [](const char* name, const KnownBundle& bundle) {
    if (!bundle.manifest) return std::string();
    return fmt::format("\n  {}  {}sha256:{}", name,
                       bundle.version ? fmt::format("version {}, ", *bundle.version) : "", *bundle.manifest);
  };
  for (const KnownChannelState& channel : list.channels)
    context.console().text(printable(channel.reference) + line("pinned", channel.pinned) +
                           line("named ", channel.named) + line("before", channel.before));
  if (list.channels.empty()) context.console().message(LogLevel::info, "the home knows no channel");
  context.console().document_text(to_json(list));
  return ExitStatus::done;
}

void add_list_channels(CLI::App& channel, Action& chosen) {
  CLI::App* verb = channel.add_subcommand("list", "List the channels that the home knows, and their pins");
  verb->footer(
      R"(No server is contacted. Each channel is listed with its pin, the manifest that it named last, and the
one before. A version is listed if the home has the manifest's root.

Example:
  cubinet channel list --json)");
  choose<ChannelListArguments>(*verb, chosen, std::make_shared<ChannelListArguments>(), print_channels);
}

}  // namespace

void add_channel(CLI::App& root, Action& chosen) {
  CLI::App* channel =
      root.add_subcommand("channel", "Pin a server's channel to one manifest, unpin it, list channels");
  channel->require_subcommand(1);
  for (const bool pin : {true, false}) {
    CLI::App* verb =
        channel->add_subcommand(pin ? "pin" : "unpin", pin ? "Use one manifest, whatever the channel names"
                                                           : "Follow the channel again");
    auto options = std::make_shared<ChannelArguments>();
    verb->add_option("REF", options->pin.reference, "The channel, as for pull")->required()->type_name("");
    if (pin) {
      CLI::Option* manifest =
          add_text(*verb, "--manifest", options->pin.manifest, "DIGEST",
                   "The manifest's digest (default: the one that the channel named last)");
      CLI::Option* before =
          verb->add_flag("--before", options->pin.before, "The manifest that the channel named before")
              ->excludes(manifest);
      add_integer(
          *verb, "--bundle-version", options->pin.version, 0, INT64_MAX,
          "The manifest of this version, among the current, the last, the previous and the pinned one")
          ->excludes(manifest)
          ->excludes(before);
    }
    add_server_options(*verb, options->server);
    verb->footer(
        pin ? R"(A pinned manifest may be older than the newest one seen of the channel. It must be signed all the same.

Examples:
  cubinet channel pin oci://registry.example/kernels:stable
  cubinet channel pin oci://registry.example/kernels:stable --before
  cubinet channel pin oci://registry.example/kernels:stable --bundle-version 6)"
            : R"(No server is contacted. The options of servers are accepted as for `channel pin`.

Example:
  cubinet channel unpin oci://registry.example/kernels:stable)");
    choose<ChannelArguments>(*verb, chosen, options,
                             [pin](const Context& context, const ChannelArguments& given) {
                               return change_pin(context, given, pin);
                             });
  }
  add_list_channels(*channel, chosen);
  channel->footer(R"(Examples:
  cubinet channel pin oci://registry.example/kernels:stable
  cubinet channel list
  cubinet channel unpin oci://registry.example/kernels:stable)");
}

}  // namespace cubinet::cli
