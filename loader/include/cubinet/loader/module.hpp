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

// A cubin loaded on one device. Unloaded when the last Function and Module pointer is gone; safe to destroy
// at process exit and in a forked child (then nothing is called). Immutable after load, thread-safe.
class Module : public std::enable_shared_from_this<Module> {
 public:
  // REQUIRES: the cubin is verified (a Cubin always is). Checks the ELF's target against the record and the
  // device before the driver sees the bytes, the number of kernels after it, and each entry point's argument
  // size against the driver's own answer: corruption or unsupported that names the difference. The bytes may
  // be freed afterwards.
  static Result<std::shared_ptr<const Module>> load(std::shared_ptr<const Device> device, Cubin cubin);
  virtual ~Module() = default;

  virtual const Device& device() const = 0;
  virtual const CubinRecord& record() const = 0;
  // An empty name means the first entry point. not_found lists what there is.
  virtual Result<Function> function(std::string_view entry_point = {}) const = 0;
  // A variable, by a C++ name that its source or template declares, or by its symbol. not_found lists what is
  // declared.
  virtual Result<Global> global(std::string_view name) const = 0;

 protected:
  static Function make_function(std::shared_ptr<const Module> module, const LoadedFunction& loaded);
  static Global make_global(std::shared_ptr<const Module> module, std::string symbol, std::uint64_t address,
                            std::size_t size);
};

}  // namespace cubinet
