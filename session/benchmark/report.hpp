// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// Returns the problem of a row as JSON, the part that peers receive too.
nlohmann::json describe_case(const BenchmarkRow& row);
nlohmann::json describe(const BenchmarkRow& row);

}  // namespace cubinet
