// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "artifact_run.hpp"
#include "describe.hpp"
#include "device_filter.hpp"
#include "server_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/mirror_bundle.hpp>
#include <cubinet/session/mirror_folders.hpp>
#include <cubinet/session/output_file.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

// Requests wait for servers and not for processors, so the number of processors does not matter.
constexpr unsigned kRequestsAtATime = 8;
constexpr std::size_t kPrintedLeftOut = 3;
constexpr std::uint64_t kMaximumPins = std::uint64_t{1} << 20;
constexpr std::string_view kDigestMark = "sha256:";

struct MirrorArguments {
  std::string source;
  std::string destination;
  std::string checksums;
  std::vector<std::string> mirrors;
  std::vector<std::string> targets;
  std::vector<std::string> functions;
  DeviceFilter device;
  ServerArguments server;
};

// Returns the access to the source of a bundle. The user name and the password are for the
// destination only.
ServerArguments without_user(ServerArguments arguments) {
  arguments.user.clear();
  arguments.password_file.clear();
  return arguments;
}

Result<ExitStatus> copy_bundle(const Context& context, const MirrorArguments& arguments) {
  if (!arguments.checksums.empty() || !arguments.targets.empty() || !arguments.functions.empty() ||
      !arguments.device.empty())
    return Error{
        ErrorCode::invalid_argument,
        "'" + arguments.source + "' names a bundle, which is mirrored whole and has its own digests",
        "leave --checksums, --target, --function and --device out; `bundle subset` makes smaller ones"};
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(without_user(arguments.server)));
  MirrorBundleOptions options{arguments.source, arguments.mirrors, arguments.destination};
  CUBINET_TRY_ASSIGN(options.destination_access, server_access(context, arguments.server));
  CUBINET_TRY_ASSIGN(const MirrorBundleResult result, mirror_bundle(session, options));
  context.console().text(fmt::format(
      "{}: {}, {}, {}", printable(result.reference), format_bytes(result.bytes), to_text(result.trust),
      result.channel.empty() ? "no channel" : "channel " + printable(result.channel)));
  context.console().document_text(to_json(result));
  return ExitStatus::done;
}

// Returns the lists that --checksums names; none without it.
Result<std::vector<PublishedList>> lists_of(const Context& context, const std::string& checksums) {
  const std::string_view given = checksums;
  if (given.empty()) return std::vector<PublishedList>();
  if (given.starts_with(kDigestMark)) {
    const auto digest = Sha256Digest::parse(given.substr(kDigestMark.size()));
    if (digest) return std::vector<PublishedList>{{"", *digest}};
    return Error{ErrorCode::invalid_argument,
                 "--checksums: 'sha256:' is not followed by 64 hexadecimal digits"};
  }
  CUBINET_TRY_ASSIGN(const Bytes text, context.files()->read(checksums, kMaximumPins));
  auto lists = read_published_lists(as_text(text));
  if (lists && !lists->empty()) return lists;
  return Error{ErrorCode::invalid_argument,
               "'" + checksums + "' names no published folders" +
                   (lists ? std::string() : ": " + lists.error().message),
               "write `<SHA-256>  <folder>/checksums.txt` a line"};
}

Result<MirrorFoldersOptions> folder_options_of(const Context& context, const MirrorArguments& arguments) {
  MirrorFoldersOptions options{arguments.source, arguments.mirrors};
  CUBINET_TRY_ASSIGN(options.destination, mirror_destination(arguments.destination));
  if (const auto home = context.home()) {
    CUBINET_TRY_ASSIGN(const bool within, lies_in(*context.files(), options.destination, *home));
    if (within)
      return Error{ErrorCode::invalid_argument,
                   fmt::format("'{}' is in the home '{}'", arguments.destination, home->string()),
                   "name another folder"};
  }
  CUBINET_TRY_ASSIGN(options.targets, parse_targets(arguments.targets));
  options.functions = arguments.functions;
  if (!arguments.device.empty()) {
    CUBINET_TRY_ASSIGN(options.device, device_request_of(context, arguments.device));
  }
  CUBINET_TRY_ASSIGN(options.lists, lists_of(context, arguments.checksums));
  return options;
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

Result<ExitStatus> copy_folders(const Context& context, const MirrorArguments& arguments) {
  CUBINET_TRY_ASSIGN(MirrorFoldersOptions options, folder_options_of(context, arguments));
  CUBINET_TRY_ASSIGN(const SessionOptions session, context.session_options(arguments.server));
  const InterruptGuard interrupt;
  options.run = artifact_run(context, interrupt, std::max(context.jobs(), kRequestsAtATime));
  options.cancelled = [&interrupt] { return interrupt.requested(); };
  CUBINET_TRY_ASSIGN(const MirrorFoldersResult result, mirror_folders(session, options));
  for (const MirroredFolder& folder : result.folders)
    print_folder(context.console(), folder, context.verbose());
  if (const auto error = result.error())
    end_interrupted(context.console(), interrupt, to_json(result), *error);
  if (!result.unserved.empty()) context.console().text(unserved_text(result.unserved).substr(1));
  context.console().document_text(to_json(result));
  return result.sound() && result.unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> mirror(const Context& context, const MirrorArguments& arguments) {
  CUBINET_TRY_ASSIGN(const bool bundle, names_bundle(arguments.source));
  return bundle ? copy_bundle(context, arguments) : copy_folders(context, arguments);
}

}  // namespace

void add_mirror(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("mirror", "Copy published cubins or a bundle from one place to another, verified");
  auto options = std::make_shared<MirrorArguments>();
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
      R"(Every file is compared with its digest before it has its name, and pages index.html come last. Files that
exist stay, so the same command continues after an interruption. Files that run on the host are left out and named.

Examples:
  cubinet mirror https://files.example/158f6fa1/fmha/trtllm-gen cubins --checksums sha256:c2d9399b…
  cubinet mirror flashinfer_cubin/cubins /var/www/cubins
  cubinet mirror https://files.example /var/www/cubins --checksums pins.txt --target sm_100f,sm_103a
  cubinet mirror https://files.example /var/www/cubins --checksums pins.txt --device sm_100 --problems shapes.txt
  cubinet mirror oci://registry.example/kernels:stable s3://bucket/kernels)");
  choose<MirrorArguments>(*verb, chosen, options, mirror);
}

}  // namespace cubinet::cli
