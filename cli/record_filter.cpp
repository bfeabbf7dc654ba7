// SPDX-License-Identifier: Apache-2.0
#include "record_filter.hpp"

#include "arguments.hpp"
#include "describe.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/image_target.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace cubinet::cli {

namespace {

bool has_name(const CubinRecord& record, const KernelSpec& spec, std::string_view name) {
  return spec.name == name || answers_to(record, name);
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

// Of an attention kernel those of its row, of another what its parameters say.
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
                                       [&](const std::string& name) { return answers_to(record, name); });
}

// "bf16,e4m3" and repetitions of it.
std::vector<std::string> split_lists(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    std::istringstream rest(list);
    for (std::string name; std::getline(rest, name, ',');)
      names.push_back(name);
  }
  return names;
}

Result<std::vector<DataType>> parse_types(const std::vector<std::string>& lists) {
  std::vector<DataType> types;
  for (const std::string& name : split_lists(lists)) {
    const auto type = parse_data_type(name);
    if (!type) {
      std::vector<std::string> known;
      for (const DataType each : all_data_types())
        known.emplace_back(to_string(each));
      return Error{ErrorCode::invalid_argument, "--types: there is no data type '" + printable(name) + "'",
                   "one of " + join(known)};
    }
    types.push_back(*type);
  }
  return types;
}

}  // namespace

void add_function_filter(CLI::App& verb, RecordFilter& filter) {
  add_list(verb, "--function", filter.functions, "NAME",
           "Only kernels with this function (symbol); may be repeated");
  add_list(verb, "--types", filter.types, "bf16[,...]",
           "Only kernels whose data types are all among these; may be repeated");
}

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
  CUBINET_TRY_ASSIGN(const std::vector<DataType> types, parse_types(filter.types));
  const auto passes = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  std::vector<std::shared_ptr<const CubinRecord>> selected;
  for (auto& record : records) {
    // An entry of another compiler's cache is for what its machine code is for.
    const ImageKind kind = record->kind == ImageKind::ptx ? ImageKind::ptx : ImageKind::cubin;
    if (passes(targets, ImageTarget{record->target, kind}) && passes(keys, record->identity.key()) &&
        passes(filter.templates, spec_of(*record).name) && is_meant(filter.kernels, *record) &&
        has_function_among(*record, filter.functions) && has_types_among(*record, types)) {
      selected.push_back(std::move(record));
    }
  }
  return selected;
}

Result<void> check_one_kernel(const std::string& name,
                              const std::vector<std::shared_ptr<const CubinRecord>>& records) {
  // A tool's name means all that was adopted of it.
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
                    name_with_pin(spec, entries.empty() ? spec.name : entries.front().symbol));
  }
  if (lines.size() < kernels.size()) lines.emplace_back("...");
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is the name of {} kernels: {}", name, kernels.size(), join(lines, "; ")),
               "name one by its key or, where they have pins, as NAME@PIN"};
}

}  // namespace cubinet::cli
