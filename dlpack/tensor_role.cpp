// SPDX-License-Identifier: Apache-2.0
#include <cubinet/dlpack/element_types.hpp>
#include <cubinet/dlpack/tensor_role.hpp>

#include <algorithm>

namespace cubinet::dlpack {
namespace {

// The dimensions of a tensor as those of its role. A dimension that the caller left out has the
// stride 0.
struct Aligned {
  std::array<std::int64_t, 4> extents;
  std::array<std::int64_t, 4> strides;
  int count;
};

// Returns false if the numbers of dimensions do not match.
bool align(const TensorRole& role, const TensorView& tensor, Aligned& aligned) {
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

bool has_negative_stride(const Aligned& aligned) {
  return std::any_of(aligned.strides.begin(), aligned.strides.begin() + aligned.count,
                     [](std::int64_t stride) { return stride < 0; });
}

Refusal wrong_shape(const TensorRole& role, const TensorView& tensor) {
  return {"has the shape " + shape_text(tensor) + "; expected " + shape_text(role),
          "pass a tensor of this shape"};
}

std::optional<Refusal> check_place(const TensorRole& role, std::int32_t device, const TensorView& tensor) {
  if (!role.is_used) return Refusal{"is not used by this problem", "leave it out, or plan a problem with it"};
  if (!is_on_device(tensor, device))
    return Refusal{"is " + place_of(tensor), "pass a tensor on device " + std::to_string(device)};
  if (role.type != 0 && !matches_type(tensor.type, role.type))
    return Refusal{"has elements of type " + name_of(tensor.type),
                   "pass a tensor of " + name_of_type(role.type)};
  return std::nullopt;
}

std::optional<Refusal> describe_memory(const TensorRole& role, const TensorView& tensor,
                                       std::uint64_t element, cubinet_tensor& target) {
  if (role.kind == RoleKind::scalar && elements_of(tensor) != 1)
    return Refusal{"has the shape " + shape_text(tensor) + "; expected one element", "pass one element"};
  if (!is_contiguous(tensor)) return Refusal{"is not contiguous", "pass a contiguous tensor"};
  target.bytes = elements_of(tensor) * element;
  return std::nullopt;
}

std::optional<Refusal> set_table_stride(const Aligned& aligned, cubinet_tensor& target) {
  const bool has_one_row = aligned.extents[0] == 1;
  if (!has_one_row && aligned.strides[0] < aligned.extents[1])
    return Refusal{"has rows that overlap", "pass a row of its own for each sequence"};
  // A table may be wider than the library's default stride, also if it is contiguous.
  target.strides[0] = has_one_row ? aligned.extents[1] : aligned.strides[0];
  return std::nullopt;
}

// Sets the strides of rows, or of values without columns.
std::optional<Refusal> set_strides(const TensorRole& role, const Aligned& aligned, cubinet_tensor& target) {
  if (is_dense(aligned)) return std::nullopt;
  if (role.kind == RoleKind::dense) return Refusal{"is not contiguous", "pass a contiguous tensor"};
  for (std::size_t i = 0; i < role.axes.size(); ++i) {
    // A dimension of extent 1 is not stepped over, whatever its stride. 0 would mean contiguous.
    if (role.axes[i] < 0) continue;
    const auto axis = static_cast<std::size_t>(role.axes[i]);
    target.strides[i] = aligned.strides[axis];
  }
  // In the C structure this would mean a contiguous tensor.
  if (std::all_of(std::begin(target.strides), std::end(target.strides),
                  [](auto stride) { return stride == 0; }))
    return Refusal{"repeats one row in all its dimensions", "pass a tensor with elements of its own"};
  return std::nullopt;
}

}  // namespace

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

std::optional<Refusal> describe(const TensorRole& role, std::int32_t device, const TensorView& tensor,
                                cubinet_tensor& target) {
  if (auto refusal = check_place(role, device, tensor)) return refusal;
  const std::uint64_t element = (std::uint64_t{tensor.type.bits} * tensor.type.lanes + 7) / 8;
  target.address = tensor.address;
  target.type = role.type;
  if (role.kind == RoleKind::scalar || role.kind == RoleKind::bytes)
    return describe_memory(role, tensor, element, target);
  Aligned aligned;
  if (!align(role, tensor, aligned) || !matches(role, aligned)) return wrong_shape(role, tensor);
  const auto last = static_cast<std::size_t>(aligned.count - 1);
  if (has_negative_stride(aligned) || (aligned.extents[last] > 1 && aligned.strides[last] != 1))
    return Refusal{"has elements that are not contiguous in its last dimension", "pass it contiguous there"};
  target.bytes = span_of(aligned) * element;
  return role.kind == RoleKind::table ? set_table_stride(aligned, target)
                                      : set_strides(role, aligned, target);
}

}  // namespace cubinet::dlpack
