// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the tensor maps of CTAs that run together.
#include "warp.hpp"

#include <cubinet/tensor_map.cuh>

#include <array>

namespace cubinet::paged {

inline std::array<TensorOfRows, kMostBlocks> tensor_maps;

inline GlobalAddress own_tensor_map() {
  return reinterpret_cast<GlobalAddress>(&tensor_maps[Warp::slot()]);
}

}  // namespace cubinet::paged
