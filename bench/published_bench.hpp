// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_set.hpp"
#include "report.hpp"

namespace cubinet::bench {

struct BareDriverApi;

// The host's time of run() of a published kernel beside that of our template for the same problem. The kernel
// is the one that stands in for published ones in the tests, for 9.0: a device of another capability gets a
// line that says so.
Result<void> add_published(const Settings& settings, Runtime& runtime, const BareDriverApi& api,
                           Report& report);

}  // namespace cubinet::bench
