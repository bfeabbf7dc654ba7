// SPDX-License-Identifier: Apache-2.0
#include "link_thread.hpp"

#include "root_folder.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/result_guard.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <signal.h>
#include <system_error>
#include <thread>

namespace cubinet {
namespace {

struct LinkWork {
  const std::function<void()>* work;
  std::exception_ptr thrown;
  bool done = false;
  bool guarded = false;  // ResultGuard of the waiting thread
};

// The queue lives as long as the process, because its thread is never joined.
struct LinkQueue {
  ForkGuard guard;
  std::atomic<bool> lock_is_left{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<LinkWork*> waiting;  // guarded by mutex, as what it points to

  void serve() {
    // Only the program's threads handle signals.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    enter_root_folder();
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return !waiting.empty(); });
      LinkWork* const next = waiting.front();
      waiting.pop_front();
      lock.unlock();
      try {
        const ResultGuard misuse(next->guarded);
        (*next->work)();
      } catch (...) {
        next->thrown = std::current_exception();
      }
      lock.lock();
      next->done = true;
      changed.notify_all();
    }
  }
};

std::mutex queue_mutex;
LinkQueue* queue_of_process = nullptr;  // guarded by queue_mutex

Result<LinkQueue*> link_queue() {
  const std::lock_guard lock(queue_mutex);
  if (queue_of_process != nullptr && queue_of_process->guard.in_original_process()) return queue_of_process;
  if (queue_of_process != nullptr && queue_of_process->lock_is_left) {
    return Error{
        ErrorCode::unavailable,
        "nothing can be linked in this process: the one that it was forked from had nvJitLink refuse a "
        "library, which leaves a lock of it held",
        "start workers by exec (spawn), or fork before anything is linked; what a store holds is found"};
  }
  auto made = std::make_unique<LinkQueue>();
  try {
    std::thread([queue = made.get()] { queue->serve(); }).detach();
  } catch (const std::system_error&) {
    return Error{ErrorCode::unavailable, "no thread is to be had for linking", "raise the limit on threads"};
  }
  queue_of_process = made.release();
  return queue_of_process;
}

}  // namespace

Result<void> run_in_link_thread(const std::function<void()>& work) {
  CUBINET_TRY_ASSIGN(LinkQueue* const queue, link_queue());
  LinkWork mine{&work, nullptr, false, ResultGuard::guards_this_thread()};
  {
    std::unique_lock lock(queue->mutex);
    queue->waiting.push_back(&mine);
    queue->changed.notify_all();
    queue->changed.wait(lock, [&] { return mine.done; });
  }
  if (mine.thrown) std::rethrow_exception(mine.thrown);
  return {};
}

void leave_link_lock() {
  const std::lock_guard lock(queue_mutex);
  if (queue_of_process != nullptr) queue_of_process->lock_is_left = true;
}

}  // namespace cubinet
