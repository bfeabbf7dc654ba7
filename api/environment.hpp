// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>
#include <cubinet/runtime.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cubinet {

// The compiler and the driver of one Runtime, opened when they are first needed. Thread-safe.
class Environment {
 public:
  Environment(CompilerSearch search, std::optional<std::string> driver_library, LogSink log)
      : search_(std::move(search)), driver_library_(std::move(driver_library)), log_(std::move(log)) {}
  virtual ~Environment() = default;

  // Returns the compiler. The search runs once and its result, even an error, is kept, because
  // every lookup may ask for a missing compiler.
  virtual Result<std::shared_ptr<Compiler>> compiler();
  // Returns the device. An error is not kept, because a driver may appear later (a container's
  // device files, a module being loaded).
  Result<std::shared_ptr<const Device>> device(int ordinal);
  std::vector<std::shared_ptr<const Device>> open_devices() const;

 private:
  CompilerSearch search_;
  std::optional<std::string> driver_library_;
  LogSink log_;
  std::mutex compiler_mutex_;
  std::optional<Result<std::shared_ptr<Compiler>>> compiler_;
  mutable std::mutex device_mutex_;
  std::shared_ptr<const Driver> driver_;
  std::map<int, std::shared_ptr<const Device>> devices_;
};

}  // namespace cubinet
