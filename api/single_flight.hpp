// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace cubinet {

// Joins concurrent requests for one key: the first caller does the work, the others wait and share
// its result, even an error. Nothing is remembered afterwards: the caller must store results where
// later callers look first. Thread-safe. The work runs without a lock held and must not request its
// own key. A joined caller gets busy after `limit`.
template <class Key, class Value>
class SingleFlight {
 public:
  // The default is twice the longest wait for another process's build. A longer compilation hangs.
  explicit SingleFlight(std::chrono::milliseconds limit = std::chrono::minutes(20)) : limit_(limit) {}

  template <class Work>
  Result<Value> run(const Key& key, Work&& work) {
    bool leads = false;
    const std::shared_ptr<Flight> flight = join(key, leads);
    if (!leads) return flight->wait(limit_);
    // Ends the flight even if the work throws (out of memory), so that nobody waits forever.
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
    // Allocated before the entry is added, so that running out of memory leaves no entry without an
    // owner.
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
