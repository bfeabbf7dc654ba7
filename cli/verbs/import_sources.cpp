// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "verbs.hpp"

#include <cubinet/sources/catalog_report.hpp>

namespace cubinet::cli {
namespace {

Result<ExitStatus> import_or_list(const Context& context, const SourceImportOptions& options) {
  // A home is created and checked for what changes it.
  if (!options.folder.empty()) CUBINET_TRY(context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const std::filesystem::path home, context.home());
  const SourceCatalogs catalogs(home, context.files());
  CUBINET_TRY_ASSIGN(const SourceImportReport report,
                     import_sources(*context.files(), options, catalogs, context.console().log_sink()));
  context.console().text(to_text(report));
  context.console().document_text(to_json(report));
  return report.refused.empty() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

void add_import_sources(CLI::App& root, Action& chosen) {
  CLI::App* verb =
      root.add_subcommand("import-sources", "Check and keep catalogs of CUDA sources, or list them");
  auto options = std::make_shared<SourceImportOptions>();
  verb->add_option("FOLDER", options->folder, "A folder with manifests, such as an unpacked wheel")
      ->type_name("");
  verb->add_option("--manifest", options->manifest, "A manifest for FOLDER that is not in it")
      ->type_name("FILE")
      ->needs("FOLDER");
  add_text(*verb, "--remove", options->removed, "NAME", "Remove this catalog");
  verb->footer("Example:\n  cubinet import-sources flashinfer-wheel");
  choose<SourceImportOptions>(*verb, chosen, options, import_or_list);
}

}  // namespace cubinet::cli
