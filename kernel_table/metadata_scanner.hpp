// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace cubinet {

// A visitor that is called for what a scan finds, in the order of the text. Its views point into
// the text.
class MetadataVisitor {
 public:
  virtual ~MetadataVisitor() = default;
  // Called for `struct <name> { <type> <field>; … };`.
  virtual void on_struct(std::string_view name, const std::vector<std::string_view>& fields) = 0;
  // Called for one element `{ a, b, … }` of `<type> <name>[] = { … };`. Values are trimmed. A
  // nested brace list is one value.
  virtual void on_row(std::string_view array_type, std::size_t line,
                      std::span<const std::string_view> values) = 0;
};

// Scans generated metadata headers in one pass. It understands the part of C++ that they use:
// comments, preprocessor lines (skipped, so both branches of a condition count), structs and arrays
// of brace lists. Any text gives calls or a corruption error with its line. Nesting is counted
// without recursion.
Result<void> scan_metadata(std::string_view text, MetadataVisitor& visitor);

}  // namespace cubinet
