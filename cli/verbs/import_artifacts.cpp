// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "artifact_run.hpp"
#include "describe.hpp"
#include "interrupt.hpp"
#include "verbs.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/session/output_file.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct ImportOptions {
  std::string folder;
  bool link = false;
  bool copy = false;
  bool verify = false;
};

// The names of the kinds in the JSON document.
constexpr std::pair<ArtifactFindingKind, const char*> kKinds[] = {
    {ArtifactFindingKind::missing, "missing"},
    {ArtifactFindingKind::extra, "extra"},
    {ArtifactFindingKind::damaged, "damaged"},
    {ArtifactFindingKind::conflict, "conflicts"},
    {ArtifactFindingKind::ignored, "ignored"}};

nlohmann::json describe_counts(const ArtifactCounts& counts) {
  nlohmann::json described = {{"rows", counts.rows},       {"plain", counts.plain},
                              {"cubins", counts.cubins},   {"bytes", counts.bytes},
                              {"read", counts.read},       {"unchecked_names", counts.unchecked_names},
                              {"targets", counts.targets}, {"elf_targets", counts.elf_targets}};
  for (const auto& [kind, name] : kKinds)
    described[name] = describe(counts.of(kind));
  return described;
}

nlohmann::json describe_report(const ArtifactImportReport& report, double seconds) {
  nlohmann::json imports = nlohmann::json::array();
  for (const ArtifactFolderReport& folder : report.folders) {
    nlohmann::json one = describe_counts(folder.counts);
    one["folder"] = folder.folder.string();
    one["import"] = folder.number;
    imports.push_back(std::move(one));
  }
  nlohmann::json document = describe_counts(report.total);
  document["folders"] = report.folders.size();
  document["imports"] = std::move(imports);
  document["specifications"] = report.specifications;
  document["interrupted"] = report.interrupted;
  document["seconds"] = seconds;
  return document;
}

std::string join_counts(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(fmt::format("{} {}", name, count));
  return parts.empty() ? "none" : join(parts);
}

void print(Console& console, const ArtifactImportReport& report, double seconds) {
  for (const ArtifactFolderReport& folder : report.folders) {
    console.text(fmt::format("{}: {}, {}, {}", printable(folder.folder.string()),
                             plural(folder.counts.rows, "row"), plural(folder.counts.plain, "plain kernel"),
                             plural(folder.counts.cubins, "cubin")));
  }
  for (const auto& [kind, name] : kKinds) {
    const ArtifactFindings& findings = report.total.of(kind);
    // Ignored files are not listed.
    if (kind == ArtifactFindingKind::ignored) continue;
    print(console, to_string(kind), findings);
  }
  const ArtifactCounts& total = report.total;
  console.text(fmt::format(
      "folders         {}\nrows            {}\nplain kernels   {}\ncubins          {} ({}; {} read)\n"
      "specifications  {}\ntargets         {}\nELF targets     {}",
      report.folders.size(), total.rows, total.plain, total.cubins, format_bytes(total.bytes), total.read,
      report.specifications, join_counts(total.targets), join_counts(total.elf_targets)));
  std::vector<std::string> counts;
  for (const auto& [kind, name] : kKinds)
    counts.push_back(fmt::format("{} {}", name, total.of(kind).count));
  console.text(fmt::format("findings        {}\nseconds         {:.2f}", join(counts), seconds));
}

ArtifactImportOptions import_options(const Context& context, const ImportOptions& options,
                                     const InterruptGuard& interrupt) {
  ArtifactImportOptions chosen;
  if (options.link) chosen.placement = ArtifactPlacement::linked;
  if (options.copy) chosen.placement = ArtifactPlacement::copied;
  chosen.read_all = options.verify;
  chosen.log = context.console().log_sink();
  chosen.cancelled = [&interrupt] { return interrupt.requested(); };
  chosen.run = artifact_run(context, interrupt, context.jobs());
  return chosen;
}

Result<ExitStatus> finish(const Context& context, const Home& home, const ArtifactImportReport& report,
                          double seconds, const InterruptGuard& interrupt) {
  Console& console = context.console();
  nlohmann::json document = describe_report(report, seconds);
  document["home"] = home.description().place;
  print(console, report, seconds);
  if (!report.interrupted) {
    console.document(document);
    return report.total.sound() ? ExitStatus::done : ExitStatus::negative;
  }
  const Error error{ErrorCode::unavailable, "interrupted; what is not listed above is not imported",
                    "the same command continues where this one ended"};
  document.update(error_document(error));
  end_interrupted(console, interrupt, json_text(document), error);
}

// Refuses a folder that contains the home or is inside it. The home's own builds would be imported
// as a publisher's, and the next sweep would remove them.
Result<void> check_apart(const Context& context, const std::string& folder) {
  const auto home = context.home();
  std::error_code unknown;
  const std::filesystem::path real = std::filesystem::canonical(folder, unknown);
  if (!home || unknown) return {};
  CUBINET_TRY_ASSIGN(const bool around, lies_in(*context.files(), *home / "index", real));
  CUBINET_TRY_ASSIGN(const bool within, lies_in(*context.files(), real / "cubins", *home));
  if (!around && !within) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' {} the home '{}', whose own cubins it would import", folder,
                           around ? "holds" : "is in", home->string()),
               "name the folder of the published cubins itself, or another home with --home"};
}

Result<ExitStatus> import(const Context& context, const ImportOptions& options) {
  const Stopwatch watch;
  if (options.folder.empty())
    return Error{ErrorCode::invalid_argument, "the name of the folder is empty",
                 "name a folder of published cubins"};
  // The folder is checked first, so that a mistyped path creates no home.
  std::error_code unknown;
  if (!std::filesystem::is_directory(options.folder, unknown))
    CUBINET_TRY(find_artifact_folders(options.folder));
  CUBINET_TRY(check_apart(context, options.folder));
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  const InterruptGuard interrupt;
  CUBINET_TRY_ASSIGN(
      const ArtifactImportReport report,
      import_artifacts(options.folder, import_options(context, options, interrupt), home->imports()));
  return finish(context, *home, report, watch.seconds(), interrupt);
}

struct RefreshOptions {
  std::uint64_t number = 0;  // 0: all
  bool verify = false;
};

// Imports folders again with the options of their first import. A folder that is missing becomes a
// finding, and its import stays because the folder may return.
Result<ExitStatus> refresh(const Context& context, const RefreshOptions& options) {
  const Stopwatch watch;
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(auto known, home->imports().list());
  if (options.number != 0)
    std::erase_if(known, [&](const ImportSummary& import) { return import.number != options.number; });
  if (options.number != 0 && known.empty()) {
    return context.fail(Error{ErrorCode::not_found, fmt::format("the home has no import {}", options.number),
                              "`cubinet registry list --imports` prints those that it has"},
                        ExitStatus::negative);
  }
  const InterruptGuard interrupt;
  ArtifactImportReport report;
  for (const ImportSummary& import : known) {
    if (report.interrupted) break;
    ImportOptions again;
    again.link = import.placement == ArtifactPlacement::linked;
    again.copy = import.placement == ArtifactPlacement::copied;
    again.verify = options.verify;
    const auto one =
        import_artifacts(import.folder, import_options(context, again, interrupt), home->imports());
    if (one) {
      report.folders.insert(report.folders.end(), one->folders.begin(), one->folders.end());
      report.total.add(one->total);
      report.specifications += one->specifications;
      report.interrupted = one->interrupted;
    } else if (one.error().code == ErrorCode::not_found || one.error().code == ErrorCode::invalid_argument) {
      report.total.findings[static_cast<std::size_t>(ArtifactFindingKind::missing)].add(
          {"", one.error().message, import.folder});
    } else {
      return one.error();
    }
  }
  return finish(context, *home, report, watch.seconds(), interrupt);
}

}  // namespace

void add_import_artifacts(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("import-artifacts", "Check folders of published cubins and make them known");
  auto options = std::make_shared<ImportOptions>();
  verb->add_option("DIR", options->folder, "A folder of published cubins, or one that holds several")
      ->required()
      ->type_name("");
  CLI::Option* link =
      verb->add_flag("--link", options->link, "Hard-link the files into the home, copy where that fails");
  verb->add_flag("--copy", options->copy, "Copy the files into the home")->excludes(link);
  verb->add_flag("--verify", options->verify, "Read files again that an earlier import has verified");
  verb->footer(
      R"(Every digest, ELF target and function is checked against checksums.txt and the metadata header.
What is good is in afterwards; what is not is left out, named, and makes the status 1. The files stay where they are
unless --link or --copy is given. After Ctrl-C the same command goes on.

Examples:
  cubinet import-artifacts flashinfer_cubin/cubins
  cubinet import-artifacts cubins/fmha/trtllm-gen --copy --json)");
  choose<ImportOptions>(*verb, chosen, options, import);
}

void add_registry_refresh(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand("refresh", "Read imported folders again, all or one");
  auto options = std::make_shared<RefreshOptions>();
  verb->add_option_function<std::string>(
          "NUMBER",
          [options](const std::string& text) {
            const auto number = parse_integer(text, "NUMBER", 1, INT64_MAX);
            if (!number) throw CLI::ValidationError(number.error().message);
            options->number = static_cast<std::uint64_t>(*number);
          },
          "The import, as `registry list --imports` numbers it")
      ->type_name("");
  verb->add_flag("--verify", options->verify, "Read files again that an earlier import has verified");
  verb->footer("Example:\n  cubinet registry refresh\n  cubinet registry refresh 2 --verify");
  choose<RefreshOptions>(*verb, chosen, options, refresh);
}

}  // namespace cubinet::cli
