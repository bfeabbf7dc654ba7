// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/home.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace cubinet::cli {

// Parses two sizes. Without the second, it is 0.8 of the first. Returns invalid_argument if low is
// above high.
Result<SizeLimit> parse_limit(const std::string& high, const std::string& low);
nlohmann::json describe(const std::optional<SizeLimit>& limit);  // null without a limit

}  // namespace cubinet::cli
