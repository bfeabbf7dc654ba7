// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace cubinet {

// A shared mutex that a waiting writer gets before new readers. With std::shared_mutex, threads
// that look one kernel up in turn keep every release, trim and first request waiting. A thread must
// not lock it twice. Use it with std::shared_lock and std::unique_lock.
class SlotMutex {
 public:
  SlotMutex() = default;
  SlotMutex(const SlotMutex&) = delete;
  SlotMutex& operator=(const SlotMutex&) = delete;
  ~SlotMutex() { pthread_rwlock_destroy(&lock_); }

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
};

}  // namespace cubinet
