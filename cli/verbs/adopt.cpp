// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "describe.hpp"
#include "verbs.hpp"

#include <cubinet/adoption/adoption.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/loader/driver.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet::cli {
namespace {

struct AdoptOptions {
  std::string folder;
  std::string version;
};

struct MaterializeOptions {
  MaterializeRequest request;
  std::string device;
  std::string bundle;
};

nlohmann::json describe_left_out(const Context& context, const std::vector<LeftOut>& left_out) {
  nlohmann::json described = nlohmann::json::array();
  for (const LeftOut& each : left_out) {
    context.console().text(fmt::format("left out: {}: {}", printable(each.entry), printable(each.reason)));
    described.push_back({{"entry", each.entry}, {"reason", each.reason}});
  }
  return described;
}

Result<ExitStatus> adopt(const Context& context, const AdoptOptions& options) {
  CUBINET_TRY_ASSIGN(const auto home, context.open_registry(HomeOptions::Access::read_write));
  CUBINET_TRY_ASSIGN(const AdoptionReport report, adopt_cache(*home, options.folder, options.version));
  nlohmann::json entries = nlohmann::json::array();
  for (const auto& record : report.adopted)
    entries.push_back(describe(*record));
  nlohmann::json left_out = describe_left_out(context, report.left_out);
  context.console().text(fmt::format("{}: {} adopted, {} there already, {} left out", report.tool,
                                     plural(report.adopted.size(), "entry"), report.present,
                                     report.left_out.size()));
  context.console().document({{"home", home->description().place},
                              {"tool", report.tool},
                              {"entries", std::move(entries)},
                              {"present", report.present},
                              {"left_out", std::move(left_out)}});
  return report.adopted.empty() && report.present == 0 ? ExitStatus::negative : ExitStatus::done;
}

Result<ComputeCapability> device_of(const Context& context, const std::string& text) {
  if (!text.empty()) return ComputeCapability::parse_known(text);
  const auto driver = Driver::open({}, context.console().log_sink());
  if (!driver) {
    Error error = driver.error();
    error.remedy = "say for which device: --device 9.0";
    return error;
  }
  const auto& devices = (*driver)->devices();
  const ComputeCapability first = devices.front().capability;
  if (std::all_of(devices.begin(), devices.end(),
                  [&](const DeviceProperties& device) { return device.capability == first; }))
    return first;
  return Error{ErrorCode::invalid_argument, "the devices of this machine are not of one kind",
               "say for which: --device " + first.to_string()};
}

Result<ExitStatus> materialize(const Context& context, const MaterializeOptions& options) {
  CUBINET_TRY(check_cache_tool(options.request.tool));
  MaterializeRequest request = options.request;
  CUBINET_TRY_ASSIGN(request.device, device_of(context, options.device));
  std::shared_ptr<Store> store;
  if (options.bundle.empty()) {
    CUBINET_TRY_ASSIGN(store, context.open_registry(HomeOptions::Access::read_only));
  } else {
    CUBINET_TRY_ASSIGN(const auto bundle, context.open_bundle(options.bundle));
    request.host_code = has_trusted_signatures(*bundle);
    store = bundle;
  }
  CUBINET_TRY_ASSIGN(const MaterializeReport report, materialize_cache(*store, request));
  nlohmann::json left_out = describe_left_out(context, report.left_out);
  context.console().text(fmt::format("{}: {} written for {}, {} there already, {} left out",
                                     printable(request.folder), plural(report.written.size(), "entry"),
                                     request.device.to_string(), report.present.size(),
                                     report.left_out.size()));
  const nlohmann::json document = {{"folder", request.folder},
                                   {"tool", request.tool},
                                   {"device", request.device.to_string()},
                                   {"written", report.written},
                                   {"present", report.present.size()},
                                   {"left_out", std::move(left_out)}};
  if (report.error) return context.fail_with(*report.error, document);
  context.console().document(document);
  return report.written.empty() && report.present.empty() ? ExitStatus::negative : ExitStatus::done;
}

}  // namespace

void add_adopt(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "adopt",
      "Take the cache of Triton, DeepJIT or cuda.core into the home; status 1 when nothing is taken");
  auto options = std::make_shared<AdoptOptions>();
  verb->add_option("FOLDER", options->folder, "The folder that the tool was given for its cache")
      ->required()
      ->type_name("");
  add_text(
      *verb, "--tool-version", options->version, "V",
      "The tool's version, where its cache does not say it: DeepJIT's, cuda.core's, Triton's host helper's");
  verb->footer(R"(Examples:
  cubinet adopt ~/.triton/cache
  cubinet adopt ~/.cache/cuda-python/program-cache --tool-version 1.2.2
  cubinet bundle create -o triton.bundle --template triton)");
  choose<AdoptOptions>(*verb, chosen, options, adopt);
}

void add_materialize(CLI::App& root, Action& chosen) {
  CLI::App* verb = root.add_subcommand(
      "materialize", "Put what was adopted and fits where its tool looks; status 1 when nothing does");
  auto options = std::make_shared<MaterializeOptions>();
  verb->add_option("TOOL", options->request.tool, "triton, deepjit or cuda.core")->required()->type_name("");
  verb->add_option("FOLDER", options->request.folder, "Where the tool looks; made where it is missing")
      ->required()
      ->type_name("");
  add_text(*verb, "--tool-version", options->request.version, "V",
           "Only what this version made (default: what any version made)");
  add_text(*verb, "--device", options->device, "DEVICE", "sm_90 or 9.0 (default: this machine's)");
  add_text(*verb, "--bundle", options->bundle, "FILE",
           "From this bundle instead of the home; where a policy's keys have signed it, host code too");
  verb->footer(R"(Examples:
  cubinet materialize triton ~/.triton/cache --tool-version 3.6.0
  cubinet materialize triton /srv/triton --tool-version 3.6.0 --device 9.0 --bundle triton.bundle)");
  choose<MaterializeOptions>(*verb, chosen, options, materialize);
}

}  // namespace cubinet::cli
