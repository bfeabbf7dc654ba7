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
  // `#include MACRO`, `__has_include(MACRO)` and a bare `__has_include`, as they stand in the code: what they
  // ask for only the preprocessor knows.
  std::vector<std::string> computed;
};

// Finds every header that a C++ text may include or ask for with __has_include. Names count wherever they
// stand, in comments, literals and conditions that do not hold too: a superset of what the compiler opens,
// but for computed ones. Those count in code alone, since a template that has one is refused.
IncludeScan scan_includes(std::string_view text);

}  // namespace cubinet
