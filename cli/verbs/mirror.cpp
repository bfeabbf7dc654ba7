// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "artifact_run.hpp"
#include "describe.hpp"
#include "describe_trust.hpp"
#include "device_filter.hpp"
#include "output_file.hpp"
#include "remote_bundle.hpp"
#include "server_arguments.hpp"
#include "table_store.hpp"
#include "verbs.hpp"

#include <cubinet/artifacts/published_mirror.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/session/servers.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

// Requests wait for servers, not for processors.
constexpr unsigned kRequestsAtATime = 8;
constexpr std::size_t kPrintedLeftOut = 3;
constexpr std::uint64_t kMaximumPins = std::uint64_t{1} << 20;
constexpr std::string_view kDigestMark = "sha256:";

struct MirrorVerbOptions {
  std::string source;
  std::string destination;
  std::string checksums;
  std::vector<std::string> mirrors;
  std::vector<std::string> targets;
  std::vector<std::string> functions;
  DeviceFilter device;
  ServerArguments server;
};

struct MirrorPlaces {
  std::vector<ServerReference> sources;
  ServerReference destination;

  bool is_bundle() const { return !sources.front().channel.empty() || sources.front().digest.has_value(); }
};

Result<MirrorPlaces> parse_places(const MirrorVerbOptions& options) {
  MirrorPlaces places;
  CUBINET_TRY_ASSIGN(ServerReference source, ServerReference::parse(options.source));
  CUBINET_TRY_ASSIGN(places.destination, ServerReference::parse(options.destination));
  places.sources.push_back(std::move(source));
  for (const std::string& mirror : options.mirrors) {
    CUBINET_TRY_ASSIGN(ServerReference next, ServerReference::parse(mirror));
    if (!next.channel.empty() || next.digest)
      return Error{ErrorCode::invalid_argument, "the mirror '" + mirror + "' names a channel or a manifest",
                   "name the server alone: SOURCE says what is mirrored"};
    places.sources.push_back(std::move(next));
  }
  return places;
}

// Who is asked by a name and password: the server that is written, or the only one there is.
ServerArguments without_user(ServerArguments options) {
  options.user.clear();
  options.password_file.clear();
  return options;
}

Result<ExitStatus> mirror_bundle(const Context& context, const MirrorVerbOptions& options,
                                 const MirrorPlaces& places) {
  const ServerReference& first = places.sources.front();
  if (places.destination.digest)
    return Error{ErrorCode::invalid_argument, "'" + options.destination + "' names a manifest",
                 "name a channel, or the server alone: the manifest is that of SOURCE"};
  if (!options.checksums.empty() || !options.targets.empty() || !options.functions.empty() ||
      !options.device.empty())
    return Error{
        ErrorCode::invalid_argument,
        "'" + options.source + "' names a bundle, which is mirrored whole and has its own digests",
        "leave --checksums, --target, --function and --device out; `bundle subset` makes smaller ones"};
  CUBINET_TRY_ASSIGN(const auto policy, policy_to_contact(context.session_options(), first));
  for (const ServerReference& reference : places.sources)
    CUBINET_TRY(policy_to_contact(context.session_options(), reference));
  CUBINET_TRY_ASSIGN(const ServerAccess source, server_access(context, without_user(options.server)));
  CUBINET_TRY_ASSIGN(const ServerAccess destination, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto from, open_servers(source, places.sources));
  CUBINET_TRY_ASSIGN(const auto to, open_servers(destination, {places.destination}));
  CUBINET_TRY_ASSIGN(const Sha256Digest manifest, first.digest
                                                      ? Result<Sha256Digest>(*first.digest)
                                                      : resolve_channel(*from.server, first.channel));
  CUBINET_TRY_ASSIGN(const RemoteBundle remote, read_remote_bundle(*from.server, manifest));
  CUBINET_TRY_ASSIGN(const auto opened, open_remote(context, from.server, remote, policy));
  const std::string& channel =
      places.destination.channel.empty() ? first.channel : places.destination.channel;
  CUBINET_TRY(copy_bundle(*from.server, remote, opened->root(), *to.server, channel));
  const std::string place = places.destination.to_string() + "@sha256:" + manifest.to_hex();
  const std::uint64_t bytes = remote.root.size() + remote.pack.size;
  context.console().text(fmt::format("{}: {}, {}, {}", place, format_bytes(bytes), trust_text(*opened),
                                     channel.empty() ? "no channel" : "channel " + printable(channel)));
  context.console().document({{"reference", place},
                              {"manifest", manifest.to_hex()},
                              {"channel", channel},
                              {"version", opened->root().options.version},
                              {"bytes", bytes},
                              {"trust", describe_trust(*opened)}});
  return ExitStatus::done;
}

// --checksums, or what a folder of this machine says itself.
Result<std::vector<PublishedList>> lists_of(const Context& context, const MirrorVerbOptions& options,
                                            const ServerReference& source) {
  const std::string_view said = options.checksums;
  if (said.starts_with(kDigestMark)) {
    const auto digest = Sha256Digest::parse(said.substr(kDigestMark.size()));
    if (digest) return std::vector<PublishedList>{{"", *digest}};
    return Error{ErrorCode::invalid_argument,
                 "behind 'sha256:' of --checksums stand no 64 hexadecimal digits"};
  }
  if (!said.empty()) {
    CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(options.checksums, kMaximumPins));
    auto lists = read_published_lists(as_text(text));
    if (lists && !lists->empty()) return lists;
    return Error{ErrorCode::invalid_argument,
                 "'" + options.checksums + "' names no published folders" +
                     (lists ? std::string() : ": " + lists.error().message),
                 "write `<SHA-256>  <folder>/checksums.txt` a line"};
  }
  if (source.layout == ServerReference::Layout::folder)
    return published_lists_of(*context.files(), source.path);
  return Error{
      ErrorCode::invalid_argument, "nothing says what '" + options.source + "' should hold",
      "name its checksums.txt by --checksums sha256:DIGEST, several folders by --checksums FILE, or a "
      "bundle by its channel (#CHANNEL)"};
}

// What of the folders a device needs, said of their headers one after the other.
class HeaderChoice {
 public:
  HeaderChoice(const Context& context, DeviceWish wish) : context_(context), wish_(std::move(wish)) {
    for (const auto& problem : wish_.problems)
      unserved_.push_back({problem.line, "no header of attention kernels lies there"});
  }

  // By the names that a cubin has in a header.
  Result<std::vector<std::string>> functions_of(const std::string& name, ByteView header) {
    CUBINET_TRY_ASSIGN(const auto table, open_table(context_, name, header));
    CUBINET_TRY_ASSIGN(CubinRecords records, table->list());
    std::vector<std::string> functions;
    if (records.empty()) return functions;
    CUBINET_TRY_ASSIGN(const DeviceChoice choice,
                       choose_for_device(context_, wish_, table, std::move(records)));
    for (const auto& record : choice.records)
      functions.push_back(record->entry_points.front().symbol);
    // One folder is enough.
    std::erase_if(unserved_, [&](UnservedProblem& problem) {
      const auto still = std::find_if(choice.unserved.begin(), choice.unserved.end(),
                                      [&](const auto& each) { return each.line == problem.line; });
      if (still == choice.unserved.end()) return true;
      problem.reason = still->reason;
      return false;
    });
    return functions;
  }
  const std::vector<UnservedProblem>& unserved() const { return unserved_; }

 private:
  const Context& context_;
  DeviceWish wish_;
  std::vector<UnservedProblem> unserved_;
};

// --device alone asks for its targets, as --target does, of which it leaves those that the device can use.
Result<void> choose_targets(const DeviceWish& wish, PublishedMirrorOptions& chosen) {
  std::vector<SmTarget> usable;
  for (const ImageTarget target : targets_wanted(wish.device.capability, {}))
    if (target.kind == ImageKind::cubin) usable.push_back(target.target);
  const std::vector<SmTarget> named = std::exchange(chosen.targets, usable);
  if (named.empty()) return {};
  std::erase_if(chosen.targets, [&](SmTarget target) {
    return std::find(named.begin(), named.end(), target) == named.end();
  });
  if (!chosen.targets.empty()) return {};
  return Error{ErrorCode::invalid_argument,
               "no --target is one that " + wish.device.capability.to_string() + " can use",
               "leave one of the two out"};
}

nlohmann::json describe_folder(const MirroredFolder& folder) {
  return {{"folder", folder.list.folder},
          {"checksums", folder.list.digest.to_hex()},
          {"listed", folder.listed},
          {"there", folder.there},
          {"fetched", folder.fetched},
          {"fetched_bytes", folder.fetched_bytes},
          {"bytes", folder.bytes},
          {"not_wanted", folder.not_wanted},
          {"left_out", describe(folder.left_out)},
          {"missing", describe(folder.missing)},
          {"damaged", describe(folder.damaged)}};
}

void print_folder(Console& console, const MirroredFolder& folder, bool verbose) {
  console.text(fmt::format(
      "{}sha256:{}: {}, {} there, {} fetched ({}){}",
      folder.list.folder.empty() ? "" : printable(folder.list.folder) + "@", folder.list.digest.to_hex(),
      plural(folder.listed, "listed file"), folder.there, folder.fetched, format_bytes(folder.fetched_bytes),
      folder.not_wanted == 0 ? "" : fmt::format(", {} not asked for", folder.not_wanted)));
  print(console, "left out", folder.left_out, verbose ? kMaximumListedFindings : kPrintedLeftOut);
  print(console, "missing", folder.missing);
  print(console, "damaged", folder.damaged);
}

Result<ExitStatus> mirror_folders(const Context& context, const MirrorVerbOptions& options,
                                  const MirrorPlaces& places) {
  const Stopwatch watch;
  const ServerReference& destination = places.destination;
  if (destination.layout != ServerReference::Layout::folder || !destination.channel.empty() ||
      destination.digest)
    return Error{ErrorCode::invalid_argument, "'" + options.destination + "' is no folder",
                 "published folders are mirrored into a folder, which any static server then serves"};
  if (const auto home = context.home()) {
    CUBINET_TRY_ASSIGN(const bool within, lies_in(*context.files(), destination.path, *home));
    if (within)
      return Error{ErrorCode::invalid_argument,
                   fmt::format("'{}' lies in the home '{}'", options.destination, home->string()),
                   "name another folder"};
  }
  for (const ServerReference& reference : places.sources)
    CUBINET_TRY(policy_to_contact(context.session_options(), reference));
  PublishedMirrorOptions chosen;
  CUBINET_TRY_ASSIGN(chosen.targets, parse_targets(options.targets));
  chosen.functions = options.functions;
  std::optional<HeaderChoice> choice;
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(DeviceWish wish, device_wish_of(context, options.device));
    CUBINET_TRY(choose_targets(wish, chosen));
    if (!wish.problems.empty()) {
      choice.emplace(context, std::move(wish));
      chosen.choose = [&choice](const std::string& name, ByteView header) {
        return choice->functions_of(name, header);
      };
    }
  }
  CUBINET_TRY_ASSIGN(const auto lists, lists_of(context, options, places.sources.front()));
  const InterruptGuard interrupt;
  const auto interrupted = [&interrupt] { return interrupt.requested(); };
  CUBINET_TRY_ASSIGN(const ServerAccess access, server_access(context, options.server));
  CUBINET_TRY_ASSIGN(const auto from, open_file_servers(access, places.sources, interrupted));
  chosen.run = artifact_run(context, interrupt, std::max(context.jobs(), kRequestsAtATime));
  chosen.cancelled = interrupted;
  chosen.log = context.console().log_sink();
  const auto report = mirror_published(*from.server, lists, context.files(), destination.path, chosen);
  if (!report && !interrupt.requested()) return report.error();
  nlohmann::json document = {{"source", from.server->name()}, {"destination", destination.path}};
  bool sound = true;
  for (const MirroredFolder& folder : report ? report->folders : std::vector<MirroredFolder>()) {
    document["folders"].push_back(describe_folder(folder));
    print_folder(context.console(), folder, context.verbose());
    sound = sound && folder.missing.count == 0 && folder.damaged.count == 0;
  }
  const bool ended = report && !report->interrupted;
  const auto unserved = choice && ended ? choice->unserved() : std::vector<UnservedProblem>();
  if (!unserved.empty()) context.console().text(unserved_text(unserved).substr(1));
  document["unserved"] = describe(unserved);
  document["seconds"] = watch.seconds();
  if (!ended)
    end_interrupted(context.console(), interrupt, std::move(document),
                    "interrupted; the mirror's pages are those of before");
  context.console().document(document);
  return sound && unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> mirror(const Context& context, const MirrorVerbOptions& options) {
  CUBINET_TRY_ASSIGN(const MirrorPlaces places, parse_places(options));
  return places.is_bundle() ? mirror_bundle(context, options, places)
                            : mirror_folders(context, options, places);
}

}  // namespace

void add_mirror(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "mirror", "Copy what lies at one place to another, checked: published cubins, or a bundle");
  auto options = std::make_shared<MirrorVerbOptions>();
  verb->add_option(
          "SOURCE", options->source,
          "A published folder, or one above several: https://host/folder, s3://bucket/prefix, a path; or a "
          "bundle on a server, by its channel or manifest as `pull` names it")
      ->required()
      ->type_name("");
  verb->add_option("DEST", options->destination,
                   "A folder that a static server serves; for a bundle, a server as `push` names it")
      ->required()
      ->type_name("");
  add_text(*verb, "--checksums", options->checksums, "sha256:DIGEST|FILE",
           "The SHA-256 of SOURCE's checksums.txt; or a file of lines `<SHA-256>  <folder>/checksums.txt`");
  add_list(*verb, "--mirror", options->mirrors, "REF", "Where to ask next for the same");
  add_list(*verb, "--target", options->targets, "TARGET[,…]", "Only cubins for these targets");
  add_list(*verb, "--function", options->functions, "NAME", "Only the cubins of these functions");
  add_device_filter(*verb, options->device);
  add_server_options(*verb, options->server);
  verb->footer(
      R"(Every file is compared with its digest before it has its name, and pages index.html come last. What is there
already stays, so that the same command goes on after an interruption. What runs on the host is left out and named.

Examples:
  cubinet mirror https://files.example/158f6fa1/fmha/trtllm-gen cubins --checksums sha256:c2d9399b…
  cubinet mirror flashinfer_cubin/cubins /var/www/cubins
  cubinet mirror https://files.example /var/www/cubins --checksums pins.txt --target sm_100f,sm_103a
  cubinet mirror https://files.example /var/www/cubins --checksums pins.txt --device sm_100 --problems shapes.txt
  cubinet mirror oci://registry.example/kernels:stable s3://bucket/kernels)");
  choose<MirrorVerbOptions>(*verb, chosen, options, mirror);
}

}  // namespace cubinet::cli
