// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/report/benchmark_results.hpp>
#include <cubinet/report/parts.hpp>

namespace cubinet {

// Returns the section of a benchmark: the ratios with a bar each, worst first, and the goals.
// `name` is the file.
Section benchmark_section(const std::string& name, const BenchmarkResults& results);

}  // namespace cubinet
