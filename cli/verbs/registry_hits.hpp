// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet::cli {

// What was asked of a home and used, and what lies there that nothing asked for: as text and as JSON.
struct Hits {
  std::string text;
  nlohmann::json described;
};
Result<Hits> hits_of(const Context& context, Home& home, const HomeStats& stats);

}  // namespace cubinet::cli
