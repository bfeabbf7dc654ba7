// SPDX-License-Identifier: Apache-2.0
#include "cache_filler.hpp"
#include "recordings.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/serving/serve_warm.hpp>
#include <cubinet/serving/supervisor.hpp>
#include <cubinet/serving/tool_caches.hpp>
#include <cubinet/session/open_stores.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sys/resource.h>
#include <system_error>

namespace cubinet {
namespace {

constexpr int kNiceness = 10;  // of the helper while the command runs

Result<void> check(const ServeWarmOptions& options) {
  if (options.command.empty() || options.command.front().empty())
    return Error{ErrorCode::invalid_argument, "no command is named", "name the program to run"};
  for (const ToolCache& cache : options.caches) {
    CUBINET_TRY(check_cache_tool(cache.tool));
    if (cache.folder.empty())
      return Error{ErrorCode::invalid_argument, "the cache of " + cache.tool + " has no folder",
                   "name the folder that the tool reads"};
  }
  return {};
}

Result<std::shared_ptr<Store>> open_bundle_place(const SessionOptions& session, const BundlePlace& place) {
  if (!names_server(place.place)) {
    CUBINET_TRY_ASSIGN(std::shared_ptr<Store> bundle, open_bundle_file(session, place.place));
    return bundle;
  }
  SessionOptions one = session;
  one.home_required = false;
  one.bundles = {place};
  one.caches.clear();
  one.site_homes.clear();
  one.builtin_bundle.clear();
  CUBINET_TRY_ASSIGN(const OpenedStores opened, open_stores(one));
  return opened.stores.back();
}

// The work beside the command, in the helper's process.
class Helper {
 public:
  Helper(const ServeWarmOptions& options, const std::optional<Recordings>& recordings)
      : options_(options), recordings_(recordings) {}

  void run(HelperLink& link) {
    fill_caches();
    link.ready();
    ::setpriority(PRIO_PROCESS, 0, kNiceness);
    while (!link.ended_within(options_.interval)) {
      adopt(options_.rest);
      merge_recordings(false);
    }
    // The workload first: it is small, and adopting may reach the time limit.
    merge_recordings(true);
    adopt(std::chrono::seconds(0));
    report_.ended = true;
    report();
  }

 private:
  void fill_caches();
  std::vector<std::shared_ptr<Store>> open_all_stores();
  std::vector<ComputeCapability> find_devices();
  void adopt(std::chrono::seconds rest);

  void report() const {
    if (options_.report) options_.report(report_);
  }
  // Logs each text once, because the same work fails in every interval.
  void warn(const std::string& text) {
    if (warned_.insert(text).second) log(options_.session.log, LogLevel::warning, text);
  }
  void merge_recordings(bool last) {
    if (!recordings_) return;
    const auto done =
        last ? recordings_->close(options_.session.log) : recordings_->merge(options_.session.log);
    if (!done) warn("the workload is not written: " + done.error().to_line());
  }

  const ServeWarmOptions& options_;
  const std::optional<Recordings>& recordings_;
  std::shared_ptr<Home> home_;
  std::size_t device_count_ = 0;
  CacheWatch watch_{{}};
  ServeWarmReport report_;
  std::set<std::string> warned_;
};

// Opens each bundle on its own, so that one that cannot be opened does not affect the others.
std::vector<std::shared_ptr<Store>> Helper::open_all_stores() {
  SessionOptions local = options_.session;
  local.home_required = false;
  local.bundles.clear();
  local.caches.clear();
  std::vector<std::shared_ptr<Store>> stores;
  for (const BundlePlace& place : options_.session.bundles) {
    auto opened = open_bundle_place(options_.session, place);
    if (opened) {
      stores.push_back(*opened);
    } else {
      warn("the bundle is not used: " + opened.error().to_line());
    }
  }
  auto opened = open_stores(local);
  if (!opened) {
    warn("only the home is used: " + opened.error().to_line());
    local.site_homes.clear();
    local.builtin_bundle.clear();
    opened = open_stores(local);
  }
  if (!opened) return stores;  // a home that is not required is no error
  home_ = opened->home;
  stores.insert(stores.end(), opened->stores.begin(), opened->stores.end());
  return stores;
}

std::vector<ComputeCapability> Helper::find_devices() {
  if (options_.device) return {*options_.device};
  const auto driver = Driver::open(options_.session.driver_library, options_.session.log);
  if (!driver) {
    warn("no entry is put, because the device is not known: " + driver.error().to_line());
    return {};
  }
  device_count_ = (*driver)->devices().size();
  std::vector<ComputeCapability> capabilities;
  for (const DeviceProperties& device : (*driver)->devices()) {
    if (std::find(capabilities.begin(), capabilities.end(), device.capability) == capabilities.end())
      capabilities.push_back(device.capability);
  }
  return capabilities;
}

void Helper::fill_caches() {
  const auto stores = open_all_stores();
  const auto devices = find_devices();
  for (const ComputeCapability device : devices)
    report_.devices.push_back(device.to_string());
  watch_ = CacheWatch(tool_caches(options_.environment, options_.caches, device_count_));
  for (const auto& store : stores) {
    if (const auto listed = store->list(); !listed)
      warn("'" + printable(store->description().place) + "' is not used: " + listed.error().to_line());
  }
  const CacheFiller filler(devices, options_.session.log);
  for (const ToolCache& cache : watch_.caches())
    watch_.leave_out(cache, filler.fill(cache, stores, report_));
  if (home_ == nullptr || !home_->description().writable) {
    home_ = nullptr;
    warn("new entries are not adopted, because there is no home that can be written");
  }
  report();
}

void Helper::adopt(std::chrono::seconds rest) {
  if (home_ == nullptr) return;
  const WatchReport done = watch_.adopt(*home_, rest);
  for (const auto& [tool, count] : done.adopted)
    report_.tools[tool].adopted += count;
  for (const LeftOut& each : done.left_out)
    log(options_.session.log, LogLevel::info,
        "not adopted: " + printable(each.entry) + ": " + printable(each.reason));
  for (const Error& error : done.errors)
    warn("an entry is not adopted: " + error.to_line());
}

// Returns the environment of the command: the given one, with the variables of this module.
std::vector<std::string> environment_of(const ServeWarmOptions& options,
                                        const std::optional<Recordings>& recordings) {
  std::vector<std::string> lines = options.environment.lines();
  const auto set = [&](const std::string& line) {
    const std::string name = line.substr(0, line.find('=') + 1);
    std::erase_if(lines, [&](const std::string& other) { return other.starts_with(name); });
    lines.push_back(line);
  };
  if (recordings) set(record_variable(recordings->folder()));
  const auto caches = tool_caches(options.environment, options.caches, 1);
  const auto triton = std::find_if(caches.begin(), caches.end(),
                                   [](const ToolCache& cache) { return cache.tool == "triton"; });
  if (triton == caches.end()) return lines;
  // The command may change its working directory.
  const auto folder = absolute_path(triton->folder);
  set(triton_cache_variable(folder ? folder->string() : triton->folder));
  return lines;
}

}  // namespace

ServeWarmReport::Counts ServeWarmReport::sum() const {
  Counts all;
  for (const auto& [tool, counts] : tools) {
    all.put += counts.put;
    all.present += counts.present;
    all.left_out += counts.left_out;
    all.adopted += counts.adopted;
  }
  return all;
}

std::string to_json(const ServeWarmReport& report) {
  nlohmann::json tools = nlohmann::json::object();
  for (const auto& [tool, counts] : report.tools)
    tools[tool] = {{"put", counts.put},
                   {"present", counts.present},
                   {"left_out", counts.left_out},
                   {"adopted", counts.adopted}};
  return nlohmann::json({{"devices", report.devices}, {"tools", std::move(tools)}}).dump();
}

std::string to_text(const ServeWarmReport& report) {
  const ServeWarmReport::Counts sum = report.sum();
  if (report.ended) return plural(sum.adopted, "new entry") + " adopted";
  return plural(sum.put, "entry") + " put for " +
         (report.devices.empty() ? "no device" : join(report.devices)) + ", " + std::to_string(sum.present) +
         " there already, " + std::to_string(sum.left_out) + " left out";
}

Result<int> serve_warm(const ServeWarmOptions& options) {
  CUBINET_TRY(check(options));
  std::optional<Recordings> recordings;
  if (!options.workload.empty()) {
    auto opened = Recordings::open(options.workload);
    if (opened) {
      recordings.emplace(*std::move(opened));
    } else {
      log(options.session.log, LogLevel::warning, "nothing is recorded: " + opened.error().to_line());
    }
  }
  Supervision supervision;
  supervision.command = options.command;
  supervision.environment = environment_of(options, recordings);
  supervision.helper = [&](HelperLink& link) { Helper(options, recordings).run(link); };
  supervision.start_limit = options.start_limit;
  supervision.end_limit = options.end_limit;
  supervision.releases_streams = options.releases_streams;
  supervision.log = options.session.log;
  const int status = supervise(supervision);
  // The helper was killed, or could not write the workload.
  if (std::error_code unknown; recordings && std::filesystem::exists(recordings->folder(), unknown))
    log(options.session.log, LogLevel::warning,
        "the last recordings are not merged: they are in '" + printable(recordings->folder()) + "'");
  return status;
}

}  // namespace cubinet
