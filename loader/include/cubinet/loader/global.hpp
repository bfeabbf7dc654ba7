// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {

class Module;

// A variable of a loaded module on its device: __constant__, __device__ or __managed__. A cheap handle that
// keeps its module loaded: copy it freely.
//
// The module is shared, and so are its variables: one Runtime loads the same cubin once on a device, for all
// who ask. They begin with what their source says and keep what is written until the module is unloaded
// (Runtime::release() and the last Function and Global of it). Who needs variables of his own loads the
// module anew: in another Runtime, or with Module::load of what Runtime::cubin() gives.
//
// Copies are put into the stream like launches, and are ordered with those. Host memory that is page-locked
// has to stay as it is until the stream has come to the copy; other memory is read before the call returns,
// and written by then. No context has to be current. Thread-safe; what is ordered by no stream races.
class Global {
 public:
  std::uint64_t address() const { return address_; }  // on the device; of managed memory, everywhere
  std::size_t size() const { return size_; }          // in bytes
  const std::string& symbol() const { return symbol_; }

  // invalid_argument when the bytes do not lie within the variable. The stream is the caller's, of the
  // device's primary context.
  Result<void> copy_from(ByteView source, CUstream stream, std::size_t offset = 0) const;
  Result<void> copy_to(std::span<std::byte> target, CUstream stream, std::size_t offset = 0) const;

 private:
  friend class Module;
  Global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address, std::size_t size)
      : module_(std::move(module)), symbol_(std::move(symbol)), address_(address), size_(size) {}
  Result<void> check_range(std::string_view doing, std::size_t bytes, std::size_t offset) const;

  std::shared_ptr<const Module> module_;
  std::string symbol_;
  std::uint64_t address_ = 0;
  std::size_t size_ = 0;
};

}  // namespace cubinet
