// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "bundle_arguments.hpp"
#include "device_filter.hpp"
#include "record_arguments.hpp"
#include "verbs.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/output_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct CombineOptions {
  const CLI::App* verb = nullptr;  // knows which options were given
  std::vector<std::string> files;
  std::string output;
  BundleOptions bundle;
  RecordArguments filter;
  DeviceFilter device;
};

// Returns the options of the first bundle with the highest version of all bundles.
BundleOptions base_of(const BundleParts& parts) {
  BundleOptions base = parts.front().first->root().options;
  for (const auto& part : parts)
    base.version = std::max(base.version, part.first->root().options.version);
  return base;
}

Result<ExitStatus> combine(const Context& context, const CombineOptions& options) {
  CUBINET_TRY_ASSIGN(
      const std::filesystem::path output,
      check_output_file(*context.files(), options.output, context.protected_files(options.files)));
  std::optional<DeviceRequest> request;
  if (!options.device.empty()) {
    CUBINET_TRY_ASSIGN(request, device_request_of(context, options.device));
  }
  BundleParts parts;
  std::size_t count = 0;
  std::vector<UnservedProblem> unserved;
  for (const std::string& file : options.files) {
    CUBINET_TRY_ASSIGN(auto bundle, context.open_bundle(file));
    CUBINET_TRY_ASSIGN(CubinRecords listed, bundle->list());
    CUBINET_TRY_ASSIGN(CubinRecords records, select_records(options.filter, std::move(listed)));
    if (request) {
      CUBINET_TRY_ASSIGN(DeviceChoice choice,
                         choose_for_device(context.session_options(), *request, bundle, std::move(records)));
      records = std::move(choice.records);
      unserved = std::move(choice.unserved);
    }
    count += records.size();
    parts.emplace_back(std::move(bundle), std::move(records));
  }
  if (count == 0) {
    return context.fail(Error{ErrorCode::not_found, "there is no kernel that fits: no bundle is written",
                              "`cubinet bundle list` prints what a bundle holds"},
                        ExitStatus::negative);
  }
  const BundleOptions bundle = options_over(*options.verb, options.bundle, base_of(parts));
  CUBINET_TRY(check_bundle_options(bundle));
  CUBINET_TRY(combine_bundles(output, parts, bundle, context.files()));
  CUBINET_TRY_ASSIGN(const auto written, Bundle::open(output, context.files()));
  const BundleRoot& root = written->root();
  context.console().text(fmt::format("{}: {}{}", printable(output.string()), plural(root.records, "kernel"),
                                     unserved_text(unserved)));
  context.console().document({{"bundle", output.string()},
                              {"channel", root.options.channel},
                              {"version", root.options.version},
                              {"profile", to_string(root.options.profile)},
                              {"kernels", root.records},
                              {"unserved", describe(unserved)}});
  return unserved.empty() ? ExitStatus::done : ExitStatus::negative;
}

std::shared_ptr<CombineOptions> add_combine_verb(CLI::App& verb) {
  auto options = std::make_shared<CombineOptions>();
  options->verb = &verb;
  add_text(verb, "-o,--output", options->output, "BUNDLE", "The bundle to write")->required();
  add_bundle_options(verb, options->bundle);
  return options;
}

}  // namespace

void add_bundle_combine(CLI::App& bundle, Action& chosen) {
  CLI::App* merge = bundle.add_subcommand("merge", "Write one bundle of all that several hold");
  auto merging = add_combine_verb(*merge);
  merge->add_option("BUNDLE", merging->files, "The bundles")->required()->type_name("");
  merge->footer(R"(What is not said is the first bundle's; the version is the highest of them.
Example:
  cubinet bundle merge hopper.bundle blackwell.bundle -o all.bundle --bundle-version 8)");
  choose<CombineOptions>(*merge, chosen, merging, combine);

  CLI::App* subset = bundle.add_subcommand("subset", "Write a bundle of a part of what one holds");
  auto choosing = add_combine_verb(*subset);
  subset->add_option("BUNDLE", choosing->files, "The bundle")->required()->expected(1)->type_name("");
  add_record_arguments(*subset, choosing->filter);
  add_function_arguments(*subset, choosing->filter);
  add_device_filter(*subset, choosing->device);
  subset->footer(R"(Examples:
  cubinet bundle subset all.bundle -o hopper.bundle --target sm_90a --types bf16
  cubinet bundle subset all.bundle -o ours.bundle --device sm_100 --problems shapes.txt)");
  choose<CombineOptions>(*subset, chosen, choosing, combine);
}

}  // namespace cubinet::cli
