// SPDX-License-Identifier: Apache-2.0
#include "tensor_roles.hpp"

#include "element_types.hpp"
#include "errors.hpp"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <string>

namespace cubinet_python {
namespace {

namespace nb = nanobind;

std::string shape_text(const Tensor& tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.dimensions; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
  return text + "]";
}

std::string shape_text(const TensorRole& role) {
  std::string text = "[";
  for (const TensorRole::Dimension& dimension : role.dimensions) {
    if (text.size() > 1) text += ", ";
    text += dimension.name;
    if (dimension.extent != TensorRole::kAny) {
      text += "=" + std::to_string(dimension.extent);
    } else if (dimension.smallest > 0) {
      text += ">=" + std::to_string(dimension.smallest);
    }
  }
  return text + "]";
}

// The dimensions of a tensor as those of its role. A dimension that the caller left out has the
// stride 0.
struct Aligned {
  std::array<std::int64_t, 4> extents;
  std::array<std::int64_t, 4> strides;
  int count;
};

// Returns false if the numbers of dimensions do not match.
bool align(const TensorRole& role, const Tensor& tensor, Aligned& aligned) {
  const int count = static_cast<int>(role.dimensions.size());
  const bool leaves_out = tensor.dimensions == count - 1 && role.optional_dimension >= 0;
  if (tensor.dimensions != count && !leaves_out) return false;
  aligned.count = count;
  std::int64_t dense = 1;
  int from = tensor.dimensions;
  for (int i = count; i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    if (leaves_out && i == role.optional_dimension) {
      aligned.extents[at] = 1;
      aligned.strides[at] = 0;
      continue;
    }
    --from;
    aligned.extents[at] = tensor.shape[from];
    aligned.strides[at] = tensor.strides == nullptr ? dense : tensor.strides[from];
    dense *= tensor.shape[from];
  }
  return true;
}

bool matches(const TensorRole& role, const Aligned& aligned) {
  for (int i = 0; i < aligned.count; ++i) {
    const TensorRole::Dimension& wanted = role.dimensions[static_cast<std::size_t>(i)];
    const std::int64_t extent = aligned.extents[static_cast<std::size_t>(i)];
    if (wanted.extent == TensorRole::kAny ? extent < wanted.smallest : extent != wanted.extent) return false;
  }
  return true;
}

bool is_dense(const Aligned& aligned) {
  std::int64_t expected = 1;
  for (int i = aligned.count; i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    if (aligned.extents[at] == 1) continue;
    if (aligned.strides[at] != expected) return false;
    expected *= aligned.extents[at];
  }
  return true;
}

// Returns the elements from the tensor's first to its last, or 0 for an empty tensor.
std::uint64_t span_of(const Aligned& aligned) {
  std::uint64_t span = 1;
  for (int i = 0; i < aligned.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (aligned.extents[at] == 0) return 0;
    span +=
        static_cast<std::uint64_t>(aligned.extents[at] - 1) * static_cast<std::uint64_t>(aligned.strides[at]);
  }
  return span;
}

std::uint64_t elements_of(const Tensor& tensor) {
  std::uint64_t elements = 1;
  for (int i = 0; i < tensor.dimensions; ++i)
    elements *= static_cast<std::uint64_t>(tensor.shape[i]);
  return elements;
}

// Returns whether the tensor's elements are contiguous, whatever its dimensions.
bool is_dense(const Tensor& tensor) {
  std::int64_t expected = 1;
  for (int i = tensor.dimensions; tensor.strides != nullptr && i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

bool has_negative_stride(const Aligned& aligned) {
  return std::any_of(aligned.strides.begin(), aligned.strides.begin() + aligned.count,
                     [](std::int64_t stride) { return stride < 0; });
}

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

void TensorRoles::refuse_shape(const TensorRole& role, const Tensor& tensor) const {
  refuse_tensor(role, "has the shape " + shape_text(tensor) + "; expected " + shape_text(role),
                "pass a tensor of this shape");
}

void TensorRoles::check_device(const TensorRole& role, const Tensor& tensor) const {
  const bool is_managed = tensor.device.type == kDLCUDAManaged;
  const bool is_here = tensor.device.type == kDLCUDA &&
                       (tensor.device.id == device_ || tensor.device.id == Tensor::kUnknownDevice);
  if (is_managed || is_here) return;
  const std::string found = tensor.device.type == kDLCUDA ? "is on device " + std::to_string(tensor.device.id)
                                                          : std::string("is in host memory");
  refuse_tensor(role, found, "pass a tensor on device " + std::to_string(device_));
}

void TensorRoles::check_type(const TensorRole& role, const Tensor& tensor) const {
  if (role.type == 0 || matches_type(tensor.type, role.type)) return;
  refuse_tensor(role, "has elements of type " + name_of(tensor.type),
                "pass a tensor of " + name_of_type(role.type));
}

void TensorRoles::write(const TensorRole& role, const Tensor& tensor, cubinet_tensor& target) const {
  check_device(role, tensor);
  check_type(role, tensor);
  const std::uint64_t element = tensor.type.bits / 8U * tensor.type.lanes;
  target.address = tensor.address;
  target.type = role.type;
  if (role.kind == RoleKind::scalar || role.kind == RoleKind::bytes) {
    if (role.kind == RoleKind::scalar && elements_of(tensor) != 1)
      refuse_tensor(role, "has the shape " + shape_text(tensor) + "; expected one element",
                    "pass one element");
    if (!is_dense(tensor)) refuse_tensor(role, "is not contiguous", "pass a contiguous tensor");
    target.bytes = elements_of(tensor) * element;
    return;
  }
  Aligned aligned;
  if (!align(role, tensor, aligned) || !matches(role, aligned)) refuse_shape(role, tensor);
  const auto last = static_cast<std::size_t>(aligned.count - 1);
  if (has_negative_stride(aligned) || (aligned.extents[last] > 1 && aligned.strides[last] != 1))
    refuse_tensor(role, "has elements that are not contiguous in its last dimension",
                  "pass it contiguous there");
  target.bytes = span_of(aligned) * element;
  if (role.kind == RoleKind::table) {
    const bool has_one_row = aligned.extents[0] == 1;
    if (!has_one_row && aligned.strides[0] < aligned.extents[1])
      refuse_tensor(role, "has rows that overlap", "pass a row of its own for each sequence");
    // A table may be wider than the library's default stride, also if it is contiguous.
    target.strides[0] = has_one_row ? aligned.extents[1] : aligned.strides[0];
    return;
  }
  if (is_dense(aligned)) return;
  if (role.kind == RoleKind::dense) refuse_tensor(role, "is not contiguous", "pass a contiguous tensor");
  for (std::size_t i = 0; i < role.axes.size(); ++i) {
    // A dimension of extent 1 is not stepped over, whatever its stride. 0 would mean contiguous.
    if (role.axes[i] < 0) continue;
    const auto axis = static_cast<std::size_t>(role.axes[i]);
    target.strides[i] = aligned.strides[axis];
  }
  // In the C structure this would mean a contiguous tensor.
  if (std::all_of(std::begin(target.strides), std::end(target.strides),
                  [](auto stride) { return stride == 0; }))
    refuse_tensor(role, "repeats one row in all its dimensions", "pass a tensor with elements of its own");
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
    if (!role.is_used)
      refuse_tensor(role, "is not used by this problem", "leave it out, or plan a problem with it");
    Tensor tensor;
    read(role, values[i], tensor);
    write(role, tensor,
          *static_cast<cubinet_tensor*>(static_cast<void*>(static_cast<char*>(structure) + role.offset)));
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
