// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet::cli {

// The look-ups of a home, the builds that were used and those that never were, as text and as JSON.
struct Hits {
  std::string text;
  nlohmann::json described;
};
// A null `home` has no builds and no look-ups.
Result<Hits> hits_of(const Context& context, Home* home, const HomeStats& stats);

}  // namespace cubinet::cli
