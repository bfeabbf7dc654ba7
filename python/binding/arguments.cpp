// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include "conversions.hpp"
#include "errors.hpp"

namespace cubinet_python {
namespace {

namespace nb = nanobind;

// Raises TypeError in place of the conversion's own, which does not name the argument.
[[noreturn]] void refuse_type(const std::string& subject, nb::handle object, const char* wanted) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
  PyErr_Clear();
  const auto type = nb::cast<std::string>(object.type().attr("__name__"));
  throw nb::type_error((subject + " is of the type " + type + ", not " + wanted).c_str());
}

}  // namespace

std::string argument_text(const std::string& subject, nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) refuse_type(subject, object, "str");
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    refuse(subject + " has a character that UTF-8 cannot express", "pass a text without it");
  }
  return {text, static_cast<std::size_t>(size)};
}

double argument_number(const std::string& subject, nb::handle object) {
  const double number = PyFloat_AsDouble(object.ptr());
  if (number != -1.0 || !PyErr_Occurred()) return number;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    refuse(subject + " is too large for a float", "pass a smaller number");
  }
  refuse_type(subject, object, "float");
}

bool argument_flag(const std::string& subject, nb::handle object) {
  // NumPy's and PyTorch's values that are true or false are no bool, and neither is a text.
  if (!PyBool_Check(object.ptr())) refuse_type(subject, object, "bool");
  return object.ptr() == Py_True;
}

std::int64_t argument_integer(const std::string& subject, nb::handle object) {
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) refuse_type(subject, object, "int");
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) refuse(subject + " is an int of more than 64 bits", "pass a smaller number");
  return number;
}

}  // namespace cubinet_python
