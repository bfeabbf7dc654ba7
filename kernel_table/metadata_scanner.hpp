// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace cubinet {

// Hears what a scan finds, in the order of the text. The views point into it.
class MetadataVisitor {
 public:
  virtual ~MetadataVisitor() = default;
  // `struct <name> { <type> <field>; … };`
  virtual void on_struct(std::string_view name, const std::vector<std::string_view>& fields) = 0;
  // One element `{ a, b, … }` of `<type> <name>[] = { … };`. Values are trimmed; a nested brace is one value.
  virtual void on_row(std::string_view array_type, std::size_t line,
                      std::span<const std::string_view> values) = 0;
};

// Reads the part of C++ that generated metadata headers consist of, in one pass: comments, preprocessor lines
// (skipped, so both sides of a condition count), structs and arrays of brace lists. Any text gives calls or a
// corruption error with its line; nesting is counted, not recursed into.
Result<void> scan_metadata(std::string_view text, MetadataVisitor& visitor);

}  // namespace cubinet
