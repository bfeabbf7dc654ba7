// SPDX-License-Identifier: Apache-2.0
#include "classes.hpp"
#include "configuration.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

namespace nb = nanobind;

// Runs a verb of the command. Returns its exit status, and what it would have written to stdout if
// `takes_output` is true.
std::pair<std::int32_t, std::string> command(const std::vector<nb::bytes>& words, const Variables& variables,
                                             bool takes_output) {
  std::vector<cubinet_string> texts;
  for (const nb::bytes& word : words)
    texts.push_back({word.c_str(), word.size()});
  const std::vector<const char*> environment = environment_of(variables);
  std::int32_t status = 0;
  cubinet_text* output = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_command(texts.data(), texts.size(), environment.data(), &status,
                           takes_output ? &output : nullptr, error);
  });
  return {status, takes_output ? take_text(output) : std::string()};
}

}  // namespace

void add_command(nb::module_& module) {
  module.def("command", command, nb::arg("words"), nb::arg("variables"), nb::arg("takes_output"));
}

}  // namespace cubinet_python
