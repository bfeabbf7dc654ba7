// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/spec/cubin.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace cubinet {

// A cubin loaded on one device. It is unloaded when its last owner ends: a Module pointer, a
// Function, a Global, a CUDA graph that captured a launch, or the Runtime that loaded it
// (docs/in_service.md). Destruction is safe at process exit and in a forked child, where it calls
// nothing. Immutable after load, thread-safe.
class Module : public std::enable_shared_from_this<Module> {
 public:
  // Loads a cubin. Checks the ELF's target against the record and the device before the driver
  // receives the bytes. Afterwards checks the number of kernels, and each entry point's argument
  // size against the driver's data. Returns a corruption or unsupported error that names the
  // difference. The bytes may be freed afterwards. REQUIRES: the cubin is verified (a Cubin always
  // is).
  static Result<std::shared_ptr<const Module>> load(std::shared_ptr<const Device> device, Cubin cubin);
  virtual ~Module() = default;

  virtual const Device& device() const = 0;
  virtual const CubinRecord& record() const = 0;
  // Returns the bytes on the device: those of the ELF file's loaded sections, or of the PTX text.
  virtual std::uint64_t bytes() const = 0;
  // Returns an entry point. An empty name means the first one. A not_found error lists the existing
  // entry points.
  virtual Result<Function> function(std::string_view entry_point = {}) const = 0;
  // Returns a variable, by a C++ name that its source or template declares, or by its symbol. A
  // not_found error lists the declared variables.
  virtual Result<Global> global(std::string_view name) const = 0;

  // Set and return when the module was last used, in the units of its cache (ModuleCache::now).
  void note_use(std::uint64_t time) const { last_use_.store(time, std::memory_order_relaxed); }
  std::uint64_t last_use() const { return last_use_.load(std::memory_order_relaxed); }

 protected:
  static Function make_function(std::shared_ptr<const Module> module, const LoadedFunction& loaded);
  static Global make_global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address,
                            std::size_t size);

 private:
  mutable std::atomic<std::uint64_t> last_use_{0};
};

}  // namespace cubinet
