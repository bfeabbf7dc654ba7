// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/device_usage.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/template_files.hpp>

#include <fmt/format.h>

namespace cubinet {

Result<DeviceUsage> DeviceUsage::of(const SessionOptions& session, std::shared_ptr<Store> store,
                                    ComputeCapability device) {
  CUBINET_TRY_ASSIGN(TemplateCatalog templates,
                     load_catalog(*posix_file_system(), session.template_files, session.home, session.log));
  OpenedStores opened;
  if (store != nullptr) opened.stores.push_back(std::move(store));
  CUBINET_TRY_ASSIGN(const auto runtime, make_runtime(session, std::move(opened), std::move(templates)));
  DeviceUsage result{device, {}};
  CUBINET_TRY_ASSIGN(result.found, runtime->rows(device));
  KernelRows rows;
  rows.reserve(result.found.rows.size());
  for (const StoredRow& stored : result.found.rows)
    rows.push_back(stored.row);
  result.usage = KernelIndex::build(std::move(rows), device).usage();
  return result;
}

nlohmann::json describe(const DeviceUsage& usage) {
  const KernelIndex::Usage& counted = usage.usage;
  return {
      {"device", usage.device.to_string()},
      {"rows", usage.found.rows.size()},
      {"usable", counted.usable},
      {"by_target",
       {{"specific", counted.specific}, {"family", counted.family}, {"baseline", counted.baseline}}},
      {"other_targets", usage.found.elsewhere.size()},
      {"stale", usage.found.stale},
      {"foreign", usage.found.foreign},
      {"not_understood", counted.not_understood},
      {"unknown_columns", counted.unknown_columns},
  };
}

std::string to_text(const DeviceUsage& usage) {
  const KernelIndex::Usage& counted = usage.usage;
  const DeviceRows& found = usage.found;
  std::string text = fmt::format(
      "\nrows         {}\ndevice       {}: {} usable, {} specific, {} by family, {} baseline; {} for "
      "other devices",
      found.rows.size(), usage.device.to_string(), counted.usable, counted.specific, counted.family,
      counted.baseline, plural(found.elsewhere.size(), "kernel"));
  if (found.stale + found.foreign > 0)
    text += fmt::format("; {} stale, {} of another interface version", found.stale, found.foreign);
  if (counted.not_understood > 0) text += "; " + counted.passed_over();
  return text;
}

}  // namespace cubinet
