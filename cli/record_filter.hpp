// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/spec/cubin.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cubinet::cli {

// --template, --target, --key, --function, --types, and KEY or NAME: which builds of a store are meant. An
// empty list lets all pass.
struct RecordFilter {
  std::vector<std::string> templates;
  std::vector<std::string> targets;
  std::vector<std::string> keys;
  std::vector<std::string> functions = {};
  std::vector<std::string> types = {};  // data types: a kernel that has others too does not pass
  // Keys, and names of templates, publishers or functions; NAME@PIN means those of one pin, or one
  // publisher's version.
  std::vector<std::string> kernels = {};

  bool empty() const {
    return kernels.empty() && templates.empty() && targets.empty() && keys.empty() && functions.empty() &&
           types.empty();
  }
};

void add_record_filter(CLI::App& verb, RecordFilter& filter);    // --template, --target, --key
void add_function_filter(CLI::App& verb, RecordFilter& filter);  // --function, --types

// The records that pass, in their order; invalid_argument for a target or key that is none.
Result<std::vector<std::shared_ptr<const CubinRecord>>> select_records(
    const RecordFilter& filter, std::vector<std::shared_ptr<const CubinRecord>> records);

// invalid_argument, with the keys and names of all of them, where a name means several kernels; that of a
// tool (KernelMaker::tool) is meant to.
Result<void> check_one_kernel(const std::string& name,
                              const std::vector<std::shared_ptr<const CubinRecord>>& records);

}  // namespace cubinet::cli
