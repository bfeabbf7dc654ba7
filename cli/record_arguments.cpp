// SPDX-License-Identifier: Apache-2.0
#include "record_arguments.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>

#include <sstream>

namespace cubinet::cli {
namespace {

// Returns the parts of comma-separated lists.
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

void add_function_arguments(CLI::App& verb, RecordArguments& arguments) {
  add_list(verb, "--function", arguments.functions, "NAME",
           "Only kernels with this function (symbol); may be repeated");
  add_list(verb, "--types", arguments.types, "bf16[,...]",
           "Only kernels whose data types are all among these; may be repeated");
}

void add_record_arguments(CLI::App& verb, RecordArguments& arguments) {
  add_list(verb, "--template", arguments.templates, "NAME", "Only kernels of this template; may be repeated");
  add_list(verb, "--target", arguments.targets, "sm_90a[,...]",
           "Only kernels for these targets; may be repeated");
  add_list(verb, "--key", arguments.keys, "KEY", "Only the kernel of this key; may be repeated");
}

Result<RecordFilter> record_filter_of(const RecordArguments& arguments) {
  RecordFilter filter;
  CUBINET_TRY_ASSIGN(filter.targets, parse_image_targets(arguments.targets));
  for (const std::string& text : arguments.keys) {
    CUBINET_TRY_ASSIGN(filter.keys.emplace_back(), KernelKey::parse(text));
  }
  CUBINET_TRY_ASSIGN(filter.types, parse_types(arguments.types));
  filter.templates = arguments.templates;
  filter.functions = arguments.functions;
  filter.kernels = arguments.kernels;
  return filter;
}

Result<CubinRecords> select_records(const RecordArguments& arguments, CubinRecords records) {
  CUBINET_TRY_ASSIGN(const RecordFilter filter, record_filter_of(arguments));
  return cubinet::select_records(filter, std::move(records));
}

}  // namespace cubinet::cli
