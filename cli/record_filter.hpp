// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/registry.hpp>
#include <cubinet/spec/cubin.hpp>

#include <CLI/App.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cubinet::cli {

// --template, --target, --key: which entries of a registry are meant. An empty list lets all pass.
struct RecordFilter {
  std::vector<std::string> templates;
  std::vector<std::string> targets;
  std::vector<std::string> keys;

  bool empty() const { return templates.empty() && targets.empty() && keys.empty(); }
};

void add_record_filter(CLI::App& verb, RecordFilter& filter);

// The records that pass, in their order; invalid_argument for a target or key that is none.
Result<std::vector<std::shared_ptr<const CubinRecord>>> select_records(
    const RecordFilter& filter, std::vector<std::shared_ptr<const CubinRecord>> records);

}  // namespace cubinet::cli
