// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// The names of the metrics, which JSON and Prometheus's text share.

struct CountedOutcome {
  const char* name;
  std::uint64_t count;
};
std::vector<CountedOutcome> outcomes_of(const Runtime::Counters& counters);

struct TimedPhase {
  const char* name;
  const DurationHistogram* histogram;  // of the counters
};
std::vector<TimedPhase> phases_of(const Runtime::Counters& counters);

struct ModuleState {
  const char* name;
  std::uint64_t modules;
  std::uint64_t bytes;
};
std::vector<ModuleState> states_of(const ModuleMemory& memory);

}  // namespace cubinet
