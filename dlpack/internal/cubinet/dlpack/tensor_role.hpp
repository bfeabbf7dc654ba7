// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubinet.h>
#include <cubinet/dlpack/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet::dlpack {

// The form in which a tensor is described to the C library.
enum class RoleKind : std::uint8_t {
  rows,    // with strides of its three outer dimensions
  table,   // two dimensions, the stride of the first
  dense,   // contiguous
  scalar,  // one element
  bytes    // contiguous memory of any type
};

// One tensor of a run: its name, and what it must be.
struct TensorRole {
  static constexpr std::int64_t kAny = -1;

  // A dimension. `smallest` applies to a dimension whose extent is kAny.
  struct Dimension {
    const char* name = "";
    std::int64_t extent = kAny;
    std::int64_t smallest = 0;
  };

  const char* name = "";
  std::size_t offset = 0;  // of the cubinet_tensor in the structure of the run
  RoleKind kind = RoleKind::rows;
  std::int32_t type = 0;  // CUBINET_TYPE_...; 0: any
  // Outermost first. Rows have four dimensions, or three if the problem's Q is ragged.
  std::vector<Dimension> dimensions = {};
  // For rows: the dimension of the tensor that each stride of the C structure belongs to.
  std::array<int, 3> axes = {0, 1, 2};
  // The dimension of extent 1 that a caller may leave out; -1: none.
  int optional_dimension = -1;
  bool is_used = true;  // false: the problem has no use for the tensor, which is then refused
  bool is_required = true;
};

// Why a tensor is refused, behind its name ("is in host memory"), and what the caller can do.
struct Refusal {
  std::string reason;
  std::string remedy;
};

// Returns the shape of a role for messages: "[batch=3, heads_q=32]".
std::string shape_text(const TensorRole& role);

// Describes a tensor that has this role to the C library. Returns a refusal for a tensor that is
// not used, in host memory, on another device, or of another type, shape or stride than the role's.
std::optional<Refusal> describe(const TensorRole& role, std::int32_t device, const TensorView& tensor,
                                cubinet_tensor& target);

}  // namespace cubinet::dlpack
