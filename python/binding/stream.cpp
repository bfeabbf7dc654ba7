// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include "conversions.hpp"
#include "errors.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

void* stream_of_number(nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const unsigned long long stream = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse("'stream' is " + nb::cast<std::string>(nb::str(index)), "pass a CUstream of 64 bits");
  }
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream));
}

// Returns the attribute, or an invalid object if there is none. Raises what a property raises.
nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object.ptr(), name);
  if (found == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return nb::steal(found);
}

// The stream of PyTorch that was stated last, and its handle, which never changes. Reading the
// handle is a call of Python. Used with the GIL held. The object is kept, so that its address is
// never another's.
struct KnownStream {
  PyObject* object = nullptr;
  void* handle = nullptr;
};
KnownStream known_stream;

void* keep(nb::handle stream, void* handle) {
  Py_INCREF(stream.ptr());
  // Releasing the earlier stream may run Python code, which may launch.
  PyObject* const earlier = std::exchange(known_stream, {stream.ptr(), handle}).object;
  Py_XDECREF(earlier);
  return handle;
}

void* stated_stream(nb::handle stream) {
  if (stream.ptr() == known_stream.object) return known_stream.handle;
  if (PyLong_Check(stream.ptr())) return stream_of_number(stream);
  static PyObject* const numbers[] = {PyUnicode_InternFromString("cuda_stream"),
                                      PyUnicode_InternFromString("ptr")};
  if (const nb::object number = attribute(stream, numbers[0]); number.is_valid())
    return keep(stream, stream_of_number(number));
  if (const nb::object number = attribute(stream, numbers[1]); number.is_valid())
    return stream_of_number(number);
  static PyObject* const protocol_name = PyUnicode_InternFromString("__cuda_stream__");
  if (const nb::object protocol = attribute(stream, protocol_name); protocol.is_valid())
    return stream_of_number(nb::object(protocol())[1]);
  refuse("'stream' is no stream", "pass a stream of PyTorch, CuPy or cuda.core, or the CUstream as an int");
}

}  // namespace

void* stream_of(PyObject* stated, const DLPackExchangeAPI* exchange, bool has_tensor, int device) {
  if (stated != nullptr && stated != Py_None) return stated_stream(stated);
  if (exchange != nullptr && exchange->current_stream != nullptr) {
    void* stream = nullptr;
    if (exchange->current_stream(kDLCUDA, device, &stream) != 0) {
      if (PyErr_Occurred()) throw nb::python_error();
      throw nb::type_error("the tensors' library has no current stream of the device");
    }
    return stream;
  }
  if (has_tensor) {
    refuse("the tensors do not state the current stream of their library", "pass it as 'stream'");
  }
  return nullptr;
}

}  // namespace cubinet_python
