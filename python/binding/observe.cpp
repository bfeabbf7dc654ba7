// SPDX-License-Identifier: Apache-2.0
#include "classes.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "runtime.hpp"
#include "text.hpp"

#include <vector>

namespace cubinet_python {
namespace {

std::string metrics(const PyRuntime& self) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) { return cubinet_runtime_metrics(runtime.get(), &json, error); });
  return take_text(json);
}

std::string prometheus(const PyRuntime& self,
                       const std::vector<std::pair<std::string, std::string>>& labels) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  std::vector<cubinet_label> given;
  for (const auto& [name, value] : labels)
    given.push_back({to_c(name), to_c(value)});
  cubinet_text* text = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_runtime_prometheus(runtime.get(), given.data(), given.size(), &text, error);
  });
  return take_text(text);
}

std::string journal(const PyRuntime& self, const std::string& since, const std::string& kernel) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_runtime_journal(runtime.get(), to_c(since), to_c(kernel), &json, error);
  });
  return take_text(json);
}

}  // namespace

void add_observe(nb::module_& module) {
  module.def("metrics", metrics, nb::arg("runtime"));
  module.def("prometheus", prometheus, nb::arg("runtime"), nb::arg("labels"),
             nb::sig("def prometheus(runtime: Runtime, labels: Sequence[tuple[str, str]]) -> str"));
  module.def("journal", journal, nb::arg("runtime"), nb::arg("since"), nb::arg("kernel"));
}

}  // namespace cubinet_python
