// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/session/benchmark.hpp>

#include <vector>

namespace cubinet {

// Returns the seconds of one run of the alternative or, for nullptr, of the plan.
using TimeOfRun = Callback<Result<double>(const BenchmarkAlternative*)>;

// Times the correct alternatives in turn with the plan: all of them once, those near the fastest in
// nine rounds, and the fastest of these in nine more, because the smallest of several medians is
// partly luck. Fills in their seconds and ratios. Orders them: that fastest one first, then by
// falling ratio. Returns the first error of `time`.
Result<void> time_alternatives(std::vector<BenchmarkAlternative>& alternatives, const TimeOfRun& time);

}  // namespace cubinet
