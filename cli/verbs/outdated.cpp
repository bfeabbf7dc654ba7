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

namespace cubinet::cli {
namespace {

struct OutdatedOptions {
  std::vector<std::string> references;
  std::vector<std::string> bundles;
  ServerArguments server;
};

// What is here, and what its channel names now.
struct Compared {
  std::string what;  // a reference, or a file
  std::optional<std::uint64_t> here;
  std::optional<std::uint64_t> there;
  std::string channel;  // as the newer root says it
  bool same = false;    // the very manifest
  bool pinned = false;
  std::optional<Error> error;

  bool outdated() const { return !error && !same; }
  std::string verdict() const {
    if (error) return "no answer: " + error->to_line();
    const std::string newer = there ? fmt::format("version {}", *there) : std::string("another");
    if (same) return pinned ? "pinned, and the newest" : "the newest";
    return fmt::format("{}{} is there", pinned ? "pinned; " : "", newer);
  }
};

Result<void> compare(const Context& context, const OutdatedOptions& options,
                     const std::shared_ptr<Home>& home, const KnownChannel& known, Compared& compared) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(known.place));
  CUBINET_TRY_ASSIGN(const auto policy, policy_of(context.session_options(), reference));
  CUBINET_TRY_ASSIGN(const ServerAccess access, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(access, {reference}));
  const auto used = known.pinned ? known.pinned : known.manifest;
  compared.pinned = known.pinned.has_value();
  if (used) {
    const auto kept =
        std::make_shared<KeptServer>(servers.server, KeptServerOptions{.home = home, .local_only = true});
    if (const auto root = read_remote_root(context, kept, *used, {})) compared.here = root->options.version;
  }
  const bool local_only = policy && policy->local_only && reference.layout != ServerReference::Layout::folder;
  const auto server = std::make_shared<KeptServer>(
      servers.server,
      KeptServerOptions{.home = home, .local_only = local_only, .log = context.console().log_sink()});
  const auto named = server->read_channel(reference.channel);
  if (!named) return named.error();
  if (!*named)
    return Error{ErrorCode::not_found, server->name() + " has no channel '" + reference.channel + "'"};
  compared.same = used == **named;
  CUBINET_TRY_ASSIGN(const BundleRoot root, read_remote_root(context, server, **named, policy));
  compared.there = root.options.version;
  compared.channel = root.options.channel;
  return {};
}

// A file is of the channel that its root says.
Result<Compared> compare_file(const Context& context, const std::string& file,
                              const std::vector<Compared>& channels) {
  CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(file));
  const BundleOptions& said = bundle->root().options;
  Compared compared;
  compared.what = file;
  compared.here = said.version;
  for (const Compared& channel : channels) {
    if (!channel.there || channel.channel != said.channel) continue;
    if (!compared.there || *channel.there > *compared.there) compared.there = channel.there;
  }
  if (!compared.there)
    compared.error =
        Error{ErrorCode::not_found, "no server here has its channel '" + printable(said.channel) + "'",
              "name the server as a REF"};
  compared.same = compared.there && *compared.there <= said.version;
  return compared;
}

nlohmann::json describe_compared(const Compared& compared) {
  const auto number = [](const std::optional<std::uint64_t>& version) {
    return version ? nlohmann::json(*version) : nlohmann::json(nullptr);
  };
  nlohmann::json described = {{"what", compared.what},
                              {"here", number(compared.here)},
                              {"there", number(compared.there)},
                              {"outdated", compared.outdated()},
                              {"pinned", compared.pinned}};
  if (compared.error) described.update(error_document(*compared.error));
  return described;
}

Result<ExitStatus> outdated(const Context& context, const OutdatedOptions& options) {
  std::error_code unknown;
  const auto folder = context.home();
  std::shared_ptr<Home> home;
  if (folder && std::filesystem::exists(*folder, unknown)) {
    // One that only others may write, a site's, is compared as well: nothing more is kept in it.
    auto opened = context.open_registry(HomeOptions::Access::read_write);
    if (!opened && opened.error().code != ErrorCode::untrusted)
      opened = context.open_registry(HomeOptions::Access::read_only);
    if (!opened) return opened.error();
    home = *std::move(opened);
  }
  std::vector<KnownChannel> channels;
  for (const std::string& text : options.references) {
    CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(text));
    if (reference.channel.empty())
      return Error{ErrorCode::invalid_argument, "'" + text + "' names no channel",
                   "name one: #CHANNEL, oci with :CHANNEL"};
    const std::string place = reference.to_full_string();
    channels.push_back({place});
    if (home != nullptr) {
      CUBINET_TRY_ASSIGN(channels.back(), home->downloads().channel(place));
    }
  }
  if (options.references.empty() && home != nullptr) {
    CUBINET_TRY_ASSIGN(channels, home->downloads().channels());
    // What was named by its manifest is what it is, and a cache of builds has no versions.
    std::erase_if(channels, [](const KnownChannel& known) {
      const auto reference = ServerReference::parse(known.place);
      return reference && (reference->digest || reference->channel.empty());
    });
  }
  std::vector<Compared> all;
  for (const KnownChannel& known : channels) {
    Compared compared;
    compared.what = known.place;
    if (auto answered = compare(context, options, home, known, compared); !answered)
      compared.error = std::move(answered).error();
    all.push_back(std::move(compared));
  }
  for (const std::string& file : options.bundles) {
    CUBINET_TRY_ASSIGN(Compared compared, compare_file(context, file, all));
    all.push_back(std::move(compared));
  }
  bool current = true;
  std::string text;
  nlohmann::json described = nlohmann::json::array();
  for (const Compared& compared : all) {
    current = current && !compared.outdated() && !compared.error;
    text += fmt::format("{}{}: {}; {}", text.empty() ? "" : "\n", printable(compared.what),
                        compared.here ? fmt::format("version {} here", *compared.here) : "not here",
                        printable(compared.verdict()));
    described.push_back(describe_compared(compared));
  }
  context.console().text(all.empty() ? "no channel of a server is known here" : text);
  context.console().document({{"results", std::move(described)}});
  return current ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_outdated(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("outdated", "Say what is older here than its channel on a server");
  auto options = std::make_shared<OutdatedOptions>();
  verb->add_option("REF", options->references, "Channels of servers; without one all that the home knows")
      ->type_name("");
  add_list(*verb, "--bundle", options->bundles, "FILE",
           "A bundle to compare with its channel; may be repeated");
  add_server_options(*verb, options->server);
  verb->footer(R"(Status 1 where something is older, or a server gives no answer.

Examples:
  cubinet outdated
  cubinet outdated oci://registry.example/kernels:stable --bundle kernels.bundle)");
  choose<OutdatedOptions>(*verb, chosen, options, outdated);
}

}  // namespace cubinet::cli
