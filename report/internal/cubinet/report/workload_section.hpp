// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/report/parts.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/workload.hpp>

#include <string>

namespace cubinet {

// Returns the section of a workload: what each entry needs on each device that recorded it, and
// whether the stores of `runtime` have it. `name` is the file, `stores` names the stores for
// people. Compiles nothing.
Section workload_section(const std::string& name, const Workload& workload, Runtime& runtime,
                         const TargetPolicy& targets, const std::string& stores);

}  // namespace cubinet
