// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/dlpack/dlpack.hpp>

#include <cstdint>
#include <string>

namespace cubinet::dlpack {

// A tensor of another library, read without taking part in its ownership. Valid while that tensor
// exists and is not resized.
struct TensorView {
  static constexpr std::int32_t kUnknownDevice = -1;

  std::uint64_t address = 0;
  DLDevice device = {kDLCUDA, kUnknownDevice};
  DLDataType type = {};
  int dimensions = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  // in elements; null: contiguous

  TensorView() = default;
  explicit TensorView(const DLTensor& tensor)
      : address(reinterpret_cast<std::uint64_t>(tensor.data) + tensor.byte_offset),
        device(tensor.device),
        type(tensor.dtype),
        dimensions(tensor.ndim),
        shape(tensor.shape),
        strides(tensor.strides) {}
};

// Returns whether a kernel on this device may read the tensor: it is there, or its library does not
// say on which device it is, or the driver moves it.
inline bool is_on_device(const TensorView& tensor, std::int32_t device) {
  if (tensor.device.type == kDLCUDAManaged) return true;
  return tensor.device.type == kDLCUDA &&
         (tensor.device.id == device || tensor.device.id == TensorView::kUnknownDevice);
}

// Returns where the tensor is, for messages: "in host memory", "on device 1", or the number of
// another kind of device in DLPack.
std::string place_of(const TensorView& tensor);

// Returns the shape for messages: "[3, 128]".
std::string shape_text(const TensorView& tensor);

// Returns the number of elements.
std::uint64_t elements_of(const TensorView& tensor);

// Returns whether the elements are contiguous, whatever the dimensions.
bool is_contiguous(const TensorView& tensor);

}  // namespace cubinet::dlpack
