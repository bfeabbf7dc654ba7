// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_slots.hpp"
#include "known_specs.hpp"
#include "library.hpp"

#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/runtime.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace cubinet {

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
  // entry point. `now` is the time of a hit (ModuleCache::now).
  Result<Function> find(int device, std::string_view entry_point, std::uint64_t now) const;
  // Returns all functions loaded on the device; empty if there are none.
  LoadedFunctions loaded(int device) const;
  // Stores nothing if `is_current` returns false. It is called with the slot's mutex held.
  void store(int device, LoadedFunctions functions, std::uint64_t now,
             const std::function<bool()>& is_current) const;
  // Retires the module, unless something else keeps it.
  bool forget(int device) const;

  // A device on which only the process cache keeps the kernel's module.
  struct Idle {
    const CachedKernel* kernel = nullptr;
    int device = -1;
    std::uint64_t last_use = 0;
    std::uint64_t bytes = 0;
  };
  // Appends the idle devices. Other devices count as used at `now`, unless it is 0. So does a
  // device whose functions a thread takes meanwhile.
  void list_idle(std::uint64_t now, std::vector<Idle>& idle) const;
  // Does forget(), and only if the module is idle.
  bool forget_if_idle(int device) const;

 private:
  // A token of the Runtime. Holding it keeps another Runtime from getting the same address.
  std::shared_ptr<const void> owner_;
  // In the first cache line. A hit reads only this line of the kernel and the slot.
  mutable DeviceSlots slots_{first_slot_};
  mutable DeviceSlot first_slot_;  // of device 0; its address is known before slots_ is read
  KernelSpec spec_;
  KernelId id_;
  std::optional<PreparedRequest> request_;
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
  // Do the same without the stores. Return nullptr for a kernel that only a store may know.
  Result<std::shared_ptr<const CachedKernel>> resolve_without_stores(const KernelSpec& spec);
  Result<std::shared_ptr<const CachedKernel>> resolve_without_stores(std::string_view name, ByteView image);
  // Returns the kernel of a specification that was resolved before, or nullptr. Takes no lock and
  // does not allocate. The kernel lives as long as the cache.
  const CachedKernel* known(const KernelSpec& spec) const { return known_.find(spec); }
  // Returns the idle devices of all kernels (CachedKernel::list_idle), least recently used first.
  std::vector<CachedKernel::Idle> idle(std::uint64_t now) const;
  // Does CachedKernel::forget() for all kernels. Returns the number of those that were loaded.
  std::size_t forget(int device) const;
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
  KnownSpecs known_;
  // Returns all kernels, each once. They live as long as the cache.
  std::vector<const CachedKernel*> all() const;

  mutable SlotMutex mutex_;
  std::unordered_map<KernelId, std::shared_ptr<const CachedKernel>, HashId> kernels_;
};

}  // namespace cubinet
