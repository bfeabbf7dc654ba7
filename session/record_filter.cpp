// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/record_names.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/session/record_filter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace cubinet {
namespace {

// Returns the records that any of the names means.
CubinRecords meant_by(const std::vector<std::string>& kernels, CubinRecords records) {
  if (kernels.empty()) return records;
  std::unordered_set<const CubinRecord*> meant;
  for (const std::string& text : kernels) {
    for (const auto& record : records_named(records, text))
      meant.insert(record.get());
  }
  std::erase_if(records, [&](const auto& record) { return !meant.contains(record.get()); });
  return records;
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
           !has_function_among(*record, filter.functions) || !has_types_among(*record, filter.types);
  });
  return meant_by(filter.kernels, std::move(records));
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
    lines.push_back(listed_kernel(*record));
  }
  if (lines.size() < kernels.size()) lines.emplace_back("...");
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is the name of {} kernels: {}", name, kernels.size(), join(lines, "; ")),
               remedy_for_several(*kernels.begin()->second)};
}

}  // namespace cubinet
