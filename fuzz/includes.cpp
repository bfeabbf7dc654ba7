// SPDX-License-Identifier: Apache-2.0
// Reads a source's directives by the standard that the first byte selects.
#include "fuzz.hpp"
#include "include_scanner.hpp"

#include <array>

namespace cubinet::fuzz {

void read(ByteView bytes) {
  if (bytes.empty()) return;
  constexpr std::array<const char*, 3> kStandards = {"c++03", "c++14", "c++20"};
  const char* const standard = kStandards[std::to_integer<std::size_t>(bytes.front()) % kStandards.size()];
  static_cast<void>(scan_includes(as_text(bytes.subspan(1)), SourceDialect::of(standard)));
}

}  // namespace cubinet::fuzz
