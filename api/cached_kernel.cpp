// SPDX-License-Identifier: Apache-2.0
#include "cached_kernel.hpp"

#include "held_kernels.hpp"

#include <cubinet/loader/module.hpp>
#include <cubinet/spec/user_image.hpp>

#include <algorithm>
#include <utility>

namespace cubinet {

Result<Function> pick_function(const LoadedFunctions& functions, std::string_view entry_point,
                               const KernelSpec& spec) {
  if (entry_point.empty() && !functions.empty()) return functions.front();
  for (const Function& function : functions) {
    if (function.entry_point().name == entry_point) return function;
  }
  std::string names;  // built only on failure: a hit allocates nothing
  for (const Function& function : functions)
    names += (names.empty() ? "" : ", ") + function.entry_point().name;
  return Error{ErrorCode::not_found, spec.to_string() + " has no function '" + std::string(entry_point) + "'",
               "it has " + names};
}

namespace {

// Returns whether the process cache alone keeps the module: the module cache has one reference,
// each of the functions another, and the first function two. REQUIRES: the slot's mutex is held. A
// shared lock is enough where a false "no" does no harm: other readers may take references.
bool is_idle(const DeviceSlot& slot) {
  return !slot.functions.empty() &&
         slot.first.module().use_count() == static_cast<long>(slot.functions.size()) + 2;
}

// Empties the slot and returns its functions. The caller destroys them after it has released the
// mutex, because that may unload a module if the Runtime has ended. REQUIRES: the mutex is held.
LoadedFunctions take(DeviceSlot& slot) {
  slot.first = {};  // not the last reference: `functions` has it too
  return std::exchange(slot.functions, {});
}

}  // namespace

Result<Function> CachedKernel::find(int device, std::string_view entry_point, std::uint64_t now) const {
  // Together with the kernel's first line, instead of after it.
  __builtin_prefetch(&first_slot_);
  __builtin_prefetch(&first_slot_.first);
  const DeviceSlot* slot = slots_.find(device);
  if (slot == nullptr) return Function();
  const std::shared_lock lock(slot->mutex);
  if (!slot->first) return Function();
  slot->first.prefetch();
  slot->note_use(now);
  if (entry_point.empty()) return slot->first;
  return pick_function(slot->functions, entry_point, spec());
}

LoadedFunctions CachedKernel::loaded(int device) const {
  const DeviceSlot* slot = slots_.find(device);
  if (slot == nullptr) return {};
  const std::shared_lock lock(slot->mutex);
  return slot->functions;
}

void CachedKernel::store(int device, LoadedFunctions functions, std::uint64_t now,
                         const std::function<bool()>& is_current) const {
  DeviceSlot& slot = slots_.find_or_add(device);
  Function first = functions.empty() ? Function() : functions.front();
  const std::unique_lock lock(slot.mutex);
  if (!is_current()) return;
  // The replaced functions are destroyed after the lock is released.
  slot.functions.swap(functions);
  std::swap(slot.first, first);
  slot.note_use(now);
}

bool CachedKernel::forget(int device) const {
  LoadedFunctions forgotten;
  DeviceSlot* slot = slots_.find(device);
  if (slot == nullptr) return false;
  const std::unique_lock lock(slot->mutex);
  forgotten = take(*slot);
  return !forgotten.empty();
}

bool CachedKernel::forget_if_idle(int device) const {
  LoadedFunctions forgotten;
  DeviceSlot* slot = slots_.find(device);
  if (slot == nullptr) return false;
  const std::unique_lock lock(slot->mutex);
  if (!is_idle(*slot)) return false;
  forgotten = take(*slot);
  return true;
}

void CachedKernel::list_idle(std::uint64_t now, std::vector<Idle>& idle) const {
  for (int device = 0; static_cast<std::size_t>(device) < slots_.size(); ++device) {
    const DeviceSlot* slot = slots_.find(device);
    if (slot == nullptr) continue;
    const std::shared_lock lock(slot->mutex);
    if (slot->functions.empty()) continue;
    if (is_idle(*slot)) {
      idle.push_back({this, device, slot->last_use.load(std::memory_order_relaxed),
                      slot->functions.front().module()->bytes()});
    } else if (now != 0) {
      slot->note_use(now);
    }
  }
}

std::vector<const CachedKernel*> KernelCache::all() const {
  std::vector<const CachedKernel*> kernels;
  const std::shared_lock lock(mutex_);
  // An entry of another requested form leads to the same kernel.
  for (const auto& [id, kernel] : kernels_)
    if (kernel->id() == id) kernels.push_back(kernel.get());
  return kernels;
}

std::size_t KernelCache::forget(int device) const {
  std::size_t forgotten = 0;
  for (const CachedKernel* kernel : all())
    forgotten += kernel->forget(device) ? 1U : 0U;
  return forgotten;
}

std::vector<CachedKernel::Idle> KernelCache::idle(std::uint64_t now) const {
  std::vector<CachedKernel::Idle> idle;
  for (const CachedKernel* kernel : all())
    kernel->list_idle(now, idle);
  std::stable_sort(idle.begin(), idle.end(),
                   [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
  return idle;
}

std::shared_ptr<const CachedKernel> KernelCache::find(const KernelId& asked) const {
  const std::shared_lock lock(mutex_);
  const auto position = kernels_.find(asked);
  return position == kernels_.end() ? nullptr : position->second;
}

std::shared_ptr<const CachedKernel> KernelCache::intern(const KernelId& asked,
                                                        std::shared_ptr<const CachedKernel> complete) {
  const std::unique_lock lock(mutex_);
  auto interned = kernels_.try_emplace(complete->id(), complete).first->second;
  kernels_.try_emplace(asked, interned);
  return interned;
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve_without_stores(const KernelSpec& spec) {
  const KernelId asked = identify(spec);
  if (auto known = find(asked)) {
    known_.add(spec, known);
    return known;
  }
  const bool is_source = spec.maker == KernelMaker::source;
  if (is_source || spec.maker == KernelMaker::kernel_template) {
    if (auto kernel_template = templates_.find(spec.name)) {
      KernelSpec wanted = spec;
      // Templates of a catalog have no parameters and make kernels of sources.
      if (is_source) wanted.parameters.clear();
      wanted.options = with_defaults(std::move(wanted.options), options_.flags);
      auto resolved = (*kernel_template)->resolve(wanted);
      if (!is_source && !resolved) return std::move(resolved).error();
      // The source may be the caller's own, of the same name.
      if (is_source && (!resolved || identify(*resolved) != asked))
        return std::shared_ptr<const CachedKernel>();
      auto kernel = intern(asked, std::make_shared<const CachedKernel>(owner_, *std::move(kernel_template),
                                                                       *std::move(resolved), options_));
      known_.add(spec, kernel);
      return kernel;
    }
  }
  return std::shared_ptr<const CachedKernel>();
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve(const KernelSpec& spec) {
  CUBINET_TRY_ASSIGN(auto known, resolve_without_stores(spec));
  if (known != nullptr) return known;
  CUBINET_TRY_ASSIGN(KernelSpec held, held_kernel(library_, spec, templates_));
  // An incomplete specification may match another kernel later, so it is not cached as a name.
  auto kernel = std::make_shared<const CachedKernel>(owner_, std::move(held));
  return intern(kernel->id(), kernel);
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve(const SourceProgram& program) {
  CUBINET_TRY_ASSIGN(auto made, program.as_template());
  KernelSpec given;
  given.options = options_.flags;
  CUBINET_TRY_ASSIGN(KernelSpec spec, made->resolve(given));
  auto kernel = std::make_shared<const CachedKernel>(owner_, std::move(made), std::move(spec), options_);
  return intern(kernel->id(), kernel);
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve(std::string_view name, ByteView image) {
  CUBINET_TRY_ASSIGN(KernelSpec spec, spec_of_user_image(name, image));
  CUBINET_TRY_ASSIGN(const std::vector<Cubin> builds, builds_of_user_image(spec, image));
  auto kernel = std::make_shared<const CachedKernel>(owner_, std::move(spec));
  const KernelBuilds there = library_.candidates(kernel->id());
  for (const Cubin& build : builds) {
    if (!library_.is_in_read_only_store(there, *build.record)) library_.keep(build);
  }
  return intern(kernel->id(), kernel);
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve_without_stores(std::string_view name,
                                                                                ByteView image) {
  CUBINET_TRY_ASSIGN(const KernelSpec spec, spec_of_user_image(name, image));
  return find(identify(spec));
}

Result<std::shared_ptr<const CachedKernel>> KernelCache::resolve(std::string_view key_or_name) {
  // A template without parameters has one kernel, which need not be built yet.
  if (const auto kernel_template = templates_.find(key_or_name);
      kernel_template && (*kernel_template)->parameters().empty()) {
    KernelSpec spec;
    spec.name = key_or_name;
    return resolve(spec);
  }
  CUBINET_TRY_ASSIGN(const KernelSpec held, kernel_by_name(library_, key_or_name));
  return resolve(held);
}

std::shared_ptr<const CachedKernel> KernelCache::resolve_held(const KernelId& id) {
  auto known = find(id);
  if (known == nullptr) {
    const auto spec = decode_kernel(id.encoding());
    if (!spec) return nullptr;
    if (spec->maker == KernelMaker::kernel_template && templates_.find(spec->name)) {
      if (auto resolved = resolve(*spec)) known = *std::move(resolved);
    } else {
      if (auto resolved = resolve_without_stores(*spec)) known = *std::move(resolved);
      if (known == nullptr) known = intern(id, std::make_shared<const CachedKernel>(owner_, *spec));
    }
  }
  return known != nullptr && known->id() == id ? known : nullptr;
}

}  // namespace cubinet
