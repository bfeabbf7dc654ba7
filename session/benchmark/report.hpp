// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet {

// Returns the problem of a row as JSON, the part that peers receive too.
nlohmann::json describe_case(const BenchmarkRow& row);
nlohmann::json describe(const BenchmarkRow& row);
// Returns the times of the peers of a row, and the row's time as a part of each.
nlohmann::json describe_peers(const BenchmarkRow& row);

// Returns the tag and the shape of a case for people.
std::string title_of_case(const BenchmarkCase& given);

}  // namespace cubinet
