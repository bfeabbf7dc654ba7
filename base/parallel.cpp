// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/parallel.hpp>
#include <cubinet/base/result_guard.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

class WorkQueue {
 public:
  WorkQueue(std::size_t count, const std::function<void(std::size_t)>& work, const ParallelHooks& hooks)
      : count_(count), work_(work), hooks_(hooks) {}

  void serve() {
    const ResultGuard guard(guarded_);
    std::unique_lock lock(mutex_);
    while (goes_on()) {
      const std::size_t index = next_++;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work_(index);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown && !failure_) failure_ = thrown;
    }
    ++finished_threads_;
    changed_.notify_all();
  }

  // Lets the threads end after their current work unit.
  void stop(std::exception_ptr reason) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(reason);
  }

  void wait_for(std::size_t threads) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100),
                              [&] { return finished_threads_ == threads; })) {
      lock.unlock();
      if (hooks_.tick) hooks_.tick();
      lock.lock();
    }
  }

  std::exception_ptr failure() const { return failure_; }

 private:
  // Returns whether another work unit begins. REQUIRES: the lock is held.
  bool goes_on() {
    if (next_ >= count_ || failure_ || cancelled_) return false;
    try {
      cancelled_ = hooks_.cancelled && hooks_.cancelled();
      return !cancelled_;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  const bool guarded_ = ResultGuard::guards_this_thread();
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  const ParallelHooks& hooks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  std::size_t finished_threads_ = 0;
  bool cancelled_ = false;  // the hook is not called again
  std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work,
                  const ParallelHooks& hooks) {
  WorkQueue queue(count, work, hooks);
  const std::size_t most = threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t wanted = std::min(most, count);
  std::vector<std::thread> workers;
  try {
    if (wanted > 1 || hooks.tick) {
      workers.reserve(wanted);
      while (workers.size() < wanted)
        workers.emplace_back([&queue] { queue.serve(); });
    }
  } catch (const std::exception&) {
    // There is no further thread, or no memory for one. Fewer threads do the same work, at worst
    // this one alone.
  }
  if (workers.empty()) queue.serve();
  try {
    if (!workers.empty()) queue.wait_for(workers.size());
  } catch (...) {
    queue.stop(std::current_exception());
  }
  for (std::thread& worker : workers)
    worker.join();
  if (queue.failure()) std::rethrow_exception(queue.failure());
}

}  // namespace cubinet
