// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include "arguments.hpp"
#include "conversions.hpp"
#include "text.hpp"

#include <memory>
#include <stdexcept>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

bool is_integer(nb::handle value) {
  return PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr());
}

[[noreturn]] void wrong_type(const std::string& name, nb::handle value) {
  const std::string type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
  throw nb::type_error(("parameter '" + name + "' is of type " + type +
                        "; pass a bool, an int, a float, a str or a list of numbers")
                           .c_str());
}

}  // namespace

SpecificationValues::SpecificationValues(std::string template_name, nb::dict parameters)
    : template_name_(std::move(template_name)) {
  for (const auto& [name, value] : parameters)
    add(argument_text("the name of a parameter", name), value);
}

void SpecificationValues::add(const std::string& name, nb::handle given) {
  const std::string subject = "parameter '" + name + "'";
  cubinet_value value = CUBINET_VALUE_INIT;
  if (PyBool_Check(given.ptr())) {
    value.type = CUBINET_VALUE_BOOL;
    value.integer = given.ptr() == Py_True ? 1 : 0;
  } else if (is_integer(given)) {
    value.type = CUBINET_VALUE_INTEGER;
    value.integer = argument_integer(subject, given);
  } else if (PyFloat_Check(given.ptr())) {
    value.type = CUBINET_VALUE_DOUBLE;
    value.number = PyFloat_AsDouble(given.ptr());
  } else if (PyUnicode_Check(given.ptr())) {
    value.type = CUBINET_VALUE_TEXT;
    value.text = to_c(texts_.emplace_back(argument_text(subject, given)));
  } else if (PyList_Check(given.ptr()) || PyTuple_Check(given.ptr())) {
    add_list(name, given, value);
  } else {
    wrong_type(name, given);
  }
  values_.emplace_back(name, value);
}

void SpecificationValues::add_list(const std::string& name, nb::handle list, cubinet_value& value) {
  const std::string subject = "parameter '" + name + "'";
  bool all_integers = true;
  for (const nb::handle element : list) {
    if (!is_integer(element) && !PyFloat_Check(element.ptr())) wrong_type(name, element);
    all_integers = all_integers && is_integer(element);
  }
  if (all_integers) {
    std::vector<std::int64_t>& integers = integers_.emplace_back();
    for (const nb::handle element : list)
      integers.push_back(argument_integer(subject, element));
    value.type = CUBINET_VALUE_INTEGERS;
    value.integers = integers.data();
    value.count = integers.size();
    return;
  }
  std::vector<double>& numbers = numbers_.emplace_back();
  for (const nb::handle element : list)
    numbers.push_back(argument_number(subject, element));
  value.type = CUBINET_VALUE_DOUBLES;
  value.numbers = numbers.data();
  value.count = numbers.size();
}

cubinet_status SpecificationValues::resolve(cubinet_runtime* runtime, cubinet_kernel** kernel,
                                            cubinet_error** error) const {
  cubinet_spec* created = nullptr;
  cubinet_status status = cubinet_spec_create(to_c(template_name_), &created, error);
  if (status != CUBINET_OK) return status;
  const std::unique_ptr<cubinet_spec, void (*)(cubinet_spec*)> spec(created, cubinet_spec_release);
  for (const auto& [name, value] : values_) {
    status = cubinet_spec_set(created, to_c(name), &value, error);
    if (status != CUBINET_OK) return status;
  }
  return cubinet_kernel_from_spec(runtime, created, kernel, error);
}

}  // namespace cubinet_python
