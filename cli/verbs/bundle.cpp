// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct BundleArguments {
  std::vector<std::string> files;
  bool replace = false;
};

// Returns the bundle's channel. A bundle without a channel is named by its file.
std::string channel_of(const Bundle& bundle) {
  const std::string& given = bundle.root().options.channel;
  return given.empty() ? std::filesystem::path(bundle.description().place).stem().string() : given;
}

nlohmann::json describe_bundle(const Bundle& bundle) {
  const BundleRoot& root = bundle.root();
  return {{"bundle", bundle.description().place},
          {"channel", channel_of(bundle)},
          {"version", root.options.version},
          {"created", root.options.created},
          {"expires", root.options.expires},
          {"profile", to_string(root.options.profile)},
          {"targets", root.targets},
          {"toolchain", root.toolchain},
          {"entries", root.records},
          {"images", root.images},
          {"image_bytes", root.image_bytes},
          {"file_bytes", root.file_bytes},
          {"root_bytes", bundle.root_bytes().size()},
          {"trust", describe(TrustReport::of(bundle))}};
}

Result<ExitStatus> list_bundle(const Context& context, const BundleArguments& arguments) {
  CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(arguments.files.front()));
  nlohmann::json document = describe_bundle(*bundle);
  CUBINET_TRY_ASSIGN(const CubinRecords records, bundle->list());
  document["records"] = nlohmann::json::array();
  for (const auto& record : records)
    document["records"].push_back(describe(*record));
  context.console().text(record_table(records).to_string());
  context.console().text(fmt::format("{}, version {}: {}", printable(channel_of(*bundle)),
                                     bundle->root().options.version, plural(records.size(), "kernel")));
  context.console().document(document);
  return ExitStatus::done;
}

void print_findings(const Context& context, const std::string& subject,
                    const std::vector<StoreFinding>& findings) {
  for (const StoreFinding& finding : findings) {
    const std::string where = finding.file.empty() ? "" : finding.file + ": ";
    context.console().text(fmt::format("{}: {}: {}{}", printable(subject), to_string(finding.kind),
                                       printable(where), printable(finding.reason)));
  }
}

nlohmann::json describe_findings(const std::vector<StoreFinding>& findings) {
  nlohmann::json described = nlohmann::json::array();
  for (const StoreFinding& finding : findings)
    described.push_back(describe(finding));
  return described;
}

Result<ExitStatus> verify_bundle(const Context& context, const BundleArguments& arguments) {
  CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(arguments.files.front()));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  nlohmann::json document = describe_bundle(*bundle);
  document["bytes"] = report.bytes;
  document["findings"] = describe_findings(report.findings);
  print_findings(context, arguments.files.front(), report.findings);
  context.console().text(
      fmt::format("{}: {}", printable(arguments.files.front()), to_text(TrustReport::of(*bundle))));
  context.console().text(
      fmt::format("{}: {}, {}, {}", printable(arguments.files.front()), plural(report.entries, "kernel"),
                  format_bytes(report.bytes),
                  report.findings.empty() ? "all sound" : plural(report.findings.size(), "finding")));
  context.console().document(document);
  return report.findings.empty() ? ExitStatus::done : ExitStatus::negative;
}

Result<ExitStatus> import_bundles(const Context& context, const BundleArguments& arguments) {
  // All bundles are opened before the home, so that a mistyped name creates no home and imports
  // nothing.
  std::vector<std::shared_ptr<Bundle>> bundles;
  for (const std::string& file : arguments.files) {
    CUBINET_TRY_ASSIGN(bundles.emplace_back(), context.open_bundle(file));
  }
  CUBINET_TRY_ASSIGN(const auto registry, context.open_registry(HomeOptions::Access::read_write));
  nlohmann::json document = {{"home", registry->description().place}, {"imports", nlohmann::json::array()}};
  bool refused = false;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const std::string& file = arguments.files[i];
    const auto report =
        import_bundle(*bundles[i], *registry, arguments.replace ? OnConflict::replace : OnConflict::refuse);
    if (!report) {
      // Bundles that were imported before this one stay imported.
      document.update(error_document(report.error()));
      context.console().document(document);
      context.console().error(report.error());
      return exit_status_of(report.error().code);
    }
    nlohmann::json one = describe_bundle(*bundles[i]);
    one["imported"] = report->imported;
    one["present"] = report->present;
    one["refused"] = describe_findings(report->refused);
    one["measurements"] = report->measurements;
    one["outranked"] = describe(report->outranked);
    document["imports"].push_back(std::move(one));
    print_findings(context, file, report->refused);
    const std::string measured =
        report->measurements == 0 ? "" : ", " + plural(report->measurements, "measurement");
    context.console().text(fmt::format("{}: {} imported, {} there already, {} refused{}{}", printable(file),
                                       report->imported, report->present, report->refused.size(), measured,
                                       outranked_text(report->outranked)));
    refused = refused || !report->refused.empty();
  }
  context.console().document(document);
  return refused ? ExitStatus::negative : ExitStatus::done;
}

CLI::App* add_file_verb(CLI::App& bundle, Action& chosen, const char* name, const char* help,
                        const char* example,
                        Result<ExitStatus> (*perform)(const Context&, const BundleArguments&),
                        int most_files) {
  CLI::App* verb = bundle.add_subcommand(name, help);
  auto arguments = std::make_shared<BundleArguments>();
  verb->add_option("BUNDLE", arguments->files, "The bundle")
      ->required()
      ->expected(1, most_files)
      ->type_name("");
  if (most_files > 1) {
    verb->add_flag("--replace", arguments->replace,
                   "Take the bundle's build where one of the same fingerprint and other bytes is there");
  }
  verb->footer(std::string("Example:\n  ") + example);
  choose<BundleArguments>(*verb, chosen, arguments, perform);
  return verb;
}

}  // namespace

void add_bundle(CLI::App& root, Action& chosen) {
  CLI::App* bundle = root.add_subcommand(
      "bundle", "Create, sign, list, verify, import, combine, compare or take apart bundles");
  bundle->require_subcommand(0, 1);
  add_bundle_create(*bundle, chosen);
  add_bundle_extract(*bundle, chosen);
  add_bundle_combine(*bundle, chosen);
  add_bundle_compare(*bundle, chosen);
  add_bundle_sign(*bundle, chosen);
  add_file_verb(*bundle, chosen, "list", "Print what a bundle holds", "cubinet bundle list kernels.bundle",
                list_bundle, 1);
  add_file_verb(*bundle, chosen, "verify", "Check every byte of a bundle; status 1 when one is wrong",
                "cubinet bundle verify kernels.bundle", verify_bundle, 1);
  add_file_verb(
      *bundle, chosen, "import",
      "Copy bundles into the home; what is damaged, or another build than the same one that is there, is "
      "left out, status 1",
      "cubinet bundle import kernels.bundle --home /var/cache/cubinet", import_bundles, 4096);
  bundle->footer(R"(Examples:
  cubinet bundle create -o kernels.bundle --target sm_90a
  cubinet bundle verify kernels.bundle
  cubinet bundle import kernels.bundle)");
}

}  // namespace cubinet::cli
