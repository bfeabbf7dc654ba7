// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "handle.hpp"

#include <string>

namespace cubinet_python {

// Adds what every class over one handle of the C library has: close(), `closed`, the context
// manager, repr() and the refusal to pickle. `Type` has the member `handle`.
template <class Type>
void add_handle_methods(nb::class_<Type>& type, const char* name) {
  const std::string text = name;
  const std::string enter = "def __enter__(self) -> " + text;
  type.def(
          "close", [](Type& self) { self.handle.reset(); },
          "Releases the object. Waits for the device if need be.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig(enter.c_str()))
      .def(
          "__exit__", [](Type& self, nb::args) { self.handle.reset(); },
          nb::sig("def __exit__(self, *error: object) -> None"))
      .def("__repr__",
           [text](const Type& self) { return "<" + text + (self.handle ? " open>" : " closed>"); })
      .def(
          "__reduce_ex__",
          [text](const Type&, nb::handle) {
            throw nb::type_error(
                (text + " objects hold memory or kernels of a device and cannot be pickled").c_str());
          },
          nb::sig("def __reduce_ex__(self, protocol: typing.SupportsIndex, /) -> typing.NoReturn"))
      .def_prop_ro("closed", [](const Type& self) { return !self.handle; });
}

}  // namespace cubinet_python
