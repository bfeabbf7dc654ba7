// SPDX-License-Identifier: Apache-2.0
#include "record_filter.hpp"

#include "arguments.hpp"
#include "describe.hpp"

#include <cubinet/spec/image_target.hpp>

#include <algorithm>

namespace cubinet::cli {

void add_record_filter(CLI::App& verb, RecordFilter& filter) {
  add_list(verb, "--template", filter.templates, "NAME", "Only kernels of this template; may be repeated");
  add_list(verb, "--target", filter.targets, "sm_90a[,...]",
           "Only kernels for these targets; may be repeated");
  add_list(verb, "--key", filter.keys, "KEY", "Only the kernel of this key; may be repeated");
}

Result<std::vector<std::shared_ptr<const CubinRecord>>> select_records(
    const RecordFilter& filter, std::vector<std::shared_ptr<const CubinRecord>> records) {
  CUBINET_TRY_ASSIGN(const std::vector<ImageTarget> targets, parse_image_targets(filter.targets));
  std::vector<KernelKey> keys;
  for (const std::string& text : filter.keys) {
    CUBINET_TRY_ASSIGN(keys.emplace_back(), KernelKey::parse(text));
  }
  const auto passes = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  std::vector<std::shared_ptr<const CubinRecord>> selected;
  for (auto& record : records) {
    if (passes(targets, ImageTarget{record->target, record->kind}) && passes(keys, record->identity.key()) &&
        passes(filter.templates, spec_of(*record).name)) {
      selected.push_back(std::move(record));
    }
  }
  return selected;
}

}  // namespace cubinet::cli
