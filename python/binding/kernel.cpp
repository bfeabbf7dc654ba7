// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include "classes.hpp"
#include "conversions.hpp"
#include "errors.hpp"
#include "function.hpp"
#include "parameters.hpp"
#include "runtime.hpp"
#include "text.hpp"

namespace cubinet_python {
namespace {

using Texts = std::vector<std::string>;

std::vector<cubinet_string> to_c(const Texts& texts) {
  std::vector<cubinet_string> strings;
  for (const std::string& text : texts)
    strings.push_back(cubinet_python::to_c(text));
  return strings;
}

// Runs a function of the C library that resolves a kernel of the runtime.
template <class Resolve>
PyKernel resolve(const PyRuntime& self, const Resolve& function) {
  const Handle<cubinet_runtime> runtime = self.state->open();
  cubinet_kernel* created = nullptr;
  call([&](cubinet_error** error) { return function(runtime.get(), &created, error); });
  return {own(created, cubinet_kernel_release), self.state};
}

PyKernel from_spec(const PyRuntime& self, const std::string& template_name, nb::dict parameters) {
  const SpecificationValues values(template_name, parameters);
  return resolve(self, [&](cubinet_runtime* runtime, cubinet_kernel** kernel, cubinet_error** error) {
    return values.resolve(runtime, kernel, error);
  });
}

PyKernel from_source(const PyRuntime& self, const std::string& name, const std::string& text,
                     const Texts& kernels, const Texts& globals,
                     const std::vector<std::pair<std::string, std::string>>& headers, const Texts& flags,
                     const std::string& folder) {
  const std::vector<cubinet_string> kernel_names = to_c(kernels);
  const std::vector<cubinet_string> global_names = to_c(globals);
  const std::vector<cubinet_string> flag_texts = to_c(flags);
  std::vector<cubinet_header> header_texts;
  for (const auto& [header, content] : headers)
    header_texts.push_back({cubinet_python::to_c(header), cubinet_python::to_c(content)});
  cubinet_source source = CUBINET_SOURCE_INIT;
  source.name = cubinet_python::to_c(name);
  source.text = cubinet_python::to_c(text);
  source.kernels = kernel_names.data();
  source.kernel_count = kernel_names.size();
  source.globals = global_names.data();
  source.global_count = global_names.size();
  source.headers = header_texts.data();
  source.header_count = header_texts.size();
  source.flags = flag_texts.data();
  source.flag_count = flag_texts.size();
  source.folder = cubinet_python::to_c(folder);
  return resolve(self, [&](cubinet_runtime* runtime, cubinet_kernel** kernel, cubinet_error** error) {
    return cubinet_kernel_from_source(runtime, &source, kernel, error);
  });
}

PyKernel from_image(const PyRuntime& self, const std::string& name, nb::bytes image) {
  return resolve(self, [&](cubinet_runtime* runtime, cubinet_kernel** kernel, cubinet_error** error) {
    return cubinet_kernel_from_image(runtime, cubinet_python::to_c(name), image.data(), image.size(), kernel,
                                     error);
  });
}

PyKernel from_name(const PyRuntime& self, const std::string& name) {
  return resolve(self, [&](cubinet_runtime* runtime, cubinet_kernel** kernel, cubinet_error** error) {
    return cubinet_kernel_from_name(runtime, cubinet_python::to_c(name), kernel, error);
  });
}

std::string describe(const PyKernel& self) {
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) { return cubinet_kernel_describe(self.handle.get(), &json, error); });
  return take_text(json);
}

std::string explain(const PyKernel& self, const std::string& device) {
  const Handle<cubinet_runtime> runtime = self.runtime->open();
  cubinet_text* json = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_kernel_explain(self.handle.get(), cubinet_python::to_c(device), &json, error);
  });
  return take_text(json);
}

nb::bytes image(const PyKernel& self, const std::string& target, std::int32_t kind) {
  const Handle<cubinet_runtime> runtime = self.runtime->open();
  cubinet_text* bytes = nullptr;
  call([&](cubinet_error** error) {
    return cubinet_kernel_image(self.handle.get(), cubinet_python::to_c(target), kind, &bytes, error);
  });
  const std::string text = take_text(bytes);
  return nb::bytes(text.data(), text.size());
}

bool forget(const PyKernel& self, std::int32_t device) {
  const Handle<cubinet_runtime> runtime = self.runtime->open();
  std::int32_t removed = 0;
  call([&](cubinet_error** error) {
    return cubinet_kernel_forget(self.handle.get(), device, &removed, error);
  });
  return removed != 0;
}

PyFunction function(const PyKernel& self, std::int32_t device, const std::string& entry_point, bool loaded) {
  const Handle<cubinet_runtime> runtime = self.runtime->open();
  const auto get = loaded ? cubinet_function_get_loaded : cubinet_function_get;
  cubinet_function* found = nullptr;
  call([&](cubinet_error** error) {
    return get(self.handle.get(), device, cubinet_python::to_c(entry_point), &found, error);
  });
  return PyFunction(own(found, cubinet_function_release));
}

}  // namespace

void add_kernel(nb::module_& module) {
  nb::class_<PyKernel>(module, "Kernel")
      .def("describe", describe)
      .def("explain", explain, nb::arg("device"))
      .def("image", image, nb::arg("target"), nb::arg("kind"))
      .def("forget", forget, nb::arg("device"))
      .def("function", function, nb::arg("device"), nb::arg("entry_point"), nb::arg("loaded"));
  module.def("kernel_from_spec", from_spec, nb::arg("runtime"), nb::arg("template_name"),
             nb::arg("parameters"),
             nb::sig("def kernel_from_spec(runtime: Runtime, template_name: str, parameters: dict[str, "
                     "typing.Any]) -> Kernel"));
  module.def("kernel_from_source", from_source, nb::arg("runtime"), nb::arg("name"), nb::arg("text"),
             nb::arg("kernels"), nb::arg("globals"), nb::arg("headers"), nb::arg("flags"), nb::arg("folder"));
  module.def("kernel_from_image", from_image, nb::arg("runtime"), nb::arg("name"), nb::arg("image"));
  module.def("kernel_from_name", from_name, nb::arg("runtime"), nb::arg("name"));
}

}  // namespace cubinet_python
