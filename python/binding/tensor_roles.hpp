// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor.hpp"

#include <cubinet/cubinet.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace cubinet_python {

// The form in which a tensor is described to the C library.
enum class RoleKind : std::uint8_t {
  rows,    // with strides of its three outer dimensions
  table,   // two dimensions, the stride of the first
  dense,   // contiguous
  scalar,  // one element
  bytes    // contiguous memory of any type
};

// One keyword of a run: the tensor that it names, and what this tensor must be.
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

// The keywords of one kind of run. Immutable after construction.
class TensorRoles {
 public:
  TensorRoles() = default;
  TensorRoles(std::string subject, std::int32_t device, std::vector<TensorRole> roles);

  // The keywords that are no tensors, and what the tensors say about the stream.
  struct Call {
    PyObject* stream = nullptr;     // borrowed; null: not given
    PyObject* workspace = nullptr;  // borrowed; null: not given
    PyObject* tokens = nullptr;     // borrowed; null: not given
    const DLPackExchangeAPI* exchange = nullptr;
    std::int64_t first_extent = 0;  // the outermost extent of the first tensor
  };

  // Checks the tensors of a fast call and writes them into a structure of the C library, whose
  // members have the roles' offsets. Raises InvalidArgument, which names the tensor, for a tensor
  // in host memory, on another device, or of another type, shape or stride than the role's, and
  // for one that is missing or not used; TypeError for an unknown keyword.
  Call read(PyObject* names, PyObject* const* values, void* structure) const;

 private:
  struct Interned {
    PyObject* name;
    TensorRole role;
  };
  const Interned* find(PyObject* name) const;
  void read(const TensorRole& role, PyObject* object, Tensor& tensor) const;
  void write(const TensorRole& role, const Tensor& tensor, cubinet_tensor& target) const;
  void check_device(const TensorRole& role, const Tensor& tensor) const;
  void check_type(const TensorRole& role, const Tensor& tensor) const;
  [[noreturn]] void refuse_tensor(const TensorRole& role, const std::string& reason,
                                  const std::string& remedy) const;
  [[noreturn]] void refuse_shape(const TensorRole& role, const Tensor& tensor) const;

  std::string subject_;
  std::int32_t device_ = 0;
  std::vector<Interned> roles_;
};

}  // namespace cubinet_python
