// SPDX-License-Identifier: Apache-2.0
#include "driver_api.hpp"
#include "image_bytes.hpp"
#include "kernel_subject.hpp"

#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

namespace cubinet {
namespace {

using Outcome = Result<std::shared_ptr<const Module>>;
using Modules = std::vector<std::shared_ptr<const Module>>;
using Devices = std::set<std::shared_ptr<const Device>>;

// The driver is part of the key because an ordinal is only meaningful with its driver. A dangling
// address is harmless: a loaded module keeps its driver alive.
using Key = std::tuple<const Driver*, int, Sha256Digest>;

// Returns whether two records launch alike. Equal bytes may be listed under records that launch
// them differently.
bool launch_alike(const CubinRecord& a, const CubinRecord& b) {
  return &a == &b || (a.entry_points == b.entry_points && a.target == b.target);
}

Outcome load_without_throwing(const std::shared_ptr<const Device>& device, const Cubin& cubin) {
  try {
    return Module::load(device, cubin);
    // The waiting threads must get a result when memory runs out.
  } catch (const std::exception& exception) {
    return Error{ErrorCode::internal, std::string("loading a module failed: ") + exception.what()};
  }
}

bool is_on(const Module& module, std::optional<int> device) {
  return !device || module.device().ordinal() == *device;
}

// Waits for the work of a device. The legacy stream reports captures of streams that wait for it.
Result<void> wait_for(const Device& device) {
  const auto busy = [&] {
    return Error{
        ErrorCode::busy,
        "no module was unloaded: a stream of " + device.properties().to_string() + " is being captured",
        "call `Runtime::trim()` before or after the capture"};
  };
  CUBINET_TRY_ASSIGN(const bool capturing, is_capturing(device, nullptr));
  if (capturing) return busy();
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device.make_current());
  const CUresult result = device.driver()->api().cuCtxSynchronize();
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return busy();
  if (result == CUDA_SUCCESS) return {};
  return device.driver()->error(result, "cuCtxSynchronize",
                                "waiting for " + device.properties().to_string() + " before unloading");
}

}  // namespace

struct ModuleCache::State {
  // A load in progress. Threads that request it meanwhile wait for its result.
  struct Flight {
    std::shared_ptr<const CubinRecord> record;
    std::optional<Outcome> outcome;
    std::uint64_t bytes = 0;  // counts towards the limit
  };

  struct Slot {
    Modules modules;  // of records that launch differently
    std::shared_ptr<const Device> device;
    std::shared_ptr<Flight> flight;

    std::shared_ptr<const Module> find(const CubinRecord& record) const {
      for (const auto& module : modules) {
        if (launch_alike(module->record(), record)) return module;
      }
      return nullptr;
    }
  };

  ModuleLimit limit;
  LogSink log;
  mutable std::mutex mutex;
  std::condition_variable landed;
  std::map<Key, Slot> slots;
  std::atomic<std::uint64_t> clock{1};
  std::atomic<std::uint64_t> loaded_image_bytes{0};
  // The retired modules that a trim unloads after it has waited, with the time of the trim. They
  // stay in their slots. A request that takes one back ends its mark.
  std::map<const Module*, std::uint64_t> marked;

  // The functions below REQUIRE that the mutex is held.
  std::uint64_t tick();
  std::uint64_t bytes_on(const Driver* driver, int device) const;
  Result<void> check_limit(const Device& device, const CubinRecord& record, std::uint64_t bytes) const;
  // Marks retired modules for the trim of this time, and returns their devices.
  Devices mark_retired(std::uint64_t trim, std::uint64_t bytes, std::optional<int> device);
  // Ends the marks of a trim. Removes and returns the modules that still had one if `take` is true.
  Modules end_marks(std::uint64_t trim, bool take);
};

std::uint64_t ModuleCache::State::tick() {
  const std::uint64_t now = clock.fetch_add(1, std::memory_order_relaxed) + 1;
  for (const auto& [key, slot] : slots) {
    for (const auto& module : slot.modules) {
      if (module.use_count() > 1) module->note_use(now);
    }
  }
  return now;
}

std::uint64_t ModuleCache::State::bytes_on(const Driver* driver, int device) const {
  std::uint64_t bytes = 0;
  for (const auto& [key, slot] : slots) {
    if (std::get<0>(key) != driver || std::get<1>(key) != device) continue;
    for (const auto& module : slot.modules)
      bytes += module->bytes();
    if (slot.flight != nullptr) bytes += slot.flight->bytes;
  }
  return bytes;
}

Result<void> ModuleCache::State::check_limit(const Device& device, const CubinRecord& record,
                                             std::uint64_t bytes) const {
  if (limit.bytes == 0) return {};
  const std::uint64_t loaded = bytes_on(device.driver().get(), device.ordinal());
  if (loaded + bytes <= limit.bytes) return {};
  Error error{ErrorCode::unavailable,
              KernelSubject{device, record}.text("loading") + ": its " + std::to_string(bytes) +
                  " bytes and the " + std::to_string(loaded) + " of loaded modules exceed the limit of " +
                  std::to_string(limit.bytes),
              "unload modules with `Runtime::trim()`, or raise `RuntimeOptions::module_limit`"};
  if (limit.excess == ModuleLimit::Excess::error) return error;
  cubinet::log(log, LogLevel::warning, error.to_line());
  return {};
}

Devices ModuleCache::State::mark_retired(std::uint64_t trim, std::uint64_t bytes, std::optional<int> device) {
  std::vector<std::pair<const Module*, const Slot*>> retired;
  for (const auto& [key, slot] : slots) {
    for (const auto& module : slot.modules) {
      if (module.use_count() == 1 && is_on(*module, device) && !marked.contains(module.get()))
        retired.emplace_back(module.get(), &slot);
    }
  }
  std::stable_sort(retired.begin(), retired.end(),
                   [](const auto& a, const auto& b) { return a.first->last_use() < b.first->last_use(); });
  Devices devices;
  std::uint64_t freed = 0;
  for (const auto& [module, slot] : retired) {
    if (freed >= bytes) break;
    freed += module->bytes();
    marked[module] = trim;
    devices.insert(slot->device);
  }
  return devices;
}

// Nobody else can take a module whose only owner is the cache, because the mutex is held.
Modules ModuleCache::State::end_marks(std::uint64_t trim, bool take) {
  Modules taken;
  for (auto slot = slots.begin(); slot != slots.end();) {
    std::erase_if(slot->second.modules, [&](const auto& module) {
      const auto mark = marked.find(module.get());
      if (mark == marked.end() || mark->second != trim) return false;
      marked.erase(mark);
      if (take) taken.push_back(module);
      return take;
    });
    const bool empty = slot->second.modules.empty() && slot->second.flight == nullptr;
    slot = empty ? slots.erase(slot) : std::next(slot);
  }
  return taken;
}

ModuleCache::ModuleCache(ModuleLimit limit, LogSink log) : state_(std::make_unique<State>()) {
  state_->limit = limit;
  state_->log = std::move(log);
}

ModuleCache::~ModuleCache() = default;

Result<std::shared_ptr<const Module>> ModuleCache::get_or_load(const std::shared_ptr<const Device>& device,
                                                               const Cubin& cubin) {
  if (device == nullptr || cubin.record == nullptr || cubin.image == nullptr)
    return Module::load(device, cubin);
  // This check precedes the lock: in a forked child, a thread of the parent may hold the lock for
  // ever.
  CUBINET_TRY(device->driver()->check_process());
  const Key key{device->driver().get(), device->ordinal(), cubin.record->digest};
  const auto flight = std::make_shared<State::Flight>();
  flight->record = cubin.record;
  flight->bytes = device_bytes(*cubin.record, *cubin.image);
  {
    std::unique_lock lock(state_->mutex);
    while (true) {
      if (const auto slot = state_->slots.find(key); slot != state_->slots.end()) {
        if (auto found = slot->second.find(*cubin.record)) {
          state_->marked.erase(found.get());
          return found;
        }
        if (const std::shared_ptr<State::Flight> other = slot->second.flight) {
          state_->landed.wait(lock, [&] { return other->outcome.has_value(); });
          if (launch_alike(*other->record, *cubin.record)) return *other->outcome;
          continue;
        }
      }
      CUBINET_TRY(state_->check_limit(*device, *cubin.record, flight->bytes));
      State::Slot& slot = state_->slots[key];
      slot.flight = flight;
      slot.device = device;
      break;
    }
  }
  Outcome outcome = load_without_throwing(device, cubin);
  if (outcome) state_->loaded_image_bytes.fetch_add(cubin.record->size, std::memory_order_relaxed);
  {
    const std::lock_guard lock(state_->mutex);
    const auto slot = state_->slots.find(key);
    // A flight that forget() removed leaves nothing.
    if (slot != state_->slots.end() && slot->second.flight == flight) {
      slot->second.flight = nullptr;
      if (outcome) slot->second.modules.push_back(*outcome);
      if (slot->second.modules.empty()) state_->slots.erase(slot);
    }
    flight->outcome = outcome;
    state_->tick();
  }
  state_->landed.notify_all();
  return outcome;
}

std::uint64_t ModuleCache::loaded_image_bytes() const {
  return state_->loaded_image_bytes.load(std::memory_order_relaxed);
}

Result<TrimmedModules> ModuleCache::trim(std::uint64_t bytes, std::optional<int> device) {
  std::uint64_t time = 0;
  Devices devices;
  {
    const std::lock_guard lock(state_->mutex);
    time = state_->tick();
    devices = state_->mark_retired(time, bytes, device);
  }
  std::optional<Error> failure;
  for (const auto& waited : devices) {
    if (auto idle = wait_for(*waited); !idle) {
      failure = std::move(idle).error();
      break;
    }
  }
  Modules retired;
  {
    const std::lock_guard lock(state_->mutex);
    retired = state_->end_marks(time, !failure);
  }
  if (failure) return *std::move(failure);
  TrimmedModules trimmed;
  for (auto& module : retired) {
    ++trimmed.modules;
    trimmed.bytes += module->bytes();
    module.reset();
  }
  return trimmed;
}

void ModuleCache::forget(int device) {
  Modules forgotten;  // unloaded after the lock is released
  const std::lock_guard lock(state_->mutex);
  for (auto slot = state_->slots.begin(); slot != state_->slots.end();) {
    if (std::get<1>(slot->first) != device) {
      ++slot;
      continue;
    }
    for (const auto& module : slot->second.modules) {
      state_->marked.erase(module.get());
      forgotten.push_back(module);
    }
    slot = state_->slots.erase(slot);
  }
}

ModuleMemory ModuleCache::memory(std::optional<int> device) const {
  ModuleMemory memory;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [key, slot] : state_->slots) {
    for (const auto& module : slot.modules) {
      if (!is_on(*module, device)) continue;
      ++memory.modules;
      memory.bytes += module->bytes();
      if (module.use_count() != 1) continue;
      ++memory.retired_modules;
      memory.retired_bytes += module->bytes();
    }
  }
  return memory;
}

std::uint64_t ModuleCache::now() const {
  return state_->clock.load(std::memory_order_relaxed);
}

std::uint64_t ModuleCache::tick() {
  const std::lock_guard lock(state_->mutex);
  return state_->tick();
}

}  // namespace cubinet
