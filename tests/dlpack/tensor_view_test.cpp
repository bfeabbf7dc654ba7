// SPDX-License-Identifier: Apache-2.0
#include <cubinet/dlpack/tensor_view.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace cubinet::dlpack;

namespace {

TensorView view(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>* strides = nullptr) {
  TensorView tensor;
  tensor.dimensions = static_cast<int>(shape.size());
  tensor.shape = shape.data();
  tensor.strides = strides == nullptr ? nullptr : strides->data();
  return tensor;
}

TensorView on(std::int32_t type, std::int32_t id) {
  TensorView tensor;
  tensor.device = {static_cast<DLDeviceType>(type), id};
  return tensor;
}

}  // namespace

TEST_CASE("a view has the address behind the offset of the tensor, and its facts") {
  std::int64_t shape[] = {2, 3}, strides[] = {5, 1};
  const DLTensor tensor{
      reinterpret_cast<void*>(0x1000), {kDLCUDA, 1}, 2, {kDLBfloat, 16, 1}, shape, strides, 16};
  const TensorView read(tensor);
  CHECK(read.address == 0x1010);
  CHECK(read.device.id == 1);
  CHECK(read.type.bits == 16);
  CHECK(read.dimensions == 2);
  CHECK(shape_text(read) == "[2, 3]");
  CHECK(read.strides[0] == 5);
}

TEST_CASE("a kernel may read tensors of its device, of managed memory and of a device that is not stated") {
  CHECK(is_on_device(on(kDLCUDA, 1), 1));
  CHECK(is_on_device(on(kDLCUDA, TensorView::kUnknownDevice), 1));
  CHECK(is_on_device(on(kDLCUDAManaged, 0), 1));
  CHECK_FALSE(is_on_device(on(kDLCUDA, 0), 1));
  CHECK_FALSE(is_on_device(on(kDLCPU, 0), 0));
  CHECK_FALSE(is_on_device(on(kDLCUDAHost, 0), 0));
}

TEST_CASE("messages name host memory, a device and another kind of device apart") {
  CHECK(place_of(on(kDLCPU, 0)) == "in host memory");
  CHECK(place_of(on(kDLCUDAHost, 0)) == "in host memory");
  CHECK(place_of(on(kDLCUDA, 3)) == "on device 3");
  CHECK(place_of(on(10, 0)) == "on a device of DLPack's type 10");
}

TEST_CASE("contiguous is a matter of the dimensions that are stepped over") {
  const std::vector<std::int64_t> shape = {3, 1, 4}, dense = {4, 99, 1}, apart = {8, 4, 1};
  CHECK(is_contiguous(view(shape)));
  CHECK(is_contiguous(view(shape, &dense)));
  CHECK_FALSE(is_contiguous(view(shape, &apart)));
  CHECK(elements_of(view(shape)) == 12);
  CHECK(elements_of(view({})) == 1);
}
