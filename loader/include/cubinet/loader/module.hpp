// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/spec/cubin.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace cubinet {

// A cubin loaded on one device. It is unloaded when the last Function and Module pointer is
// destroyed. Destruction is safe at process exit and in a forked child, where it calls nothing.
// Immutable after load, thread-safe.
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
  // Returns an entry point. An empty name means the first one. A not_found error lists the existing
  // entry points.
  virtual Result<Function> function(std::string_view entry_point = {}) const = 0;
  // Returns a variable, by a C++ name that its source or template declares, or by its symbol. A
  // not_found error lists the declared variables.
  virtual Result<Global> global(std::string_view name) const = 0;

 protected:
  static Function make_function(std::shared_ptr<const Module> module, const LoadedFunction& loaded);
  static Global make_global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address,
                            std::size_t size);
};

}  // namespace cubinet
