// SPDX-License-Identifier: Apache-2.0
// A source's directives, as three standards read them.
#include "fuzz.hpp"
#include "include_scanner.hpp"

namespace cubinet::fuzz {

void read(ByteView bytes) {
  for (const char* standard : {"c++03", "c++14", "c++20"})
    static_cast<void>(scan_includes(as_text(bytes), SourceDialect::of(standard)));
}

}  // namespace cubinet::fuzz
