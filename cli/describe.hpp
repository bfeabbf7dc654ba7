// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/units.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet::cli {

// Values of the library as text for people, and as JSON in addition to that of session/json.hpp.
std::string describe_origin(
    const CubinRecord& record);  // "compiled here", "added here", "a bundle of version 3"

// Each describes a loaded kernel: its source and the time that loading took.
nlohmann::json describe_loaded(const KernelEvent& kernel);
std::string loaded_lines(const KernelEvent& kernel);

// Returns the command line that builds a kernel.
std::string compile_command(const KernelSpec& spec, SmTarget target);

std::string describe_block(const EntryPoint& entry_point);  // its threads: "256", "16 x 16"

// A table for a terminal. Each column is as wide as its widest cell; the last column is not padded.
// Control characters in cells are escaped, so cells may hold text from outside.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  std::string to_string() const;  // without a newline at the end

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns lines that name the builds of newer bundles that stay in use although an older bundle was
// imported. Each line begins with a newline.
std::string outranked_text(const std::vector<ImportReport::Outranked>& outranked);

// Returns a table with the key, target, size, build, bundle version and kernel of each record.
Table record_table(const std::vector<std::shared_ptr<const CubinRecord>>& records);

}  // namespace cubinet::cli
