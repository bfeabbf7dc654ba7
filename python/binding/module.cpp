// SPDX-License-Identifier: Apache-2.0
// The module cubinet._core: thin classes over the C library's handles. The modules in cubinet/ are
// what users see.
#include "classes.hpp"
#include "log.hpp"
#include "without_gil.hpp"

#include <cubinet/cubinet.h>

NB_MODULE(_core, module) {
  using namespace cubinet_python;
  // A forked child and a thread that outlives the interpreter keep objects, which is no defect.
  nanobind::set_leak_warnings(false);
  module.attr("abi_version") = cubinet_abi_version();
  add_runtime(module);
  add_kernel(module);
  add_function(module);
  add_attention(module);
  add_command(module);
  add_prebuild(module);
  add_observe(module);
  add_report(module);
  add_workload(module);
  add_freeze(module);
  module.def("stop_log", &stop_log, "Stops log lines. The package calls it when the interpreter ends.");
  module.def("end_calls", &end_calls,
             "Waits for the calls of other threads. The package calls it when the interpreter ends.");
}
