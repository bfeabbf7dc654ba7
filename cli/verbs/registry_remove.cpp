// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "record_arguments.hpp"
#include "registry_imports.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <fmt/format.h>

namespace cubinet::cli {
namespace {

struct RemoveOptions {
  std::string kernel;
  std::string fingerprint;
  std::vector<std::string> targets;
  std::uint64_t import = 0;
};

Result<ExitStatus> remove_import(const Context& context, Home& home, std::uint64_t number) {
  CUBINET_TRY_ASSIGN(const bool removed, home.imports().remove(number));
  if (!removed) {
    return context.fail(Error{ErrorCode::not_found, fmt::format("the home has no import {}", number),
                              "`cubinet registry list --imports` prints those that it has"},
                        ExitStatus::negative);
  }
  context.console().text(fmt::format("import {} removed", number));
  context.console().document({{"home", home.description().place}, {"removed_import", number}});
  return ExitStatus::done;
}

Result<ExitStatus> remove(const Context& context, const RemoveOptions& options) {
  if (options.kernel.empty() == (options.import == 0)) {
    return Error{ErrorCode::invalid_argument, "name either a kernel or an import",
                 "give a KEY or NAME, or --import N"};
  }
  if (options.import != 0 && !(options.targets.empty() && options.fingerprint.empty())) {
    return Error{ErrorCode::invalid_argument,
                 "an import is removed whole: --target and --fingerprint are for a kernel",
                 "leave them out, or name a kernel"};
  }
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  if (options.import != 0) return remove_import(context, *home, options.import);
  RecordArguments filter;
  filter.kernels = {options.kernel};
  filter.targets = options.targets;
  CUBINET_TRY_ASSIGN(auto listed, home->list());
  std::erase_if(listed, [&](const auto& record) {
    return record->origin == CubinOrigin::imported ||
           !record->fingerprint.to_string().starts_with(options.fingerprint);
  });
  CUBINET_TRY_ASSIGN(const CubinRecords records, select_records(filter, std::move(listed)));
  CUBINET_TRY(check_one_kernel(options.kernel, records));
  CUBINET_TRY_ASSIGN(const std::uint64_t removed, home->remove(records));
  if (removed == 0) {
    return context.fail(
        Error{ErrorCode::not_found,
              fmt::format("the home holds no such build of '{}'; nothing was removed", options.kernel),
              "`cubinet registry list` prints what it holds; a whole import is removed with --import N"},
        ExitStatus::negative);
  }
  nlohmann::json described = nlohmann::json::array();
  for (const auto& record : records) {
    described.push_back(describe(*record));
    context.console().text(fmt::format("removed: {} {} for {}", record->identity.key().to_string(),
                                       kernel_title(*record), record->target_name()));
  }
  context.console().document(
      {{"home", home->description().place}, {"removed", removed}, {"entries", std::move(described)}});
  return ExitStatus::done;
}

}  // namespace

void add_registry_remove(CLI::App& registry, Action& chosen) {
  CLI::App* verb = registry.add_subcommand(
      "remove", "Remove builds of a kernel, or an import; status 1 when there are none");
  auto options = std::make_shared<RemoveOptions>();
  verb->add_option("KERNEL", options->kernel, "A key, or a name that is one kernel's")->type_name("");
  add_text(*verb, "--fingerprint", options->fingerprint, "F",
           "Only the build of this fingerprint, or its beginning");
  add_list(*verb, "--target", options->targets, "sm_90a[,...]",
           "Only builds for these targets; may be repeated");
  add_integer(*verb, "--import", options->import, 1, INT64_MAX, "The import of this number");
  verb->footer(R"(Examples:
  cubinet registry remove 0123456789abcdef --target sm_90a
  cubinet registry remove --import 2)");
  choose<RemoveOptions>(*verb, chosen, options, remove);
}

}  // namespace cubinet::cli
