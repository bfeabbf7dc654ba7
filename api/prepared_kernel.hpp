// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/runtime.hpp>

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace cubinet {

// The functions of one kernel on one device, in the order of the record's entry points.
using LoadedFunctions = std::vector<Function>;

// A prepared kernel and its part of the process cache: what is loaded of it, by device ordinal. Lives as long
// as its Runtime.
class CachedKernel final : public PreparedKernel {
 public:
  CachedKernel(std::shared_ptr<const void> owner, std::shared_ptr<const KernelTemplate> kernel_template,
               KernelSpec spec, CompileOptions options = {})
      : owner_(std::move(owner)), request_(std::move(kernel_template), std::move(spec), std::move(options)) {}

  const KernelSpec& spec() const override { return request_.spec(); }
  const std::shared_ptr<const KernelTemplate>& kernel_template() const override {
    return request_.kernel_template();
  }
  const PreparedRequest& request() const { return request_; }
  const void* owner() const { return owner_.get(); }

  // An empty Function when nothing is loaded there; not_found for an entry point that the kernel does not
  // have.
  Result<Function> find(int device, std::string_view entry_point) const;
  // All functions loaded there; empty when nothing is.
  LoadedFunctions loaded(int device) const;
  void store(int device, LoadedFunctions functions) const;
  bool forget(int device) const;

 private:
  // A token of the Runtime, held so that no other Runtime's can come to lie at its address.
  std::shared_ptr<const void> owner_;
  PreparedRequest request_;
  // One lock a kernel, shared by readers: threads that launch different kernels never meet.
  mutable std::shared_mutex mutex_;
  mutable std::vector<LoadedFunctions> by_device_;
};

// Picks one entry point; empty means the first. not_found lists the names that there are.
Result<Function> pick_function(const LoadedFunctions& functions, std::string_view entry_point,
                               const KernelSpec& spec);

// The prepared kernels of one Runtime, by the encoding of their resolved specification and by that of each
// form in which they were asked for. Thread-safe.
class PreparedKernels {
 public:
  // `options`: what all of them are compiled with.
  explicit PreparedKernels(std::shared_ptr<const void> owner, CompileOptions options = {})
      : owner_(std::move(owner)), options_(std::move(options)) {}

  // nullptr when this form of the specification was not prepared before.
  std::shared_ptr<const CachedKernel> find(const KernelIdentity& asked) const;
  // Interns: equal resolved specifications give one object. `asked` becomes another name of it.
  std::shared_ptr<const CachedKernel> intern(const KernelIdentity& asked, KernelSpec resolved,
                                             std::shared_ptr<const KernelTemplate> kernel_template);

 private:
  struct HashKey {
    std::size_t operator()(const KernelIdentity& identity) const {
      return static_cast<std::size_t>(identity.key().value);
    }
  };

  std::shared_ptr<const void> owner_;
  CompileOptions options_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<KernelIdentity, std::shared_ptr<const CachedKernel>, HashKey> kernels_;
};

// A target that no device has: the identity of a specification alone.
inline KernelIdentity identify_without_target(const KernelSpec& spec) {
  return identify(spec, SmTarget{});
}

}  // namespace cubinet
