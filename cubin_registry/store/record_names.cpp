// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>
#include <cubinet/cubin_registry/record_names.hpp>
#include <cubinet/kernel_table/published_header.hpp>

#include <algorithm>
#include <iterator>
#include <optional>

namespace cubinet {
namespace {

// A name with what may follow it.
struct PinnedName {
  std::string_view name;
  std::optional<std::string_view> pin;
};

bool is_of_pin(const CubinRecord& record, std::string_view text) {
  const KernelSpec spec = spec_of(record);
  const auto stated = spec.parameters.find(spec.maker == KernelMaker::tool ? "version" : "pin");
  if (stated == spec.parameters.end()) return false;
  const std::string value = to_string(stated->second);
  return spec.maker == KernelMaker::tool ? value == text : names_pin(text, value);
}

bool has_cpp_name(const CubinRecord& record, std::string_view name) {
  if (record.identity.kernel().maker() != KernelMaker::source) return false;
  return std::any_of(record.entry_points.begin(), record.entry_points.end(),
                     [&](const EntryPoint& entry) { return entry.cpp_name() == name; });
}

bool has_spec_name(const CubinRecord& record, std::string_view name) {
  // Only records that contain the name are decoded.
  return as_text(record.identity.encoding()).find(name) != std::string_view::npos &&
         spec_of(record).name == name;
}

}  // namespace

KernelSpec spec_of(const CubinRecord& record) {
  auto decoded = decode_kernel(record.identity.kernel_encoding());
  if (decoded) return *std::move(decoded);
  KernelSpec unknown;
  unknown.name = "?";
  return unknown;
}

std::vector<std::string> kernel_names(const CubinRecord& record) {
  const bool of_source = record.identity.kernel().maker() == KernelMaker::source;
  std::vector<std::string> names;
  for (const EntryPoint& entry : record.entry_points)
    names.push_back(of_source ? entry.cpp_name() : entry.name);
  return names;
}

bool has_function(const CubinRecord& record, std::string_view name) {
  return answers_to(record, name) || has_cpp_name(record, name);
}

CubinRecords records_named(const CubinRecords& records, std::string_view text) {
  if (const auto key = KernelKey::parse(text)) {
    CubinRecords found = with_key(records, *key);
    if (!found.empty()) return found;
  }
  std::vector<PinnedName> names = {{text, std::nullopt}};
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos)
    names.push_back({text.substr(0, at), text.substr(at + 1)});
  for (const auto has_name : {answers_to, has_cpp_name, has_spec_name}) {
    for (const PinnedName& name : names) {
      CubinRecords found;
      std::copy_if(records.begin(), records.end(), std::back_inserter(found), [&](const auto& record) {
        return has_name(*record, name.name) && (!name.pin || is_of_pin(*record, *name.pin));
      });
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::string listed_kernel(const CubinRecord& record) {
  const KernelSpec spec = spec_of(record);
  const std::string key = record.identity.key().to_string() + " ";
  if (record.entry_points.empty()) return key + name_with_pin(spec, spec.name);
  if (spec.maker == KernelMaker::source) return key + join(kernel_names(record)) + " of " + spec.to_string();
  return key + name_with_pin(spec, record.entry_points.front().symbol);
}

std::string remedy_for_several(const CubinRecord& record) {
  std::string remedy = "name one by its key, such as " + record.identity.key().to_string();
  const KernelSpec spec = spec_of(record);
  if (!spec.parameters.contains("pin")) return remedy;
  const std::string_view function =
      record.entry_points.empty() ? std::string_view(spec.name) : record.entry_points.front().symbol;
  return remedy + ", or with @ and the beginning of its pin, such as " + name_with_pin(spec, function);
}

}  // namespace cubinet
