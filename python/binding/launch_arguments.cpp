// SPDX-License-Identifier: Apache-2.0
#include "launch_arguments.hpp"

#include "conversions.hpp"
#include "errors.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

constexpr std::uint32_t kPointerBytes = 8;

std::string type_name(PyObject* object) {
  return nb::cast<std::string>(nb::handle(object).type().attr("__name__"));
}

bool has_index(PyObject* object) {
  return PyLong_Check(object) || PyIndex_Check(object);
}

}  // namespace

LaunchArguments::LaunchArguments(const KernelParameters& parameters, PyObject* const* objects,
                                 std::size_t count)
    : parameters_(parameters), count_(count) {
  if (parameters.states_sizes && count != parameters.sizes.size()) {
    refuse("kernel '" + parameters.name + "' takes " + std::to_string(parameters.sizes.size()) +
               " arguments; given were " + std::to_string(count),
           "pass one value for each parameter of the kernel");
  }
  if (count > kInline) {
    more_values_.resize(count);
    more_pointers_.resize(count);
    more_sizes_.resize(count);
    values_ = more_values_.data();
    pointers_ = more_pointers_.data();
    sizes_ = more_sizes_.data();
  }
  for (std::size_t i = 0; i < count; ++i)
    convert(i, objects[i]);
}

std::uint32_t LaunchArguments::size_of(std::size_t index, std::uint32_t usual) const {
  return parameters_.states_sizes ? parameters_.sizes[index] : usual;
}

ArgumentKind LaunchArguments::kind_of(std::size_t index) const {
  return parameters_.states_sizes ? parameters_.types[index].kind : ArgumentKind::unknown;
}

void LaunchArguments::refuse_argument(std::size_t index, std::string_view reason,
                                      std::string_view remedy) const {
  std::string message = "argument " + std::to_string(index) + " of kernel '" + parameters_.name + "'";
  if (parameters_.states_sizes) {
    const std::string& type = parameters_.types[index].name;
    message += " (" + (type.empty() ? std::string() : type + ", ") +
               std::to_string(parameters_.sizes[index]) + " bytes)";
  }
  refuse(message + ' ' + std::string(reason), remedy);
}

void LaunchArguments::set(std::size_t index, std::uint64_t integer) {
  // Little-endian: the low bytes of the value are the bytes of a smaller type.
  values_[index].integer = integer;
  pointers_[index] = &values_[index];
}

void LaunchArguments::convert(std::size_t index, PyObject* object) {
  if (Py_TYPE(object) == &PyLong_Type && kind_of(index) != ArgumentKind::floating)
    return convert_integer(index, object);
  if (PyFloat_Check(object)) return convert_number(index, object);
  if (PyLong_Check(object)) {
    if (kind_of(index) == ArgumentKind::floating) return convert_number(index, object);
    return convert_integer(index, object);
  }
  if (object == Py_None) {
    const ArgumentKind kind = kind_of(index);
    sizes_[index] = size_of(index, kPointerBytes);
    const bool may_be_pointer = kind == ArgumentKind::pointer || kind == ArgumentKind::unknown;
    if (sizes_[index] != kPointerBytes || !may_be_pointer)
      refuse_argument(index, "is None", "pass None for a pointer only");
    return set(index, 0);
  }
  if (PyBytes_Check(object)) return convert_bytes(index, object);
  convert_tensor(index, object);
}

bool LaunchArguments::is_tensor(std::size_t index, PyObject* object, Tensor& tensor) const {
  try {
    return read_tensor(object, tensor);
  } catch (const WrongTensor& wrong) {
    refuse_argument(index, wrong.reason, "pass a tensor on device " + std::to_string(parameters_.device));
  }
}

void LaunchArguments::convert_tensor(std::size_t index, PyObject* object) {
  Tensor tensor;
  const std::uint32_t size = size_of(index, kPointerBytes);
  const ArgumentKind kind = kind_of(index);
  if (size == kPointerBytes && (kind == ArgumentKind::pointer || kind == ArgumentKind::unknown) &&
      is_tensor(index, object, tensor)) {
    if (!is_on_device(tensor, parameters_.device)) {
      refuse_argument(index, "is a tensor " + place_of(tensor),
                      "pass a tensor on device " + std::to_string(parameters_.device));
    }
    has_tensor_ = true;
    if (exchange_ == nullptr) exchange_ = tensor.exchange;
    sizes_[index] = kPointerBytes;
    return set(index, tensor.address);
  }
  // Numbers and structures of other libraries, such as NumPy's scalars and ctypes.
  if (kind == ArgumentKind::floating) return convert_number(index, object);
  if (has_index(object) && kind != ArgumentKind::other) return convert_integer(index, object);
  convert_bytes(index, object);
}

void LaunchArguments::convert_bytes(std::size_t index, PyObject* object) {
  PyObject* bytes = object;
  if (!PyBytes_Check(object)) {
    // PyBytes_FromObject takes iterables too, whose elements are not the value's bytes.
    const nb::object view = nb::steal(PyMemoryView_FromObject(object));
    if (!view.is_valid()) {
      PyErr_Clear();
      refuse_argument(index, "has the type " + type_name(object),
                      "pass a tensor, a number, None, or the bytes of a structure");
    }
    bytes = buffers_.emplace_back(view.attr("tobytes")()).ptr();
  }
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) throw nb::python_error();
  if (parameters_.states_sizes && static_cast<std::uint64_t>(size) != parameters_.sizes[index]) {
    refuse_argument(index, "was given " + std::to_string(size) + " bytes",
                    "pass exactly the bytes of the parameter's type");
  }
  sizes_[index] = static_cast<std::uint32_t>(size);
  pointers_[index] = data;
}

void LaunchArguments::convert_integer(std::size_t index, PyObject* object) {
  const ArgumentKind kind = kind_of(index);
  const std::uint32_t size = size_of(index, kPointerBytes);
  if (size > 8 || (size & (size - 1)) != 0 || size == 0 || kind == ArgumentKind::other)
    refuse_argument(index, "is an int", "pass the bytes of the parameter's type");
  nb::object converted;
  if (!PyLong_Check(object)) {
    converted = nb::steal(PyNumber_Index(object));
    if (!converted.is_valid()) throw nb::python_error();
    object = converted.ptr();
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred()) throw nb::python_error();
  std::uint64_t bits = static_cast<std::uint64_t>(value);
  bool fits = overflow == 0;
  if (overflow > 0 && size == 8 && kind != ArgumentKind::signed_integer) {
    bits = PyLong_AsUnsignedLongLong(object);
    fits = PyErr_Occurred() == nullptr;
    PyErr_Clear();
  } else if (fits && kind == ArgumentKind::boolean) {
    fits = value == 0 || value == 1;
  } else if (fits) {
    const bool may_be_signed = kind == ArgumentKind::signed_integer || kind == ArgumentKind::unknown;
    const bool may_be_unsigned = kind != ArgumentKind::signed_integer;
    const long long limit = size == 8 ? 0 : 1LL << (size * 8 - 1);
    if (size == 8) {
      fits = value >= 0 || may_be_signed;
    } else {
      fits = value >= (may_be_signed ? -limit : 0) && value < (may_be_unsigned ? 2 * limit : limit);
    }
  }
  if (!fits) refuse_argument(index, "is an int outside of the type's range", "pass a value of the type");
  sizes_[index] = size;
  set(index, bits);
}

void LaunchArguments::convert_number(std::size_t index, PyObject* object) {
  const ArgumentKind kind = kind_of(index);
  const std::uint32_t size = size_of(index, 0);
  if (kind != ArgumentKind::floating && kind != ArgumentKind::unknown)
    refuse_argument(index, "is a " + type_name(object), "pass a value of the parameter's type");
  if (size != 4 && size != 8) {
    refuse_argument(
        index, "is a float",
        "pass the bytes of the value, as struct.pack makes them, for another type than float and double");
  }
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred()) {
    const bool is_unsuitable =
        PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_OverflowError);
    if (!is_unsuitable) throw nb::python_error();
    PyErr_Clear();
    refuse_argument(index, "has the type " + type_name(object), "pass a number");
  }
  sizes_[index] = size;
  pointers_[index] = &values_[index];
  if (size == 8) {
    values_[index].double_number = number;
    return;
  }
  if (std::isfinite(number) && std::fabs(number) > std::numeric_limits<float>::max())
    refuse_argument(index, "is outside of the range of float", "pass a smaller number or infinity");
  values_[index].single_number = static_cast<float>(number);
}

}  // namespace cubinet_python
