// SPDX-License-Identifier: Apache-2.0
#include "classes.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "kernel.hpp"
#include "runtime.hpp"
#include "text.hpp"

#include <vector>

namespace cubinet_python {
namespace {

void freeze(const PyRuntime& self, const std::vector<const PyKernel*>& kernels,
            const std::vector<const PyKernel*>& substitutes) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  std::vector<const cubinet_kernel*> given;
  std::vector<const cubinet_kernel*> served;
  for (const PyKernel* kernel : kernels)
    given.push_back(kernel->handle.get());
  for (const PyKernel* kernel : substitutes)
    served.push_back(kernel->handle.get());
  cubinet_freeze_options options = CUBINET_FREEZE_OPTIONS_INIT;
  options.kernels = given.data();
  options.substitutes = served.data();
  options.fallback_count = given.size();
  call([&](cubinet_error** error) { return cubinet_runtime_freeze(runtime.get(), &options, error); });
}

void thaw(const PyRuntime& self) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  call([&](cubinet_error** error) { return cubinet_runtime_thaw(runtime.get(), error); });
}

std::string refusals(const PyRuntime& self) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) { return cubinet_runtime_refusals(runtime.get(), &json, error); });
  return take_text(json);
}

std::string set_caller(const std::string& label) {
  cubinet_text* previous = nullptr;
  call([&](cubinet_error** error) { return cubinet_caller_set(to_c(label), &previous, error); });
  return take_text(previous);
}

}  // namespace

void add_freeze(nb::module_& module) {
  module.def(
      "freeze", freeze, nb::arg("runtime"), nb::arg("kernels"), nb::arg("substitutes"),
      nb::sig("def freeze(runtime: Runtime, kernels: Sequence[Kernel], substitutes: Sequence[Kernel]) -> "
              "None"));
  module.def("thaw", thaw, nb::arg("runtime"));
  module.def("refusals", refusals, nb::arg("runtime"));
  module.def("set_caller", set_caller, nb::arg("label"));
}

}  // namespace cubinet_python
