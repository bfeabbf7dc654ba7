// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace cubinet {

// Joins concurrent requests for one key: the first caller does the work, the others wait for its outcome and
// share it, an error included. Nothing is remembered once the work is done: the caller keeps results where
// later callers look first. Thread-safe; the work runs without a lock held and must not ask for its own key.
// Who joined does not wait for good: busy after `limit`.
template <class Key, class Value>
class SingleFlight {
 public:
  // Twice what a build may wait for another process's: a compilation that takes longer hangs.
  explicit SingleFlight(std::chrono::milliseconds limit = std::chrono::minutes(20)) : limit_(limit) {}

  template <class Work>
  Result<Value> run(const Key& key, Work&& work) {
    bool leads = false;
    const std::shared_ptr<Flight> flight = join(key, leads);
    if (!leads) return flight->wait(limit_);
    // Ends the flight also when the work throws (memory exhausted): nobody is left waiting.
    Landing landing{*this, key, *flight, nullptr};
    landing.outcome = std::make_shared<const Result<Value>>(work());
    return *landing.outcome;
  }

 private:
  struct Flight {
    std::mutex mutex;
    std::condition_variable landed;
    bool done = false;
    std::shared_ptr<const Result<Value>> outcome;  // null: the work threw

    Result<Value> wait(std::chrono::milliseconds limit) {
      std::unique_lock lock(mutex);
      if (!landed.wait_for(lock, limit, [this] { return done; })) {
        return Error{ErrorCode::busy,
                     "another thread has worked on the same kernel for more than " +
                         std::to_string(limit.count() / 1000) + " s",
                     "see where that thread hangs"};
      }
      if (outcome != nullptr) return *outcome;
      return Error{ErrorCode::internal, "the request that was joined ended without an outcome"};
    }
  };

  struct Landing {
    SingleFlight& owner;
    const Key& key;
    Flight& flight;
    std::shared_ptr<const Result<Value>> outcome;

    ~Landing() {
      {
        const std::lock_guard lock(owner.mutex_);
        owner.flights_.erase(key);
      }
      const std::lock_guard lock(flight.mutex);
      flight.outcome = outcome;
      flight.done = true;
      flight.landed.notify_all();
    }
  };

  std::shared_ptr<Flight> join(const Key& key, bool& leads) {
    // Made before the entry: where memory is exhausted nothing is left behind that nobody would land.
    auto flight = std::make_shared<Flight>();
    const std::lock_guard lock(mutex_);
    auto [position, inserted] = flights_.try_emplace(key, std::move(flight));
    leads = inserted;
    return position->second;
  }

  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Flight>> flights_;
};

}  // namespace cubinet
