// SPDX-License-Identifier: Apache-2.0
#include "classes.hpp"
#include "configuration.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

namespace nb = nanobind;

std::string report(const Variables& variables, const Options& settings,
                   const std::vector<nb::bytes>& subjects) {
  const ConfigHandle config = make_configuration(variables, settings);
  std::vector<cubinet_string> places;
  for (const nb::bytes& subject : subjects)
    places.push_back({subject.c_str(), subject.size()});
  cubinet_text* html = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_report(config.get(), places.data(), places.size(), &html, error);
  });
  return take_text(html);
}

}  // namespace

void add_report(nb::module_& module) {
  module.def("report", report, nb::arg("variables"), nb::arg("options"), nb::arg("subjects"),
             nb::sig("def report(variables: Sequence[bytes], options: Sequence[tuple[str, bytes]], "
                     "subjects: Sequence[bytes]) -> str"));
}

}  // namespace cubinet_python
