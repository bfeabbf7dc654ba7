// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.hpp"

#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/runtime.hpp>

#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace cubinet {

// The functions of one kernel on one device, in the order of the record's entry points.
using LoadedFunctions = std::vector<Function>;

// A resolved kernel and its part of the process cache: its loaded functions by device ordinal.
// Lives as long as its Runtime.
class CachedKernel final : public Kernel {
 public:
  // Creates a kernel of a template. REQUIRES: `resolved` comes from the template's resolve().
  CachedKernel(std::shared_ptr<const void> owner, std::shared_ptr<const KernelTemplate> kernel_template,
               KernelSpec resolved, CompileOptions options = {})
      : owner_(std::move(owner)),
        spec_(std::move(resolved)),
        id_(identify(spec_)),
        request_(std::in_place, std::move(kernel_template), spec_, std::move(options)) {}
  // Creates a kernel that exists in stores and has no known template.
  CachedKernel(std::shared_ptr<const void> owner, KernelSpec spec)
      : owner_(std::move(owner)), spec_(std::move(spec)), id_(identify(spec_)) {}

  const KernelSpec& spec() const override { return spec_; }
  const KernelId& id() const { return id_; }
  // Returns how it is compiled, or nullptr without a template.
  const PreparedRequest* request() const { return request_ ? &*request_ : nullptr; }
  const void* owner() const { return owner_.get(); }

  // Returns an empty Function if nothing is loaded on the device, and not_found for an unknown
  // entry point.
  Result<Function> find(int device, std::string_view entry_point) const;
  // Returns all functions loaded on the device; empty if there are none.
  LoadedFunctions loaded(int device) const;
  void store(int device, LoadedFunctions functions) const;
  bool forget(int device) const;

 private:
  // A token of the Runtime. Holding it keeps another Runtime from getting the same address.
  std::shared_ptr<const void> owner_;
  KernelSpec spec_;
  KernelId id_;
  std::optional<PreparedRequest> request_;
  // One lock per kernel, shared by readers, so that threads that launch different kernels do not
  // contend.
  mutable std::shared_mutex mutex_;
  mutable std::vector<LoadedFunctions> by_device_;
};

// Returns one entry point; an empty name means the first. The error not_found lists the existing
// names.
Result<Function> pick_function(const LoadedFunctions& functions, std::string_view entry_point,
                               const KernelSpec& spec);

// The resolved kernels of one Runtime, by their complete specification and, for templates, by each
// requested form. Thread-safe.
class KernelCache {
 public:
  // `options` apply to all compilations. `library` is searched for kernels without a template.
  KernelCache(std::shared_ptr<const void> owner, const TemplateCatalog& templates, Library& library,
              CompileOptions options = {})
      : owner_(std::move(owner)), templates_(templates), library_(library), options_(std::move(options)) {}

  // Implement Runtime::resolve().
  Result<std::shared_ptr<const CachedKernel>> resolve(const KernelSpec& spec);
  Result<std::shared_ptr<const CachedKernel>> resolve(const SourceProgram& program);
  Result<std::shared_ptr<const CachedKernel>> resolve(std::string_view name, ByteView image);
  Result<std::shared_ptr<const CachedKernel>> resolve(std::string_view key_or_name);
  // Returns the kernel of a stored build, or nullptr if no request leads to it because its template
  // has other parameters now.
  std::shared_ptr<const CachedKernel> resolve_held(const KernelId& id);

 private:
  struct HashId {
    std::size_t operator()(const KernelId& id) const { return static_cast<std::size_t>(id.hash()); }
  };

  std::shared_ptr<const CachedKernel> find(const KernelId& asked) const;
  // Returns one object for equal complete specifications. `asked` becomes another name of it.
  std::shared_ptr<const CachedKernel> intern(const KernelId& asked,
                                             std::shared_ptr<const CachedKernel> complete);

  std::shared_ptr<const void> owner_;
  const TemplateCatalog& templates_;
  Library& library_;
  CompileOptions options_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<KernelId, std::shared_ptr<const CachedKernel>, HashId> kernels_;
};

}  // namespace cubinet
