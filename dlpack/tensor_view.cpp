// SPDX-License-Identifier: Apache-2.0
#include <cubinet/dlpack/tensor_view.hpp>

namespace cubinet::dlpack {

std::string place_of(const TensorView& tensor) {
  switch (tensor.device.type) {
    case kDLCPU:
    case kDLCUDAHost:
      return "in host memory";
    case kDLCUDA:
      return "on device " + std::to_string(tensor.device.id);
    default:
      return "on a device of DLPack's type " + std::to_string(tensor.device.type);
  }
}

std::string shape_text(const TensorView& tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.dimensions; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
  return text + "]";
}

std::uint64_t elements_of(const TensorView& tensor) {
  std::uint64_t elements = 1;
  for (int i = 0; i < tensor.dimensions; ++i)
    elements *= static_cast<std::uint64_t>(tensor.shape[i]);
  return elements;
}

bool is_contiguous(const TensorView& tensor) {
  std::int64_t expected = 1;
  for (int i = tensor.dimensions; tensor.strides != nullptr && i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

}  // namespace cubinet::dlpack
