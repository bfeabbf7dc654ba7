// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/dlpack/tensor_view.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace cubinet_python {

// A tensor of another library, read from a Python object. Valid while the object exists and is not
// resized.
struct Tensor : cubinet::dlpack::TensorView {
  static constexpr int kMaximumDimensions = 8;

  // The table of the object's library that also returns its current stream, or null.
  const DLPackExchangeAPI* exchange = nullptr;

  // The place of shape and strides if the object gives them as Python numbers. Not initialised,
  // which would take a fifth of the time of a read by the exchange table.
  std::array<std::int64_t, kMaximumDimensions> own_shape;
  std::array<std::int64_t, kMaximumDimensions> own_strides;

  Tensor() {}
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
};

// The reason why an object that has the methods of a tensor is not a valid one. Callers add its
// name.
struct WrongTensor {
  std::string reason;
};

// Reads an object that is a tensor: by the exchange table of its type (PyTorch 2.10 and newer),
// otherwise by data_ptr(), __cuda_array_interface__ or __dlpack__. Returns false, without a Python
// error, if the object is no tensor. Raises what the object's own methods raise. Throws WrongTensor
// if they return values that describe no tensor.
bool read_tensor(PyObject* object, Tensor& tensor);

}  // namespace cubinet_python
