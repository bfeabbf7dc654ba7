// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"
#include "release.hpp"

#include <cubinet/loader/memory.hpp>

#include <utility>

namespace cubinet {
namespace {

std::string buffer_text(const Device& device, std::size_t bytes) {
  return std::to_string(bytes) + " bytes on " + device.properties().to_string();
}

}  // namespace

Result<DeviceBuffer> DeviceBuffer::allocate(std::shared_ptr<const Device> device, std::size_t bytes) {
  if (device == nullptr) return Error{ErrorCode::invalid_argument, "device memory is allocated on a device"};
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
  CUdeviceptr address = 0;
  if (bytes != 0) {
    const Driver& driver = *device->driver();
    const CUresult result = driver.api().cuMemAlloc(&address, bytes);
    if (result != CUDA_SUCCESS) {
      return driver.error(result, "cuMemAlloc", "allocating " + buffer_text(*device, bytes));
    }
  }
  return DeviceBuffer(std::move(device), address, bytes, /*owned=*/true);
}

Result<DeviceBuffer> DeviceBuffer::zeroed(std::shared_ptr<const Device> device, std::size_t bytes) {
  CUBINET_TRY_ASSIGN(DeviceBuffer buffer, allocate(std::move(device), bytes));
  CUBINET_TRY(buffer.fill(std::byte{0}));
  // The fill is asynchronous, and streams of a caller that do not wait for the legacy default
  // stream must find zeros too.
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, buffer.device_->make_current());
  const Driver& driver = *buffer.device_->driver();
  const CUresult result = driver.api().cuStreamSynchronize(nullptr);
  if (result == CUDA_SUCCESS) return buffer;
  return driver.error(result, "cuStreamSynchronize", "filling " + buffer_text(*buffer.device_, bytes));
}

DeviceBuffer DeviceBuffer::borrow(std::shared_ptr<const Device> device, std::uint64_t address,
                                  std::size_t bytes) {
  return DeviceBuffer(std::move(device), address, bytes, /*owned=*/false);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::move(other.device_)),
      address_(std::exchange(other.address_, 0)),
      size_(std::exchange(other.size_, 0)),
      owned_(other.owned_) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(owned_, other.owned_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ == 0 || !owned_) return;
  release(*device_, "cuMemFree", [&](const DriverApi& api) { return api.cuMemFree(address_); });
}

Result<void> DeviceBuffer::check_range(std::size_t bytes, std::size_t offset) const {
  if (offset <= size_ && bytes <= size_ - offset) return {};
  return Error{ErrorCode::invalid_argument, std::to_string(bytes) + " bytes at offset " +
                                                std::to_string(offset) + " are not inside a buffer of " +
                                                std::to_string(size_)};
}

Result<void> DeviceBuffer::write(ByteView source, std::size_t offset) const {
  CUBINET_TRY(check_range(source.size(), offset));
  if (source.empty()) return {};
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const Driver& driver = *device_->driver();
  const CUresult result = driver.api().cuMemcpyHtoD(address_ + offset, source.data(), source.size());
  if (result == CUDA_SUCCESS) return {};
  return driver.error(result, "cuMemcpyHtoD", "writing " + buffer_text(*device_, source.size()));
}

Result<void> DeviceBuffer::read(std::span<std::byte> target, std::size_t offset) const {
  CUBINET_TRY(check_range(target.size(), offset));
  if (target.empty()) return {};
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const Driver& driver = *device_->driver();
  const CUresult result = driver.api().cuMemcpyDtoH(target.data(), address_ + offset, target.size());
  if (result == CUDA_SUCCESS) return {};
  return driver.error(result, "cuMemcpyDtoH", "reading " + buffer_text(*device_, target.size()));
}

Result<void> DeviceBuffer::fill(std::byte value) const {
  if (size_ == 0) return {};
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device_->make_current());
  const Driver& driver = *device_->driver();
  const CUresult result = driver.api().cuMemsetD8(address_, std::to_integer<unsigned char>(value), size_);
  if (result == CUDA_SUCCESS) return {};
  return driver.error(result, "cuMemsetD8", "filling " + buffer_text(*device_, size_));
}

Result<int> device_of_address(const Device& device, std::uint64_t address) {
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  int ordinal = -1;
  const Driver& driver = *device.driver();
  const CUresult result =
      driver.api().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (result == CUDA_SUCCESS) return ordinal;
  if (result == CUDA_ERROR_INVALID_VALUE) {
    return Error{ErrorCode::invalid_argument,
                 "the address " + std::to_string(address) + " is no device memory that the driver knows"};
  }
  return driver.error(result, "cuPointerGetAttribute", "looking up an address");
}

}  // namespace cubinet
