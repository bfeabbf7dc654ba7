// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

namespace cubinet_python {

// Each adds one group of classes and functions to the module.
void add_runtime(nanobind::module_& module);
void add_kernel(nanobind::module_& module);
void add_function(nanobind::module_& module);
void add_attention(nanobind::module_& module);
void add_command(nanobind::module_& module);
void add_prebuild(nanobind::module_& module);
void add_observe(nanobind::module_& module);
void add_report(nanobind::module_& module);
void add_workload(nanobind::module_& module);
void add_freeze(nanobind::module_& module);

}  // namespace cubinet_python
