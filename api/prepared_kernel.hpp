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

// A prepared kernel and its part of the process cache: what is loaded of it, by device ordinal. Lives as long
// as its Runtime.
class CachedKernel final : public PreparedKernel {
 public:
  // A kernel of a template. REQUIRES: `resolved` comes from its resolve().
  CachedKernel(std::shared_ptr<const void> owner, std::shared_ptr<const KernelTemplate> kernel_template,
               KernelSpec resolved, CompileOptions options = {})
      : owner_(std::move(owner)),
        spec_(std::move(resolved)),
        id_(identify(spec_)),
        request_(std::in_place, std::move(kernel_template), spec_, std::move(options)) {}
  // A kernel that stores hold and no template known here makes.
  CachedKernel(std::shared_ptr<const void> owner, KernelSpec spec)
      : owner_(std::move(owner)), spec_(std::move(spec)), id_(identify(spec_)) {}

  const KernelSpec& spec() const override { return spec_; }
  const KernelId& id() const { return id_; }
  // How it would be compiled; nullptr without a template.
  const PreparedRequest* request() const { return request_ ? &*request_ : nullptr; }
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
  KernelSpec spec_;
  KernelId id_;
  std::optional<PreparedRequest> request_;
  // One lock a kernel, shared by readers: threads that launch different kernels never meet.
  mutable std::shared_mutex mutex_;
  mutable std::vector<LoadedFunctions> by_device_;
};

// Picks one entry point; empty means the first. not_found lists the names that there are.
Result<Function> pick_function(const LoadedFunctions& functions, std::string_view entry_point,
                               const KernelSpec& spec);

// The prepared kernels of one Runtime, by their complete specification and by each form in which those of
// templates were asked for. Thread-safe.
class PreparedKernels {
 public:
  // `options`: what all of them are compiled with. `library` is asked for kernels without a template.
  PreparedKernels(std::shared_ptr<const void> owner, const TemplateCatalog& templates, Library& library,
                  CompileOptions options = {})
      : owner_(std::move(owner)), templates_(templates), library_(library), options_(std::move(options)) {}

  // Runtime::prepare().
  Result<std::shared_ptr<const CachedKernel>> prepare(const KernelSpec& spec);
  Result<std::shared_ptr<const CachedKernel>> prepare(const SourceProgram& program);
  Result<std::shared_ptr<const CachedKernel>> prepare(std::string_view name, ByteView image);
  Result<std::shared_ptr<const CachedKernel>> prepare(std::string_view key_or_name);
  // The kernel of a build that lies somewhere; nullptr where no request leads to it: its template takes other
  // parameters by now.
  std::shared_ptr<const CachedKernel> prepare_held(const KernelId& id);

 private:
  struct HashId {
    std::size_t operator()(const KernelId& id) const { return static_cast<std::size_t>(id.hash()); }
  };

  std::shared_ptr<const CachedKernel> find(const KernelId& asked) const;
  // Equal complete specifications give one object. `asked` becomes another name of it.
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
