// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "remote_bundle.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct ChannelOptions {
  std::string reference;
  std::string manifest;
  std::optional<std::uint64_t> version;
  bool before = false;
  ServerArguments server;
};

// Of the manifests that the home knows, and the one that the channel names now, that of a version.
Result<Sha256Digest> manifest_of_version(const Context& context, const ChannelOptions& options,
                                         const ServerReference& reference, const KnownChannel& known,
                                         const std::shared_ptr<Home>& home) {
  CUBINET_TRY_ASSIGN(auto policy, policy_to_contact(context.session_options(), reference));
  if (policy) policy->refuse_older = false;  // who pins goes back knowingly
  CUBINET_TRY_ASSIGN(const ServerAccess access, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(access, {reference}));
  const auto server = std::make_shared<KeptServer>(
      servers.server, KeptServerOptions{.home = home, .log = context.console().log_sink()});
  std::vector<std::string> others;
  std::vector<Sha256Digest> seen;
  const auto look = [&](const std::optional<Sha256Digest>& manifest) {
    if (!manifest || std::find(seen.begin(), seen.end(), *manifest) != seen.end()) return false;
    seen.push_back(*manifest);
    const auto root = read_remote_root(context, server, *manifest, policy);
    if (root && root->options.version == *options.version) return true;
    others.push_back(root ? std::to_string(root->options.version) : root.error().message);
    return false;
  };
  for (const auto& manifest : {known.manifest, known.before, known.pinned})
    if (look(manifest)) return *manifest;
  const auto named = server->read_channel(reference.channel);
  if (!named) others.push_back(named.error().message);
  if (named && look(*named)) return **named;
  return Error{
      ErrorCode::not_found,
      fmt::format("neither the home nor the server knows version {} of {} (there are: {})", *options.version,
                  reference.to_full_string(), others.empty() ? "none" : join(others, "; ")),
      "name its manifest by --manifest: `push` and `pull` print it"};
}

Result<Sha256Digest> manifest_to_pin(const ChannelOptions& options, const KnownChannel& known) {
  if (!options.manifest.empty()) {
    std::string_view text = options.manifest;
    if (text.starts_with("sha256:")) text.remove_prefix(7);
    const auto digest = Sha256Digest::parse(text);
    if (digest) return *digest;
    return Error{ErrorCode::invalid_argument,
                 "--manifest: '" + printable(options.manifest, kQuotedBytes) + "' is no digest",
                 "give the 64 hexadecimal digits that `push` and `pull` print"};
  }
  // Behind a pin, the one before is that before what is pinned where this is the newest.
  const auto& wanted = options.before ? known.before : known.manifest;
  if (wanted) return *wanted;
  return Error{
      ErrorCode::not_found,
      "the home knows no manifest that " + known.place + (options.before ? " named before" : " names"),
      "`cubinet pull` it, or name one with --manifest"};
}

Result<ExitStatus> change_pin(const Context& context, const ChannelOptions& options, bool pin) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(options.reference));
  if (reference.channel.empty())
    return Error{ErrorCode::invalid_argument, "'" + options.reference + "' names no channel",
                 "name one: #CHANNEL, oci with :CHANNEL"};
  const std::string place = reference.to_full_string();
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const KnownChannel known, home->downloads().channel(place));
  std::optional<Sha256Digest> pinned;
  if (pin) {
    CUBINET_TRY_ASSIGN(pinned, options.version ? manifest_of_version(context, options, reference, known, home)
                                               : manifest_to_pin(options, known));
  } else if (!known.pinned) {
    return context.fail(Error{ErrorCode::not_found, place + " is not pinned"}, ExitStatus::negative);
  }
  CUBINET_TRY(home->downloads().change(place, [&](KnownChannel& channel) { channel.pinned = pinned; }));
  context.console().text(pinned ? fmt::format("{}: stays with sha256:{}", printable(place), pinned->to_hex())
                                : fmt::format("{}: follows the channel again", printable(place)));
  context.console().document(
      {{"reference", place},
       {"pinned", pinned ? nlohmann::json(pinned->to_hex()) : nlohmann::json(nullptr)}});
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
    auto options = std::make_shared<ChannelOptions>();
    verb->add_option("REF", options->reference, "The channel, as for pull")->required()->type_name("");
    if (pin) {
      CLI::Option* manifest = add_text(*verb, "--manifest", options->manifest, "DIGEST",
                                       "Of the manifest (default: what the channel named last)");
      CLI::Option* before =
          verb->add_flag("--before", options->before, "The one that the channel named before")
              ->excludes(manifest);
      add_integer(*verb, "--bundle-version", options->version, 0, INT64_MAX,
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
    choose<ChannelOptions>(*verb, chosen, options,
                           [pin](const Context& context, const ChannelOptions& given) {
                             return change_pin(context, given, pin);
                           });
  }
  channel->footer(R"(Examples:
  cubinet channel pin oci://registry.example/kernels:stable
  cubinet channel unpin oci://registry.example/kernels:stable)");
}

}  // namespace cubinet::cli
