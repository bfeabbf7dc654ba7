// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace cubinet {

// A contiguous range whose elements can be copied as bytes, such as a std::vector or a std::span.
template <class Range>
concept CopyableRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

// A buffer of device memory, freed on destruction. For tools, tests and programs without an
// allocator of their own. Copies block until the host side is done and are ordered with work in
// Streams made by Stream::create. Movable; distinct buffers may be used from distinct threads. No
// context has to be current.
class DeviceBuffer {
 public:
  // Allocates a buffer. Zero bytes give a buffer with address 0. A driver error states the size.
  static Result<DeviceBuffer> allocate(std::shared_ptr<const Device> device, std::size_t bytes);
  // Allocates a buffer and sets all bytes to zero. Waits until they are, and thereby for the work
  // in the legacy default stream. Must not be called during a capture.
  static Result<DeviceBuffer> zeroed(std::shared_ptr<const Device> device, std::size_t bytes);
  // Allocates a buffer of the source's size and copies the source to it.
  template <CopyableRange Source>
  static Result<DeviceBuffer> copy_of(std::shared_ptr<const Device> device, const Source& source) {
    CUBINET_TRY_ASSIGN(DeviceBuffer buffer, allocate(std::move(device), std::span(source).size_bytes()));
    CUBINET_TRY(buffer.copy_from(source));
    return buffer;
  }
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

  // Copy elements to or from the buffer. The offset counts bytes. Return invalid_argument if the
  // range exceeds the buffer.
  template <CopyableRange Source>
  Result<void> copy_from(const Source& source, std::size_t offset = 0) const {
    return write(std::as_bytes(std::span(source)), offset);
  }
  template <CopyableRange Target>
  Result<void> copy_to(Target&& target, std::size_t offset = 0) const {
    return read(std::as_writable_bytes(std::span(target)), offset);
  }
  Result<void> fill(std::byte value) const;

 private:
  DeviceBuffer(std::shared_ptr<const Device> device, std::uint64_t address, std::size_t size, bool owned)
      : device_(std::move(device)), address_(address), size_(size), owned_(owned) {}
  Result<void> write(ByteView source, std::size_t offset) const;
  Result<void> read(std::span<std::byte> target, std::size_t offset) const;
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
