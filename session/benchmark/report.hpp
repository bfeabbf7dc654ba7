// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// Returns what is computed: the part of a row's JSON that peers receive too.
nlohmann::json describe_case(const BenchmarkRow& row);
nlohmann::json describe(const BenchmarkRow& row);

}  // namespace cubinet
