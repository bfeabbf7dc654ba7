// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "describe_trust.hpp"
#include "output_file.hpp"
#include "remote_bundle.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::cli {
namespace {

struct PullOptions {
  std::string reference;
  std::vector<std::string> mirrors;
  std::string output;
  bool dry_run = false;
  ServerOptions server;
};

Result<std::vector<ServerReference>> parse_references(const PullOptions& options) {
  std::vector<ServerReference> references;
  CUBINET_TRY_ASSIGN(ServerReference first, ServerReference::parse(options.reference));
  if (first.channel.empty() && !first.digest)
    return Error{ErrorCode::invalid_argument,
                 "'" + options.reference + "' says which server, and not which bundle",
                 "name a channel (#CHANNEL, oci with :CHANNEL) or a manifest (@sha256:DIGEST)"};
  references.push_back(std::move(first));
  for (const std::string& mirror : options.mirrors) {
    CUBINET_TRY_ASSIGN(ServerReference next, ServerReference::parse(mirror));
    if (!next.channel.empty() || next.digest)
      return Error{ErrorCode::invalid_argument, "the mirror '" + mirror + "' names a channel or a manifest",
                   "name the server alone: the first reference says which bundle"};
    references.push_back(std::move(next));
  }
  return references;
}

Result<ExitStatus> pull(const Context& context, const PullOptions& options) {
  CUBINET_TRY_ASSIGN(const auto references, parse_references(options));
  if (options.output.empty() && !options.dry_run)
    return Error{ErrorCode::invalid_argument, "no output is named",
                 "name a file with --output, or say --dry-run"};
  std::filesystem::path output;
  if (!options.dry_run) {
    CUBINET_TRY_ASSIGN(output,
                       check_output_file(*context.files(), options.output, context.protected_files({})));
  }
  CUBINET_TRY_ASSIGN(const auto policy, policy_of(context, references.front()));
  // Of mirrors only whether they may be asked: what comes from them is what the first one's policy takes.
  for (const ServerReference& reference : references)
    CUBINET_TRY(policy_of(context, reference));
  CUBINET_TRY_ASSIGN(const OpenServers servers, open_servers(context, options.server, references));
  const ServerReference& first = references.front();
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest, first.digest
                                                      ? Result<Sha256Digest>(*first.digest)
                                                      : resolve_channel(*servers.server, first.channel));
  CUBINET_TRY_ASSIGN(const RemoteBundle remote, read_remote_bundle(*servers.server, manifest));
  CUBINET_TRY_ASSIGN(const auto opened, open_remote_root(context, servers.server, remote, policy));
  const BundleRoot& root = opened->root();
  if (!options.dry_run) CUBINET_TRY(pull_bundle(*servers.server, remote, *context.files(), output));
  const std::string place = first.to_string() + "@sha256:" + manifest.to_hex();
  const std::uint64_t bytes = remote.root.size() + remote.pack.size;
  context.console().text(fmt::format("{}\n{} {}: {}, {}, {}{}", place, printable(root.options.channel),
                                     root.options.version, plural(root.records, "kernel"),
                                     format_bytes(bytes), trust_text(*opened),
                                     options.dry_run ? "" : "  -> " + printable(output.string())));
  context.console().document({{"reference", place},
                              {"manifest", manifest.to_hex()},
                              {"channel", root.options.channel},
                              {"version", root.options.version},
                              {"kernels", root.records},
                              {"bytes", bytes},
                              {"trust", describe_trust(*opened)},
                              {"bundle", output.string()}});
  return ExitStatus::done;
}

}  // namespace

void add_pull(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("pull", "Get a bundle and its signatures from a server, checked");
  auto options = std::make_shared<PullOptions>();
  verb->add_option("REF", options->reference,
                   "https://host/folder#CHANNEL, s3://bucket/prefix#CHANNEL, oci://host/name:CHANNEL, "
                   "file:///folder#CHANNEL, or with @sha256:DIGEST in the channel's place")
      ->required()
      ->type_name("");
  add_text(*verb, "-o,--output", options->output, "BUNDLE",
           "The bundle to write; its signatures come beside it");
  add_list(*verb, "--mirror", options->mirrors, "REF", "Where to ask next, without a channel");
  verb->add_flag("--dry-run", options->dry_run, "Say what would be pulled, from its root alone");
  add_server_options(*verb, options->server);
  verb->footer(
      R"(Where the home's policy asks for signatures, they are checked before the bundle's kernels travel.

Examples:
  cubinet pull oci://registry.example:5000/team/kernels:stable -o kernels.bundle
  cubinet pull https://files.example/kernels#stable -o kernels.bundle --mirror s3://bucket/kernels
  cubinet pull file:///srv/kernels#stable --dry-run)");
  choose<PullOptions>(*verb, chosen, options, pull);
}

}  // namespace cubinet::cli
