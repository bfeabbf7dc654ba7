// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {

// Kernels of imported folders, by the name of their function: no template stands behind them. Thread-safe.
class NamedKernels {
 public:
  NamedKernels(Registry* registry, TargetPolicy targets)
      : registry_(registry), targets_(std::move(targets)) {}

  // The verified cubin of the best target that runs on the device; of two imports the one pinned last, and
  // where its file is gone or damaged the next. not_found says what there is instead.
  Result<FoundCubin> find(std::string_view function_name, ComputeCapability device) const;

  // Functions that are loaded, by name and device; an empty handle when there is none.
  Function loaded(std::string_view function_name, int device) const;
  void store(std::string_view function_name, int device, const Function& function);

 private:
  Registry* registry_;  // may be null
  TargetPolicy targets_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, Function, std::less<>> functions_;
};

}  // namespace cubinet
