// SPDX-License-Identifier: Apache-2.0
// The binding's conversion of launch arguments alone: eight pointers and eight numbers.
#include "launch_arguments.hpp"

#include <nanobind/nanobind.h>

namespace {

namespace nb = nanobind;
using namespace cubinet_python;

const KernelParameters& parameters() {
  static const KernelParameters mixed = [] {
    KernelParameters made;
    made.name = "mixed";
    made.states_sizes = true;
    for (int i = 0; i < 16; ++i) {
      made.sizes.push_back(i < 8 ? 8 : 4);
      made.types.push_back({i < 8 ? ArgumentKind::pointer : ArgumentKind::signed_integer, ""});
    }
    return made;
  }();
  return mixed;
}

PyObject* convert(PyObject*, PyObject* const* arguments, Py_ssize_t count) noexcept {
  try {
    const LaunchArguments converted(parameters(), arguments, static_cast<std::size_t>(count));
    return PyLong_FromSize_t(converted.count());
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

PyMethodDef method = {"convert", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&convert)),
                      METH_FASTCALL, nullptr};

}  // namespace

NB_MODULE(bench_conversion, module) {
  PyObject* const function = PyCFunction_NewEx(&method, nullptr, nullptr);
  module.attr("convert") = nb::steal(function);
}
