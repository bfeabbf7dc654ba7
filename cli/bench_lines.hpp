// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

#include <span>
#include <string>

namespace cubinet::cli {

// Returns a row as a line for people.
std::string to_line(const BenchmarkRow& row);

// Returns "18 of 20 goals are reached; not: …" with a line for each missed goal; "" if there are no
// goals.
std::string summary_of_goals(std::span<const BenchmarkRow> rows);

}  // namespace cubinet::cli
