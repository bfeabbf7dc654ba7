// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

struct IncludeDirective {
  std::string name;
  bool quoted = false;  // "name": the folder of the including file is searched first

  friend auto operator<=>(const IncludeDirective&, const IncludeDirective&) = default;
};

struct IncludeScan {
  std::vector<IncludeDirective> directives;  // in the order of their first occurrence
  // The text of `#include MACRO` directives: what they name only the preprocessor knows.
  std::vector<std::string> computed;
};

// Finds every header that a C++ text may include or ask for with __has_include, conditions, comments and
// string literals disregarded: a superset of what the compiler opens, but for computed names.
IncludeScan scan_includes(std::string_view text);

}  // namespace cubinet
