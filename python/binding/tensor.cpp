// SPDX-License-Identifier: Apache-2.0
#include "tensor.hpp"

#include "conversions.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

constexpr std::uint32_t kExchangeMajor = 1;

nb::object attribute(PyObject* object, const char* name) {
  PyObject* const found = PyObject_GetAttrString(object, name);
  if (found == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
  }
  return nb::steal(found);
}

// Returns the exchange table of a type, or null if it has none that can be read.
const DLPackExchangeAPI* read_exchange(PyTypeObject* type) {
  const nb::object capsule = attribute(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* table =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->version.major > kExchangeMajor)
    table = table->previous;
  if (table == nullptr || table->version.major != kExchangeMajor || table->borrow_tensor == nullptr)
    return nullptr;
  return table;
}

// The exchange tables of the types that were seen last. A program has one or two types of tensors.
// Used with the GIL held. The types are kept, so that an address is never another type's.
struct KnownType {
  PyTypeObject* type = nullptr;
  const DLPackExchangeAPI* exchange = nullptr;
};
std::array<KnownType, 8> known_types;
std::size_t next_known_type = 0;

const DLPackExchangeAPI* exchange_of(PyTypeObject* type) {
  for (const KnownType& known : known_types)
    if (known.type == type) return known.exchange;
  const DLPackExchangeAPI* const exchange = read_exchange(type);
  KnownType& place = known_types[next_known_type++ % known_types.size()];
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  // Releasing the earlier type may run Python code, which may launch.
  PyTypeObject* const earlier = std::exchange(place, {type, exchange}).type;
  Py_XDECREF(reinterpret_cast<PyObject*>(earlier));
  return exchange;
}

void assign(Tensor& tensor, const DLTensor& borrowed) {
  static_cast<cubinet::dlpack::TensorView&>(tensor) = cubinet::dlpack::TensorView(borrowed);
}

// Copies numbers of Python, such as a shape. Strides may be in bytes: they are divided by `unit`.
int copy_numbers(nb::handle numbers, std::array<std::int64_t, Tensor::kMaximumDimensions>& copy,
                 std::int64_t unit = 1) {
  std::size_t count = 0;
  for (const nb::handle number : numbers) {
    if (count == copy.size()) throw WrongTensor{"has more than 8 dimensions"};
    const auto value = nb::cast<std::int64_t>(number);
    if (value % unit != 0) throw WrongTensor{"has a stride that is no multiple of its element size"};
    copy[count++] = value / unit;
  }
  return static_cast<int>(count);
}

// The types by PyTorch's names and by those of __cuda_array_interface__.
std::optional<DLDataType> type_by_name(std::string_view name) {
  struct Named {
    std::string_view name;
    DLDataType type;
  };
  static constexpr Named kTypes[] = {
      {"torch.float16", {kDLFloat, 16, 1}},
      {"torch.bfloat16", {kDLBfloat, 16, 1}},
      {"torch.float32", {kDLFloat, 32, 1}},
      {"torch.float64", {kDLFloat, 64, 1}},
      {"torch.int32", {kDLInt, 32, 1}},
      {"torch.uint32", {kDLUInt, 32, 1}},
      {"torch.int64", {kDLInt, 64, 1}},
      {"torch.uint8", {kDLUInt, 8, 1}},
      {"torch.int8", {kDLInt, 8, 1}},
      {"torch.float8_e4m3fn", {kDLFloat8_e4m3fn, 8, 1}},
      {"<f2", {kDLFloat, 16, 1}},
      {"<f4", {kDLFloat, 32, 1}},
      {"<f8", {kDLFloat, 64, 1}},
      {"<i4", {kDLInt, 32, 1}},
      {"<u4", {kDLUInt, 32, 1}},
      {"<i8", {kDLInt, 64, 1}},
      {"|u1", {kDLUInt, 8, 1}},
      {"|i1", {kDLInt, 8, 1}},
  };
  for (const Named& known : kTypes)
    if (known.name == name) return known.type;
  return std::nullopt;
}

// The path of PyTorch before 2.10 and of libraries with its methods.
bool read_data_pointer(PyObject* object, Tensor& tensor) {
  const nb::object data_ptr = attribute(object, "data_ptr");
  const nb::object device = attribute(object, "device");
  if (!data_ptr.is_valid() || !device.is_valid()) return false;
  const nb::object kind = attribute(device.ptr(), "type");
  const nb::object index = attribute(device.ptr(), "index");
  if (!kind.is_valid() || !index.is_valid()) return false;
  const bool on_cuda = nb::cast<std::string>(nb::str(kind)) == "cuda";
  const nb::object of = nb::borrow(object);
  tensor.address = nb::cast<std::uint64_t>(data_ptr());
  tensor.device = {on_cuda ? kDLCUDA : kDLCPU, index.is_none() ? 0 : nb::cast<std::int32_t>(index)};
  // torch.dtype is no text, but its str() is its name.
  const nb::object type = of.attr("dtype");
  const nb::object type_text = nb::steal(PyObject_Str(type.ptr()));
  if (!type_text.is_valid()) throw nb::python_error();
  tensor.type = type_by_name(nb::cast<std::string>(type_text)).value_or(DLDataType{});
  tensor.dimensions = copy_numbers(of.attr("shape"), tensor.own_shape);
  copy_numbers(of.attr("stride")(), tensor.own_strides);
  tensor.shape = tensor.own_shape.data();
  tensor.strides = tensor.own_strides.data();
  return true;
}

bool read_cuda_array(PyObject* object, Tensor& tensor) {
  const nb::object found = attribute(object, "__cuda_array_interface__");
  if (!found.is_valid()) return false;
  const auto facts = nb::cast<nb::dict>(found);
  const auto name = nb::cast<std::string>(facts["typestr"]);
  tensor.address = nb::cast<std::uint64_t>(facts["data"][0]);
  tensor.type = type_by_name(name).value_or(DLDataType{});
  tensor.dimensions = copy_numbers(facts["shape"], tensor.own_shape);
  tensor.shape = tensor.own_shape.data();
  if (facts.contains("strides") && !facts["strides"].is_none()) {
    std::int64_t element = 0;
    const char* const digits = name.data() + std::min<std::size_t>(name.size(), 2);
    std::from_chars(digits, name.data() + name.size(), element);
    if (element < 1) throw WrongTensor{"has the typestr '" + name + "', which states no element size"};
    copy_numbers(facts["strides"], tensor.own_strides, element);
    tensor.strides = tensor.own_strides.data();
  }
  return true;
}

bool read_dlpack(PyObject* object, Tensor& tensor) {
  const nb::object of_device = attribute(object, "__dlpack_device__");
  const nb::object make = attribute(object, "__dlpack__");
  if (!of_device.is_valid() || !make.is_valid()) return false;
  const auto [type, id] = nb::cast<std::pair<std::int32_t, std::int32_t>>(of_device());
  tensor.device = {static_cast<DLDeviceType>(type), id};
  // A tensor elsewhere is refused by its device, so its data is not asked for.
  if (type != kDLCUDA && type != kDLCUDAManaged) return true;
  // Stream -1: the producer does not synchronise. The capsule is not consumed: its destructor ends
  // the export, and the object keeps the data.
  const nb::object capsule = make(nb::arg("stream") = -1);
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    throw WrongTensor{"has a __dlpack__() that returns no capsule of DLPack"};
  const auto* managed = static_cast<const DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  assign(tensor, managed->tensor);
  if (tensor.dimensions > Tensor::kMaximumDimensions) throw WrongTensor{"has more than 8 dimensions"};
  for (int i = 0; i < tensor.dimensions; ++i) {
    tensor.own_shape[static_cast<std::size_t>(i)] = managed->tensor.shape[i];
    if (managed->tensor.strides != nullptr)
      tensor.own_strides[static_cast<std::size_t>(i)] = managed->tensor.strides[i];
  }
  tensor.shape = tensor.own_shape.data();
  tensor.strides = managed->tensor.strides == nullptr ? nullptr : tensor.own_strides.data();
  return true;
}

}  // namespace

bool read_tensor(PyObject* object, Tensor& tensor) {
  if (const DLPackExchangeAPI* exchange = exchange_of(Py_TYPE(object))) {
    DLTensor borrowed;
    if (exchange->borrow_tensor(object, &borrowed) != 0) {
      if (PyErr_Occurred()) throw nb::python_error();
      throw nb::type_error("a tensor's library refuses it without a reason");
    }
    assign(tensor, borrowed);
    tensor.exchange = exchange;
    return true;
  }
  try {
    return read_data_pointer(object, tensor) || read_cuda_array(object, tensor) ||
           read_dlpack(object, tensor);
  } catch (const std::bad_cast&) {
    throw WrongTensor{"describes its tensor with values of wrong types"};
  }
}

}  // namespace cubinet_python
