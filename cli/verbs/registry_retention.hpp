// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/home.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace cubinet::cli {

// Two sizes as they are typed; without the second, 0.8 of the first. invalid_argument where low is
// above high.
Result<SizeLimit> parse_limit(const std::string& high, const std::string& low);
nlohmann::json describe(const std::optional<SizeLimit>& limit);  // null where there is none

// "just now", "3 hours ago", "12 days ago", of seconds since the epoch.
std::string format_age(std::int64_t since);

}  // namespace cubinet::cli
