// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// The status of a build compared with others of its target, best first.
enum class BuildStatus : std::uint8_t {
  current,  // a local build that equals the current build
  shipped,  // from a bundle or an imported folder, with the template's interface version
  // A local build with the right interface version, for which no current build can be determined.
  unchecked,
  stale,    // a local build with another compiler, template text or options
  foreign,  // built for another interface version of the template
};
bool is_usable(BuildStatus status);  // current, shipped, unchecked

}  // namespace cubinet
