// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cubinet {

// A buffer of device memory, freed on destruction. For tools, tests and programs without an
// allocator of their own. Copies block until the host side is done and are ordered with work in
// Streams made by Stream::create. Movable; distinct buffers may be used from distinct threads. No
// context has to be current.
class DeviceBuffer {
 public:
  // Allocates a buffer. Zero bytes give a buffer with address 0. A driver error states the size.
  static Result<DeviceBuffer> allocate(std::shared_ptr<const Device> device, std::size_t bytes);
  // Wraps memory of another owner, who must free it only after this object is destroyed.
  static DeviceBuffer borrow(std::shared_ptr<const Device> device, std::uint64_t address, std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  std::uint64_t address() const { return address_; }
  std::size_t size() const { return size_; }
  // Returns the address as a kernel's pointer argument.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address_));
  }

  // Copy bytes to or from the buffer. Return invalid_argument if the range exceeds the buffer.
  Result<void> copy_from(ByteView source, std::size_t offset = 0) const;
  Result<void> copy_to(std::span<std::byte> target, std::size_t offset = 0) const;
  Result<void> fill(std::byte value) const;

 private:
  DeviceBuffer(std::shared_ptr<const Device> device, std::uint64_t address, std::size_t size, bool owned)
      : device_(std::move(device)), address_(address), size_(size), owned_(owned) {}
  Result<void> check_range(std::size_t bytes, std::size_t offset) const;

  std::shared_ptr<const Device> device_;
  std::uint64_t address_ = 0;
  std::size_t size_ = 0;
  bool owned_ = true;
};

// Returns the ordinal of the device that holds an address. Returns invalid_argument for an address
// that the driver does not know.
Result<int> device_of_address(const Device& device, std::uint64_t address);

}  // namespace cubinet
