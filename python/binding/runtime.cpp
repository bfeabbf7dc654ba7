// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include "classes.hpp"
#include "configuration.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

void create(PyRuntime* self, const Variables& variables, const Options& options) {
  const ConfigHandle config = make_configuration(variables, options);
  cubinet_runtime* created = nullptr;
  call([&](cubinet_error** error) { return cubinet_runtime_create(config.get(), &created, error); });
  new (self) PyRuntime{std::make_shared<RuntimeState>(RuntimeState{own(created, cubinet_runtime_release)})};
}

nb::dict counters(const PyRuntime& self) {
  cubinet_counters counted = CUBINET_COUNTERS_INIT;
  const Handle<cubinet_runtime> runtime = self.state->open();
  call([&](cubinet_error** error) { return cubinet_runtime_counters(runtime.get(), &counted, error); });
  nb::dict result;
  result["process_hits"] = counted.process_hits;
  result["memory_hits"] = counted.memory_hits;
  result["registry_hits"] = counted.registry_hits;
  result["bundle_hits"] = counted.bundle_hits;
  result["imported_hits"] = counted.imported_hits;
  result["server_hits"] = counted.server_hits;
  result["compiled"] = counted.compiled;
  result["misses"] = counted.misses;
  result["failures"] = counted.failures;
  result["bytes_loaded"] = counted.bytes_loaded;
  return result;
}

nb::dict memory(const PyRuntime& self, std::int32_t device) {
  cubinet_memory counted = CUBINET_MEMORY_INIT;
  const Handle<cubinet_runtime> runtime = self.state->open();
  call([&](cubinet_error** error) { return cubinet_runtime_memory(runtime.get(), device, &counted, error); });
  nb::dict result;
  result["modules"] = counted.modules;
  result["bytes"] = counted.bytes;
  result["idle_modules"] = counted.idle_modules;
  result["idle_bytes"] = counted.idle_bytes;
  result["retired_modules"] = counted.retired_modules;
  result["retired_bytes"] = counted.retired_bytes;
  return result;
}

std::pair<std::uint64_t, std::uint64_t> trim(const PyRuntime& self, std::uint64_t bytes,
                                             std::int32_t device) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  std::uint64_t freed_modules = 0;
  std::uint64_t freed_bytes = 0;
  call([&](cubinet_error** error) {
    return cubinet_runtime_trim(runtime.get(), bytes, device, &freed_modules, &freed_bytes, error);
  });
  return {freed_modules, freed_bytes};
}

std::uint64_t forget(const PyRuntime& self, std::int32_t device) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  std::uint64_t kernels = 0;
  call([&](cubinet_error** error) { return cubinet_runtime_forget(runtime.get(), device, &kernels, error); });
  return kernels;
}

std::string stores(const PyRuntime& self) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) { return cubinet_runtime_stores(runtime.get(), &json, error); });
  return take_text(json);
}

}  // namespace

void add_runtime(nb::module_& module) {
  nb::class_<PyRuntime>(module, "Runtime")
      .def("__init__", create, nb::arg("variables"), nb::arg("options"))
      .def("close", [](PyRuntime& self) { self.state->handle.reset(); })
      .def_prop_ro("closed", [](const PyRuntime& self) { return !self.state->handle; })
      .def("counters", counters, nb::sig("def counters(self) -> dict[str, int]"))
      .def("memory", memory, nb::arg("device"), nb::sig("def memory(self, device: int) -> dict[str, int]"))
      .def("forget", forget, nb::arg("device"))
      .def("trim", trim, nb::arg("bytes"), nb::arg("device"))
      .def("stores", stores);
}

}  // namespace cubinet_python
