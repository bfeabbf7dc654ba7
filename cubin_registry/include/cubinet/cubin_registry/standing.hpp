// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// How a build stands among those of its target, best first.
enum class Standing : std::uint8_t {
  current,    // a local build that would be the same today
  shipped,    // from a bundle or an imported folder, of the interface version that the template has
  unchecked,  // a local build of the right interface version where nothing can tell whether it is current
  stale,      // a local build of another compiler, template text or options
  foreign,    // of another interface version of the template
};
bool is_usable(Standing standing);  // current, shipped, unchecked

}  // namespace cubinet
