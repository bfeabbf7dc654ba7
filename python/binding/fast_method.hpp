// SPDX-License-Identifier: Apache-2.0
// Methods that are C functions with Python's fast calling convention. nanobind's own dispatch would
// copy keywords into a dict, which takes longer than the rest of a launch.
#pragma once

#include "conversions.hpp"

#include <new>
#include <stdexcept>
#include <typeinfo>

namespace cubinet_python {

// Turns the exception that is being handled into a Python error.
inline void restore_error() noexcept {
  try {
    throw;
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const nanobind::builtin_exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::logic_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

// Returns the C++ object of an instance. An instance that __new__() made alone has none.
template <class Self>
const Self& self_of(PyObject* object) {
  if (!nanobind::inst_ready(object)) throw nanobind::type_error("the object was not made by the library");
  return *nanobind::inst_ptr<Self>(nanobind::handle(object));
}

// A method without positional arguments: Call(self, names, values).
template <class Self, void (*Call)(const Self&, PyObject*, PyObject* const*)>
PyObject* call_with_keywords(PyObject* object, PyObject* const* values, Py_ssize_t count,
                             PyObject* names) noexcept {
  try {
    if (count != 0) throw nanobind::type_error("the method takes keyword arguments only");
    Call(self_of<Self>(object), names, values);
    Py_RETURN_NONE;
  } catch (...) {
    restore_error();
  }
  return nullptr;
}

template <class Self, void (*Call)(const Self&, PyObject*, PyObject* const*)>
PyMethodDef fast_method(const char* name, const char* documentation) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_with_keywords<Self, Call>)),
          METH_FASTCALL | METH_KEYWORDS, documentation};
}

// Adds a method to a class. `method` must live as long as the class.
inline void add_method(nanobind::handle type, PyMethodDef& method) {
  const nanobind::object descriptor =
      nanobind::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &method));
  if (!descriptor.is_valid()) throw nanobind::python_error();
  nanobind::setattr(type, method.ml_name, descriptor);
}

}  // namespace cubinet_python
