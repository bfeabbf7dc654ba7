// SPDX-License-Identifier: Apache-2.0
#include "classes.hpp"
#include "configuration.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

namespace nb = nanobind;

std::vector<cubinet_string> texts_of(const std::vector<nb::bytes>& words) {
  std::vector<cubinet_string> texts;
  for (const nb::bytes& word : words)
    texts.push_back({word.c_str(), word.size()});
  return texts;
}

// Runs a verb of the command. Returns its exit status, and what it would have written to stdout if
// `takes_output` is true.
std::pair<std::int32_t, std::string> command(const std::vector<nb::bytes>& words, const Variables& variables,
                                             bool takes_output) {
  const std::vector<cubinet_string> texts = texts_of(words);
  const std::vector<const char*> environment = environment_of(variables);
  std::int32_t status = 0;
  cubinet_text* output = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_command(texts.data(), texts.size(), environment.data(), &status,
                           takes_output ? &output : nullptr, error);
  });
  return {status, takes_output ? take_text(output) : std::string()};
}

// Runs a line of cubinet-nvcc, and returns its exit status unless nvcc replaces this process. `own`
// is the path of the launcher.
std::int32_t nvcc(const std::vector<nb::bytes>& words, const Variables& variables, const nb::bytes& own) {
  const std::vector<cubinet_string> texts = texts_of(words);
  const std::vector<const char*> environment = environment_of(variables);
  std::int32_t status = 0;
  call([&](cubinet_error** error) {
    return cubinet_nvcc(texts.data(), texts.size(), environment.data(), {own.c_str(), own.size()}, &status,
                        error);
  });
  return status;
}

}  // namespace

void add_command(nb::module_& module) {
  module.def("command", command, nb::arg("words"), nb::arg("variables"), nb::arg("takes_output"));
  module.def("nvcc", nvcc, nb::arg("words"), nb::arg("variables"), nb::arg("own"));
}

}  // namespace cubinet_python
