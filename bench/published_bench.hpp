// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_set.hpp"
#include "report.hpp"

namespace cubinet::bench {

struct BareDriverApi;

// Measures the host time of run() of a published kernel and of our template for the same problem.
// The kernel is the tests' stand-in for published ones, for capability 9.0. On a device of another
// capability, adds a line that says so.
Result<void> add_published(const Settings& settings, Runtime& runtime, const BareDriverApi& api,
                           Report& report);

}  // namespace cubinet::bench
