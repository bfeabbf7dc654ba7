// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "describe_trust.hpp"
#include "device_filter.hpp"
#include "output_file.hpp"
#include "record_filter.hpp"
#include "remote_bundle.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/trust/verification.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace cubinet::cli {
namespace {

struct PullOptions {
  std::string reference;
  std::vector<std::string> mirrors;
  std::string output;
  bool dry_run = false;
  RecordFilter filter;
  DeviceFilter device;
  ServerArguments server;

  bool is_part() const { return !filter.empty() || !device.empty(); }
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

// The home that what comes is kept in; it is made where kernels are to lie in it.
Result<std::shared_ptr<Home>> open_to_pull(const Context& context, const PullOptions& options) {
  const bool needed = options.output.empty() && !options.dry_run;
  std::error_code unknown;
  const auto folder = context.home();
  const bool there = folder && std::filesystem::exists(*folder, unknown);
  if (!needed && !there) return std::shared_ptr<Home>();
  auto home = context.open_registry(HomeOptions::Access::read_write);
  if (home || needed) return home;
  context.console().message(LogLevel::warning, "what comes is kept in no home: " + home.error().to_line());
  return std::shared_ptr<Home>();
}

// Which manifest a reference means.
struct Meant {
  Sha256Digest manifest;
  bool pinned = false;
};
Result<Meant> find_meant(ContentServer& server, const ServerReference& reference, Home* home) {
  if (reference.digest) return Meant{*reference.digest};
  if (home != nullptr) {
    CUBINET_TRY_ASSIGN(const KnownChannel known, home->downloads().channel(reference.to_full_string()));
    if (known.pinned) return Meant{*known.pinned, true};
  }
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest, resolve_channel(server, reference.channel));
  return Meant{manifest};
}

// For `outdated`, and the way back.
void remember(const Context& context, const ServerReference& reference, const Meant& meant, Home* home) {
  if (home == nullptr || !home->description().writable || reference.digest || meant.pinned) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto noted = home->downloads().change(reference.to_full_string(), [&](KnownChannel& known) {
    known.answered(meant.manifest, std::chrono::duration_cast<std::chrono::seconds>(now).count());
  });
  if (!noted)
    context.console().message(LogLevel::warning, "the home does not know of it: " + noted.error().to_line());
}

// What of a bundle is wanted, and what of it has yet to come.
struct Wanted {
  CubinRecords records;
  std::vector<UnservedProblem> unserved;
  std::uint64_t present = 0;  // of those chosen the home has so many already
  std::vector<BytePart> frames;
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const BytePart& frame : frames)
      sum += frame.count;
    return sum;
  }
};

Result<Wanted> find_wanted(const Context& context, const PullOptions& options,
                           const std::optional<DeviceWish>& wish, const std::shared_ptr<Bundle>& bundle,
                           Home* home) {
  Wanted wanted;
  CUBINET_TRY_ASSIGN(CubinRecords chosen, bundle->list());
  CUBINET_TRY_ASSIGN(chosen, select_records(options.filter, std::move(chosen)));
  if (wish) {
    CUBINET_TRY_ASSIGN(DeviceChoice choice, choose_for_device(context, *wish, bundle, std::move(chosen)));
    chosen = std::move(choice.records);
    wanted.unserved = std::move(choice.unserved);
  }
  for (const auto& record : chosen) {
    bool present = false;
    if (home != nullptr && options.output.empty()) {
      CUBINET_TRY_ASSIGN(const CubinRecords there, home->find(record->identity.kernel()));
      present = std::any_of(there.begin(), there.end(),
                            [&](const auto& each) { return each->digest == record->digest; });
    }
    wanted.present += present ? 1U : 0U;
    if (!present) wanted.records.push_back(record);
  }
  CUBINET_TRY_ASSIGN(wanted.frames, frames_of(*bundle, wanted.records));
  return wanted;
}

// The kernels that were chosen, into the home or as a bundle. What has come is kept in the home, so that who
// is ended goes on from there.
Result<std::vector<StoreFinding>> fetch(const Context& context, const std::shared_ptr<Bundle>& bundle,
                                        const ByteSource& source, const Wanted& wanted,
                                        const std::filesystem::path& output, Home* home) {
  std::vector<StoreFinding> refused;
  CUBINET_TRY(source.expect(wanted.frames));
  if (output.empty()) {
    CUBINET_TRY_ASSIGN(ImportReport report, import_records(*bundle, wanted.records, *home));
    refused = std::move(report.refused);
  } else {
    CUBINET_TRY(combine_bundles(output, {{bundle, wanted.records}}, bundle->root().options, context.files()));
  }
  if (home == nullptr || !home->description().writable) return refused;
  for (const BytePart& frame : wanted.frames) {
    if (!frame.shared && frame.digest) CUBINET_TRY(home->downloads().forget(*frame.digest));
  }
  return refused;
}

struct Pulled {
  std::string place;
  bool pinned = false;  // the channel may name another
  std::uint64_t kernels = 0;
  std::uint64_t present = 0;
  std::uint64_t bytes = 0;  // to travel behind the root
  std::vector<StoreFinding> refused;
  std::vector<UnservedProblem> unserved;
};

Result<ExitStatus> tell(const Context& context, const PullOptions& options, const Bundle& bundle,
                        const Pulled& pulled, const std::filesystem::path& output) {
  const BundleRoot& root = bundle.root();
  const std::string into =
      options.dry_run ? "" : "  -> " + (output.empty() ? "the home" : printable(output.string()));
  std::string text = fmt::format("{}\n{} {}: {}, {}, {}{}", pulled.place, printable(root.options.channel),
                                 root.options.version, plural(pulled.kernels, "kernel"),
                                 format_bytes(pulled.bytes), trust_text(bundle), into);
  if (pulled.pinned) text += "\nit is pinned: `cubinet channel unpin` follows the channel again";
  if (pulled.present > 0) text += fmt::format("\nhere already: {}", plural(pulled.present, "kernel"));
  if (!output.empty() && options.is_part())
    text += "\na part of a bundle is another bundle: its maker's signatures are not over it";
  nlohmann::json refused = nlohmann::json::array();
  for (const StoreFinding& finding : pulled.refused) {
    text += fmt::format("\nrefused: {}", printable(finding.reason));
    refused.push_back({{"kind", to_string(finding.kind)}, {"reason", finding.reason}});
  }
  text += unserved_text(pulled.unserved);
  context.console().text(text);
  context.console().document({{"reference", pulled.place},
                              {"channel", root.options.channel},
                              {"version", root.options.version},
                              {"kernels", pulled.kernels},
                              {"present", pulled.present},
                              {"pinned", pulled.pinned},
                              {"bytes", pulled.bytes},
                              {"refused", std::move(refused)},
                              {"unserved", describe(pulled.unserved)},
                              {"trust", describe_trust(bundle)},
                              {"bundle", output.string()}});
  return pulled.refused.empty() && pulled.unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> pull(const Context& context, const PullOptions& options) {
  CUBINET_TRY_ASSIGN(const auto references, parse_references(options));
  std::filesystem::path output;
  if (!options.output.empty()) {
    CUBINET_TRY_ASSIGN(output,
                       check_output_file(*context.files(), options.output, context.protected_files({})));
  }
  std::optional<DeviceWish> wish;
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(wish, device_wish_of(context, options.device));
  }
  const bool whole_file = !output.empty() && !options.is_part();
  const ServerReference& first = references.front();
  CUBINET_TRY_ASSIGN(auto policy, policy_to_contact(context.session_options(), first));
  // Of mirrors only whether they may be asked: what comes from them is what the first one's policy takes.
  for (const ServerReference& reference : references)
    CUBINET_TRY(policy_to_contact(context.session_options(), reference));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> home, open_to_pull(context, options));
  CUBINET_TRY_ASSIGN(const ServerAccess access, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto servers, open_servers(access, references));
  CUBINET_TRY_ASSIGN(const Meant meant, find_meant(*servers.server, first, home.get()));
  // Who pins goes back knowingly: to what is older, never to what is less signed.
  if (policy && meant.pinned) policy->refuse_older = false;
  const auto kept = std::make_shared<KeptServer>(
      servers.server, KeptServerOptions{.home = home, .log = context.console().log_sink()});
  CUBINET_TRY_ASSIGN(const RemoteBundle remote, read_remote_bundle(*kept, meant.manifest));
  CUBINET_TRY_ASSIGN(const auto opened, open_remote(context, kept, remote, policy, !options.dry_run));
  const auto source = remote_source(kept, remote);
  Pulled pulled;
  pulled.place = first.to_string() + "@sha256:" + meant.manifest.to_hex();
  pulled.pinned = meant.pinned;
  if (whole_file || (options.dry_run && !options.is_part())) {
    pulled.kernels = opened->root().records;
    pulled.bytes = remote.root.size() + remote.pack.size;
    if (!options.dry_run) {
      CUBINET_TRY(pull_bundle(*kept, remote, opened->root(), *context.files(), output));
      remember(context, first, meant, home.get());
    }
    return tell(context, options, *opened, pulled, output);
  }
  CUBINET_TRY_ASSIGN(const Wanted wanted, find_wanted(context, options, wish, opened, home.get()));
  pulled.kernels = wanted.records.size();
  pulled.present = wanted.present;
  pulled.bytes = wanted.bytes();
  pulled.unserved = wanted.unserved;
  if (wanted.records.empty() && wanted.present == 0)
    return context.fail(Error{ErrorCode::not_found,
                              "the bundle holds no kernel that fits: nothing is pulled" +
                                  (wanted.unserved.empty() ? std::string()
                                                           : "; of the first problem it says that " +
                                                                 wanted.unserved.front().reason),
                              "pull with --dry-run says what it holds"},
                        ExitStatus::negative);
  if (!options.dry_run) {
    CUBINET_TRY_ASSIGN(pulled.refused, fetch(context, opened, *source, wanted, output, home.get()));
    remember(context, first, meant, home.get());
  }
  return tell(context, options, *opened, pulled, output);
}

}  // namespace

void add_pull(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand("pull", "Get a bundle, or a part of it, from a server, checked");
  auto options = std::make_shared<PullOptions>();
  verb->add_option("REF", options->reference,
                   "https://host/folder#CHANNEL, s3://bucket/prefix#CHANNEL, oci://host/name:CHANNEL, "
                   "file:///folder#CHANNEL, or with @sha256:DIGEST in the channel's place")
      ->required()
      ->type_name("");
  add_text(*verb, "-o,--output", options->output, "BUNDLE",
           "The bundle to write, its signatures beside it; without it kernels go into the home");
  add_record_filter(*verb, options->filter);
  add_function_filter(*verb, options->filter);
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
  choose<PullOptions>(*verb, chosen, options, pull);
}

}  // namespace cubinet::cli
