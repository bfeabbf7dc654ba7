// SPDX-License-Identifier: Apache-2.0
#include "record_filter.hpp"

#include "arguments.hpp"
#include "describe.hpp"

#include <cubinet/spec/image_target.hpp>

#include <algorithm>

namespace cubinet::cli {

namespace {

bool has_name(const CubinRecord& record, const KernelSpec& spec, std::string_view name) {
  return spec.name == name || std::any_of(record.entry_points.begin(), record.entry_points.end(),
                                          [&](const EntryPoint& entry) { return entry.symbol == name; });
}

// Of a pin its beginning, of a version ("flashinfer-cubin 0.6.13") the whole or its last word.
bool is_of_pin(const CubinRecord& record, const KernelSpec& spec, std::string_view pin,
               const ImportVersions& versions) {
  const auto stated = spec.parameters.find("pin");
  const auto* text = stated == spec.parameters.end() ? nullptr : std::get_if<std::string>(&stated->second);
  if (text != nullptr && !pin.empty() && text->starts_with(pin)) return true;
  const auto version = versions.find(record.version);
  return record.origin == CubinOrigin::imported && version != versions.end() &&
         (version->second == pin || version->second.ends_with(" " + std::string(pin)));
}

bool is_meant(const std::vector<std::string>& kernels, const CubinRecord& record,
              const ImportVersions& versions) {
  if (kernels.empty()) return true;
  const KernelSpec spec = spec_of(record);
  return std::any_of(kernels.begin(), kernels.end(), [&](const std::string& text) {
    const auto key = KernelKey::parse(text);
    if (key && record.identity.key() == *key) return true;
    const std::size_t at = text.rfind('@');
    if (at == std::string::npos) return has_name(record, spec, text);
    return has_name(record, spec, text.substr(0, at)) &&
           is_of_pin(record, spec, text.substr(at + 1), versions);
  });
}

}  // namespace

void add_record_filter(CLI::App& verb, RecordFilter& filter) {
  add_list(verb, "--template", filter.templates, "NAME", "Only kernels of this template; may be repeated");
  add_list(verb, "--target", filter.targets, "sm_90a[,...]",
           "Only kernels for these targets; may be repeated");
  add_list(verb, "--key", filter.keys, "KEY", "Only the kernel of this key; may be repeated");
}

Result<std::vector<std::shared_ptr<const CubinRecord>>> select_records(
    const RecordFilter& filter, std::vector<std::shared_ptr<const CubinRecord>> records,
    const ImportVersions& versions) {
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
        passes(filter.templates, spec_of(*record).name) && is_meant(filter.kernels, *record, versions)) {
      selected.push_back(std::move(record));
    }
  }
  return selected;
}

}  // namespace cubinet::cli
