// SPDX-License-Identifier: Apache-2.0
#include "prepared_kernel.hpp"

namespace cubinet {

Result<Function> pick_function(const LoadedFunctions& functions, std::string_view entry_point,
                               const KernelSpec& spec) {
  if (entry_point.empty() && !functions.empty()) return functions.front();
  for (const Function& function : functions) {
    if (function.entry_point().name == entry_point) return function;
  }
  std::string names;  // only now: a hit allocates nothing
  for (const Function& function : functions)
    names += (names.empty() ? "" : ", ") + function.entry_point().name;
  return Error{ErrorCode::not_found, spec.to_string() + " has no function '" + std::string(entry_point) + "'",
               "it has " + names};
}

Result<Function> CachedKernel::find(int device, std::string_view entry_point) const {
  const std::shared_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  if (index >= by_device_.size() || by_device_[index].empty()) return Function();
  return pick_function(by_device_[index], entry_point, spec());
}

LoadedFunctions CachedKernel::loaded(int device) const {
  const std::shared_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  return index < by_device_.size() ? by_device_[index] : LoadedFunctions();
}

void CachedKernel::store(int device, LoadedFunctions functions) const {
  const std::unique_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  if (index >= by_device_.size()) by_device_.resize(index + 1);
  by_device_[index] = std::move(functions);
}

bool CachedKernel::forget(int device) const {
  LoadedFunctions forgotten;  // destroyed after the lock is released: it may unload a module
  const std::unique_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  if (device < 0 || index >= by_device_.size() || by_device_[index].empty()) return false;
  forgotten.swap(by_device_[index]);
  return true;
}

std::shared_ptr<const CachedKernel> PreparedKernels::find(const KernelIdentity& asked) const {
  const std::shared_lock lock(mutex_);
  const auto position = kernels_.find(asked);
  return position == kernels_.end() ? nullptr : position->second;
}

std::shared_ptr<const CachedKernel> PreparedKernels::intern(
    const KernelIdentity& asked, KernelSpec resolved, std::shared_ptr<const KernelTemplate> kernel_template) {
  const KernelIdentity complete = identify_without_target(resolved);
  const std::unique_lock lock(mutex_);
  auto& kernel = kernels_[complete];
  if (kernel == nullptr) {
    kernel = std::make_shared<const CachedKernel>(owner_, std::move(kernel_template), std::move(resolved),
                                                  options_);
  }
  std::shared_ptr<const CachedKernel> interned = kernel;  // the next line may move `kernel`
  kernels_.try_emplace(asked, interned);
  return interned;
}

}  // namespace cubinet
