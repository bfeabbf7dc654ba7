// SPDX-License-Identifier: Apache-2.0
#include <cubinet/loader/module_cache.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace cubinet {
namespace {

using Outcome = Result<std::shared_ptr<const Module>>;

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

constexpr std::size_t kSweepThreshold = 64;

}  // namespace

struct ModuleCache::State {
  // A load in progress. Threads that request it meanwhile wait for its result.
  struct Flight {
    std::shared_ptr<const CubinRecord> record;
    std::optional<Outcome> outcome;
  };

  struct Slot {
    std::weak_ptr<const Module> module;
    std::shared_ptr<Flight> flight;
  };

  std::mutex mutex;
  std::condition_variable landed;
  std::map<Key, Slot> slots;
  std::size_t sweep_at = kSweepThreshold;

  // Removes modules that no longer exist. Runs at doubling sizes only, so that the cost per load is
  // constant.
  void sweep() {
    if (slots.size() < sweep_at) return;
    for (auto slot = slots.begin(); slot != slots.end();) {
      slot = slot->second.module.expired() && slot->second.flight == nullptr ? slots.erase(slot)
                                                                             : std::next(slot);
    }
    sweep_at = std::max(kSweepThreshold, slots.size() * 2);
  }
};

ModuleCache::ModuleCache() : state_(std::make_unique<State>()) {}
ModuleCache::~ModuleCache() = default;

Result<std::shared_ptr<const Module>> ModuleCache::get_or_load(const std::shared_ptr<const Device>& device,
                                                               const Cubin& cubin) {
  if (device == nullptr || cubin.record == nullptr) return Module::load(device, cubin);
  // This check precedes the lock: in a forked child, a thread of the parent may hold the lock for
  // ever.
  CUBINET_TRY(device->driver()->check_process());
  const Key key{device->driver().get(), device->ordinal(), cubin.record->digest};
  const auto flight = std::make_shared<State::Flight>(State::Flight{cubin.record, std::nullopt});
  // Declared before the lock, so that a module of another record is unloaded after the unlock if
  // this was its last user.
  std::shared_ptr<const Module> found;
  {
    std::unique_lock lock(state_->mutex);
    while (true) {
      State::Slot& slot = state_->slots[key];
      found = slot.module.lock();
      if (found != nullptr && launch_alike(found->record(), *cubin.record)) return found;
      if (slot.flight == nullptr) {
        slot.flight = flight;
        break;
      }
      const std::shared_ptr<State::Flight> other = slot.flight;
      state_->landed.wait(lock, [&] { return other->outcome.has_value(); });
      if (launch_alike(*other->record, *cubin.record)) return *other->outcome;
    }
  }
  Outcome outcome = load_without_throwing(device, cubin);
  {
    const std::lock_guard lock(state_->mutex);
    State::Slot& slot = state_->slots[key];
    if (outcome) slot.module = *outcome;
    slot.flight = nullptr;
    flight->outcome = outcome;
    state_->sweep();
  }
  state_->landed.notify_all();
  return outcome;
}

std::size_t ModuleCache::size() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<std::size_t>(
      std::count_if(state_->slots.begin(), state_->slots.end(),
                    [](const auto& slot) { return !slot.second.module.expired(); }));
}

}  // namespace cubinet
