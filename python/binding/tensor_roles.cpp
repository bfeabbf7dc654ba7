// SPDX-License-Identifier: Apache-2.0
#include "tensor_roles.hpp"

#include "conversions.hpp"
#include "errors.hpp"

#include <string>

namespace cubinet_python {
namespace {

namespace nb = nanobind;
using cubinet::dlpack::TensorRole;

struct SpecialKeywords {
  PyObject* stream = PyUnicode_InternFromString("stream");
  PyObject* workspace = PyUnicode_InternFromString("workspace");
  PyObject* tokens = PyUnicode_InternFromString("tokens");
};

const SpecialKeywords& special_keywords() {
  static const SpecialKeywords keywords;
  return keywords;
}

bool is_name(PyObject* name, PyObject* interned) {
  return name == interned || PyUnicode_Compare(name, interned) == 0;
}

}  // namespace

TensorRoles::TensorRoles(std::string subject, std::int32_t device, std::vector<TensorRole> roles)
    : subject_(std::move(subject)), device_(device) {
  for (TensorRole& role : roles)
    roles_.push_back({PyUnicode_InternFromString(role.name), std::move(role)});
}

const TensorRoles::Interned* TensorRoles::find(PyObject* name) const {
  for (const Interned& each : roles_)
    if (each.name == name) return &each;
  for (const Interned& each : roles_)
    if (PyUnicode_Compare(name, each.name) == 0) return &each;
  return nullptr;
}

void TensorRoles::refuse_tensor(const TensorRole& role, const std::string& reason,
                                const std::string& remedy) const {
  refuse(subject_ + ": '" + role.name + "' " + reason, remedy);
}

void TensorRoles::read(const TensorRole& role, PyObject* object, Tensor& tensor) const {
  std::string reason = "is no tensor";
  try {
    if (read_tensor(object, tensor)) return;
  } catch (const WrongTensor& wrong) {
    reason = wrong.reason;
  }
  refuse_tensor(role, reason, "pass a tensor on device " + std::to_string(device_));
}

TensorRoles::Call TensorRoles::read(PyObject* names, PyObject* const* values, void* structure) const {
  Call call;
  std::uint64_t given = 0;
  const SpecialKeywords& special = special_keywords();
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    const Interned* const found = find(name);
    if (found == nullptr) {
      if (is_name(name, special.stream)) {
        call.stream = values[i];
      } else if (is_name(name, special.workspace)) {
        call.workspace = values[i];
      } else if (is_name(name, special.tokens)) {
        call.tokens = values[i];
      } else {
        PyErr_Format(PyExc_TypeError, "run() got an unexpected keyword argument '%U'", name);
        throw nb::python_error();
      }
      continue;
    }
    if (values[i] == Py_None) continue;
    const TensorRole& role = found->role;
    Tensor tensor;
    read(role, values[i], tensor);
    auto& target =
        *static_cast<cubinet_tensor*>(static_cast<void*>(static_cast<char*>(structure) + role.offset));
    if (const auto refusal = describe(role, device_, tensor, target))
      refuse_tensor(role, refusal->reason, refusal->remedy);
    if (call.exchange == nullptr) call.exchange = tensor.exchange;
    if (found == &roles_.front() && tensor.dimensions > 0) call.first_extent = tensor.shape[0];
    given |= std::uint64_t{1} << (found - roles_.data());
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const TensorRole& role = roles_[i].role;
    if (role.is_required && role.is_used && (given >> i & 1) == 0)
      refuse_tensor(role, "is missing", "pass a tensor of the shape " + shape_text(role));
  }
  return call;
}

}  // namespace cubinet_python
