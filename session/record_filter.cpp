// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/record_filter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

// Stores do not index the C++ names of a source's functions that were compiled without a name
// expression.
bool has_function(const CubinRecord& record, std::string_view name) {
  const std::vector<std::string> names = kernel_names(record);
  return answers_to(record, name) || (record.identity.kernel().maker() == KernelMaker::source &&
                                      std::find(names.begin(), names.end(), name) != names.end());
}

bool has_name(const CubinRecord& record, const KernelSpec& spec, std::string_view name) {
  return spec.name == name || has_function(record, name);
}

bool is_of_pin(const KernelSpec& spec, std::string_view text) {
  if (spec.maker == KernelMaker::tool) {
    const auto version = spec.parameters.find("version");
    return version != spec.parameters.end() && to_string(version->second) == text;
  }
  const auto stated = spec.parameters.find("pin");
  const auto* pin = stated == spec.parameters.end() ? nullptr : std::get_if<std::string>(&stated->second);
  return pin != nullptr && names_pin(text, *pin);
}

bool is_meant(const std::vector<std::string>& kernels, const CubinRecord& record) {
  if (kernels.empty()) return true;
  const KernelSpec spec = spec_of(record);
  return std::any_of(kernels.begin(), kernels.end(), [&](const std::string& text) {
    const auto key = KernelKey::parse(text);
    if (key && record.identity.key() == *key) return true;
    const std::size_t at = text.rfind('@');
    if (at == std::string::npos) return has_name(record, spec, text);
    return has_name(record, spec, text.substr(0, at)) && is_of_pin(spec, text.substr(at + 1));
  });
}

// Returns the data types of the row of an attention kernel, and those that the parameters of others
// name.
std::vector<DataType> types_of(const CubinRecord& record) {
  if (!record.row.empty()) {
    if (const auto row = decode_row(record.row)) {
      const KernelSelector& selector = row->selector;
      return {selector.data_type_q, selector.data_type_k, selector.data_type_v, selector.data_type_o};
    }
  }
  std::vector<DataType> types;
  const KernelSpec spec = spec_of(record);
  for (const auto& [name, value] : spec.parameters) {
    const auto* text = std::get_if<std::string>(&value);
    const auto type = text != nullptr ? parse_data_type(*text) : std::nullopt;
    if (type) types.push_back(*type);
  }
  return types;
}

bool has_types_among(const CubinRecord& record, const std::vector<DataType>& wanted) {
  if (wanted.empty()) return true;
  const std::vector<DataType> types = types_of(record);
  return !types.empty() && std::all_of(types.begin(), types.end(), [&](DataType type) {
    return std::find(wanted.begin(), wanted.end(), type) != wanted.end();
  });
}

bool has_function_among(const CubinRecord& record, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                       [&](const std::string& name) { return has_function(record, name); });
}

}  // namespace

CubinRecords select_records(const RecordFilter& filter, CubinRecords records) {
  const auto passes = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  std::erase_if(records, [&](const auto& record) {
    // An entry of another compiler's cache belongs to the target of its machine code.
    const ImageKind kind = record->kind == ImageKind::ptx ? ImageKind::ptx : ImageKind::cubin;
    return !passes(filter.targets, ImageTarget{record->target, kind}) ||
           !passes(filter.keys, record->identity.key()) || !passes(filter.templates, spec_of(*record).name) ||
           !is_meant(filter.kernels, *record) || !has_function_among(*record, filter.functions) ||
           !has_types_among(*record, filter.types);
  });
  return records;
}

Result<void> check_one_kernel(const std::string& name, const CubinRecords& records) {
  if (std::all_of(records.begin(), records.end(),
                  [](const auto& record) { return record->identity.kernel().maker() == KernelMaker::tool; }))
    return {};
  constexpr std::size_t kListed = 10;
  std::map<Bytes, const CubinRecord*> kernels;
  for (const auto& record : records)
    kernels.try_emplace(record->identity.kernel().encoding(), record.get());
  if (kernels.size() < 2) return {};
  std::vector<std::string> lines;
  for (const auto& [encoding, record] : kernels) {
    if (lines.size() == kListed) break;
    const KernelSpec spec = spec_of(*record);
    const auto& entries = record->entry_points;
    lines.push_back(record->identity.key().to_string() + " " +
                    (spec.maker == KernelMaker::source
                         ? kernel_title(*record)
                         : name_with_pin(spec, entries.empty() ? spec.name : entries.front().symbol)));
  }
  if (lines.size() < kernels.size()) lines.emplace_back("...");
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is the name of {} kernels: {}", name, kernels.size(), join(lines, "; ")),
               "name one by its key or, where they have pins, as NAME@PIN"};
}

}  // namespace cubinet
