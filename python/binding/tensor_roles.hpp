// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"
#include "tensor.hpp"

#include <cubinet/dlpack/tensor_role.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet_python {

// The keywords of one kind of run. Immutable after construction.
class TensorRoles {
 public:
  TensorRoles() = default;
  TensorRoles(std::string subject, std::int32_t device, std::vector<cubinet::dlpack::TensorRole> roles);

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
    cubinet::dlpack::TensorRole role;
  };
  const Interned* find(PyObject* name) const;
  void read(const cubinet::dlpack::TensorRole& role, PyObject* object, Tensor& tensor) const;
  [[noreturn]] void refuse_tensor(const cubinet::dlpack::TensorRole& role, const std::string& reason,
                                  const std::string& remedy) const;

  std::string subject_;
  std::int32_t device_ = 0;
  std::vector<Interned> roles_;
};

}  // namespace cubinet_python
