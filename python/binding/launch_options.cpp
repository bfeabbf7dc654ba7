// SPDX-License-Identifier: Apache-2.0
#include "launch_options.hpp"

#include "conversions.hpp"
#include "errors.hpp"

#include <array>
#include <string>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

std::uint32_t number_of(const char* keyword, PyObject* object) {
  const nb::object number = nb::steal(PyNumber_Index(object));
  if (!number.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    const auto type = nb::cast<std::string>(nb::handle(object).type().attr("__name__"));
    throw nb::type_error(
        ("launch() got '" + std::string(keyword) + "' of the type " + type + ", not int").c_str());
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || value < 0 || value > UINT32_MAX) {
    refuse(std::string("'") + keyword + "' is " + nb::cast<std::string>(nb::str(number)),
           "pass a number of 32 bits");
  }
  return static_cast<std::uint32_t>(value);
}

// Reads x, (x,), (x, y) or (x, y, z).
void read_dimensions(const char* keyword, PyObject* object, std::uint32_t (&dimensions)[3]) {
  if (object == Py_None) return;
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    dimensions[0] = number_of(keyword, object);
    dimensions[1] = dimensions[2] = 1;
    return;
  }
  const Py_ssize_t count = PySequence_Size(object);
  if (count < 0) throw nb::python_error();
  if (count < 1 || count > 3) {
    refuse(std::string("'") + keyword + "' has " + std::to_string(count) + " numbers",
           "pass one to three numbers");
  }
  for (Py_ssize_t i = 0; i < 3; ++i) {
    const nb::object element =
        i < count ? nb::steal(PySequence_GetItem(object, i)) : nb::steal(PyLong_FromLong(1));
    // A list may become shorter while its elements are converted.
    if (!element.is_valid()) throw nb::python_error();
    dimensions[i] = number_of(keyword, element.ptr());
  }
}

void set_flag(LaunchOptions& options, PyObject* value, std::uint32_t flag) {
  const int is_true = PyObject_IsTrue(value);
  if (is_true < 0) throw nb::python_error();
  if (is_true == 1) options.config.flags |= flag;
}

struct Keyword {
  const char* name;
  void (*read)(LaunchOptions& options, PyObject* value);
};

constexpr Keyword kKeywords[] = {
    {"grid",
     [](LaunchOptions& options, PyObject* value) {
       if (value == Py_None) refuse("'grid' is None", "pass one to three numbers");
       read_dimensions("grid", value, options.config.grid);
     }},
    {"block",
     [](LaunchOptions& options, PyObject* value) { read_dimensions("block", value, options.config.block); }},
    {"stream", [](LaunchOptions& options, PyObject* value) { options.stream = value; }},
    {"dynamic_shared_bytes",
     [](LaunchOptions& options, PyObject* value) {
       if (value != Py_None) options.config.dynamic_shared_bytes = number_of("dynamic_shared_bytes", value);
     }},
    {"cluster", [](LaunchOptions& options,
                   PyObject* value) { read_dimensions("cluster", value, options.config.cluster); }},
    {"programmatic",
     [](LaunchOptions& options, PyObject* value) { set_flag(options, value, CUBINET_LAUNCH_PROGRAMMATIC); }},
    {"cooperative",
     [](LaunchOptions& options, PyObject* value) { set_flag(options, value, CUBINET_LAUNCH_COOPERATIVE); }},
    {"spreads_clusters", [](LaunchOptions& options,
                            PyObject* value) { set_flag(options, value, CUBINET_LAUNCH_SPREADS_CLUSTERS); }},
};

// Returns the keyword of this name, or null. Names in a program's source are interned, so the
// address decides almost always.
const Keyword* find_keyword(PyObject* name) {
  static const auto interned = [] {
    std::array<PyObject*, std::size(kKeywords)> objects;
    for (std::size_t i = 0; i < objects.size(); ++i)
      objects[i] = PyUnicode_InternFromString(kKeywords[i].name);
    return objects;
  }();
  for (std::size_t i = 0; i < interned.size(); ++i)
    if (interned[i] == name) return &kKeywords[i];
  for (const Keyword& keyword : kKeywords)
    if (PyUnicode_CompareWithASCIIString(name, keyword.name) == 0) return &keyword;
  return nullptr;
}

}  // namespace

LaunchOptions::LaunchOptions(PyObject* names, PyObject* const* values) {
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_Size(names);
  bool has_grid = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    const Keyword* const keyword = find_keyword(name);
    if (keyword == nullptr) {
      PyErr_Format(PyExc_TypeError, "launch() got an unexpected keyword argument '%U'", name);
      throw nb::python_error();
    }
    has_grid = has_grid || keyword == &kKeywords[0];
    keyword->read(*this, values[i]);
  }
  if (!has_grid) throw nb::type_error("launch() needs the keyword argument 'grid'");
}

}  // namespace cubinet_python
