// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {

class Module;

// A variable of a loaded module on its device: __constant__, __device__ or __managed__. It is a
// cheap handle that keeps its module loaded. Copy it freely.
//
// The module and its variables are shared: one Runtime loads a cubin once per device for all
// callers. Variables start with the values of their source. They keep written values until the
// module is unloaded, which Runtime::trim() does unless a Function, a Global or a graph keeps it.
// To get separate variables, load the module again in another Runtime, or with
// Module::load on the result of Runtime::cubin().
//
// Copies are enqueued in the stream and are ordered with launches. Page-locked host memory must
// stay unchanged until the stream has executed the copy. Other memory is read or written before the
// call returns. No context has to be current. Thread-safe. Accesses that no stream orders are data
// races.
class Global {
 public:
  // Returns the address on the device, which is valid everywhere for managed memory.
  std::uint64_t address() const { return address_; }
  std::size_t size() const { return size_; }  // in bytes
  const std::string& symbol() const { return symbol_; }

  // Copy elements to or from the variable. The offset counts bytes. Return invalid_argument if the
  // range exceeds the variable. The stream belongs to the caller and to the device's primary
  // context.
  template <CopyableRange Source = ByteView>
  Result<void> copy_from(const Source& source, CUstream stream, std::size_t offset = 0) const {
    return write(std::as_bytes(std::span(source)), stream, offset);
  }
  template <CopyableRange Target = std::span<std::byte>>
  Result<void> copy_to(Target&& target, CUstream stream, std::size_t offset = 0) const {
    return read(std::as_writable_bytes(std::span(target)), stream, offset);
  }

 private:
  friend class Module;
  Global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address, std::size_t size)
      : module_(std::move(module)), symbol_(std::move(symbol)), address_(address), size_(size) {}
  Result<void> write(ByteView source, CUstream stream, std::size_t offset) const;
  Result<void> read(std::span<std::byte> target, CUstream stream, std::size_t offset) const;
  Result<void> check_range(std::string_view doing, std::size_t bytes, std::size_t offset) const;

  std::shared_ptr<const Module> module_;
  std::string symbol_;
  std::uint64_t address_ = 0;
  std::size_t size_ = 0;
};

}  // namespace cubinet
