// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/trust/signature.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct PushOptions {
  std::string bundle;
  std::string reference;
  ServerArguments server;
};

// FILE.<key id>.minisig, of every key.
Result<std::vector<BundleSignature>> read_signatures(FileSystem& files, const std::filesystem::path& bundle) {
  const std::filesystem::path folder = bundle.has_parent_path() ? bundle.parent_path() : ".";
  const std::string before = bundle.filename().string() + ".";
  constexpr std::string_view after = ".minisig";
  std::vector<BundleSignature> signatures;
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  for (const std::string& name : listing.names) {
    if (!name.starts_with(before) || !name.ends_with(after) ||
        name.size() != before.size() + 16 + after.size())
      continue;
    CUBINET_TRY_ASSIGN(Bytes content, files.read(folder / name, kMaximumSignatureBytes));
    signatures.push_back({name.substr(before.size(), 16), std::move(content)});
  }
  return signatures;
}

Result<ExitStatus> push(const Context& context, const PushOptions& options) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(options.reference));
  if (reference.digest)
    return Error{ErrorCode::invalid_argument,
                 "'" + options.reference + "' names a manifest, which is not there before",
                 "name a channel, or the server alone"};
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(options.bundle, context.files()));
  BundleUpload upload{options.bundle, bundle->root_bytes().size()};
  CUBINET_TRY_ASSIGN(upload.signatures, read_signatures(*context.files(), options.bundle));
  const BundleOptions& said = bundle->root().options;
  if (said.version != 0)
    upload.annotations["org.opencontainers.image.version"] = std::to_string(said.version);
  std::string channel = reference.channel;
  if (channel.empty() && check_channel(said.channel)) channel = said.channel;
  CUBINET_TRY_ASSIGN(const ServerAccess access, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(access, {reference}));
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest,
                     push_bundle(*servers.server, context.files(), upload, channel));
  const std::string place = reference.to_string() + "@sha256:" + manifest.to_hex();
  context.console().text(fmt::format("{}: {}, {}", place, plural(upload.signatures.size(), "signature"),
                                     channel.empty() ? "no channel" : "channel " + printable(channel)));
  context.console().document({{"reference", place},
                              {"manifest", manifest.to_hex()},
                              {"channel", channel},
                              {"signatures", upload.signatures.size()}});
  return ExitStatus::done;
}

}  // namespace

void add_push(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("push", "Put a bundle and its signatures on a server");
  auto options = std::make_shared<PushOptions>();
  verb->add_option("BUNDLE", options->bundle, "The bundle; FILE.<key id>.minisig beside it go too")
      ->required()
      ->type_name("");
  verb->add_option(
          "REF", options->reference,
          "https://host/folder, s3://bucket/prefix, oci://host/name or a folder; with #CHANNEL, oci with "
          ":CHANNEL, or else the bundle's own channel")
      ->required()
      ->type_name("");
  add_server_options(*verb, options->server);
  verb->footer(R"(Examples:
  cubinet push kernels.bundle oci://registry.example:5000/team/kernels:stable
  cubinet push kernels.bundle s3://bucket/kernels
  cubinet push kernels.bundle https://files.example/kernels#stable --user me --password-file -)");
  choose<PushOptions>(*verb, chosen, options, push);
}

}  // namespace cubinet::cli
