// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/record_filter.hpp>

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// --template, --target, --key, --function, --types, and KEY or NAME: a RecordFilter as text.
struct RecordArguments {
  std::vector<std::string> templates = {};
  std::vector<std::string> targets = {};
  std::vector<std::string> keys = {};
  std::vector<std::string> functions = {};
  std::vector<std::string> types = {};
  std::vector<std::string> kernels = {};

  bool empty() const {
    return kernels.empty() && templates.empty() && targets.empty() && keys.empty() && functions.empty() &&
           types.empty();
  }
};

void add_record_arguments(CLI::App& verb, RecordArguments& arguments);    // --template, --target, --key
void add_function_arguments(CLI::App& verb, RecordArguments& arguments);  // --function, --types

// Returns the filter. Returns invalid_argument for a target, key or data type that does not exist.
Result<RecordFilter> record_filter_of(const RecordArguments& arguments);
// Returns the records that pass, in their order.
Result<CubinRecords> select_records(const RecordArguments& arguments, CubinRecords records);

}  // namespace cubinet::cli
