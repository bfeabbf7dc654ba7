// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include "errors.hpp"

namespace cubinet_python {
namespace {

namespace nb = nanobind;

void* stream_of_number(nb::handle number) {
  void* const stream = PyLong_AsVoidPtr(number.ptr());
  if (stream == nullptr && PyErr_Occurred()) throw nb::python_error();
  return stream;
}

void* stated_stream(nb::handle stream) {
  if (PyLong_Check(stream.ptr())) return stream_of_number(stream);
  for (const char* name : {"cuda_stream", "ptr"})
    if (nb::hasattr(stream, name)) return stream_of_number(stream.attr(name));
  if (nb::hasattr(stream, "__cuda_stream__")) {
    const nb::object protocol = stream.attr("__cuda_stream__")();
    return stream_of_number(protocol[1]);
  }
  refuse("'stream' is no stream", "pass a stream of PyTorch, CuPy or cuda.core, or the CUstream as an int");
}

}  // namespace

void* stream_of(PyObject* stated, const DLPackExchangeAPI* exchange, bool has_tensor, int device) {
  if (stated != nullptr && stated != Py_None) return stated_stream(stated);
  if (exchange != nullptr && exchange->current_stream != nullptr) {
    void* stream = nullptr;
    if (exchange->current_stream(kDLCUDA, device, &stream) != 0) throw nb::python_error();
    return stream;
  }
  if (has_tensor) {
    refuse("the tensors do not state the current stream of their library", "pass it as 'stream'");
  }
  return nullptr;
}

}  // namespace cubinet_python
