// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// The status of a build compared with others of its target, best first.
enum class BuildStatus : std::uint8_t {
  current,  // a local build that equals the current build
  shipped,  // from a bundle or an imported folder, with the template's interface version, if known
  // A local build that cannot be compared, because there is no compiler or no template of its name.
  unchecked,
  stale,    // a local build by another compiler, or from another template text, headers or options
  foreign,  // built for another interface version than that of the template
};
bool is_usable(BuildStatus status);  // current, shipped, unchecked

}  // namespace cubinet
