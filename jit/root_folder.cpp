// SPDX-License-Identifier: Apache-2.0
#include "root_folder.hpp"

#include <cubinet/base/result_guard.hpp>

#include <exception>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace cubinet {
namespace {

// The stack is larger than that of a program's first thread. Nested templates need deep recursion,
// and without a stack limit the C library gives a thread only 2 MiB.
constexpr std::size_t kStackBytes = std::size_t{32} << 20;

struct Work {
  const std::function<void()>& work;
  std::exception_ptr thrown;
  bool guarded = false;  // ResultGuard of the waiting thread
};

void* do_work(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  enter_root_folder();
  try {
    const ResultGuard guard(work.guarded);
    work.work();
  } catch (...) {
    work.thrown = std::current_exception();  // an exception that leaves a thread ends the program
  }
  return nullptr;
}

}  // namespace

void enter_root_folder() {
  if (::unshare(CLONE_FS) == 0) static_cast<void>(::chdir("/") == 0);
}

void run_at_root(const std::function<void()>& work) {
  Work shared{work, nullptr, ResultGuard::guards_this_thread()};
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return work();
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t worker = {};
  const int failure = ::pthread_create(&worker, &attributes, do_work, &shared);
  ::pthread_attr_destroy(&attributes);
  if (failure != 0) return work();
  ::pthread_join(worker, nullptr);
  if (shared.thrown) std::rethrow_exception(shared.thrown);
}

}  // namespace cubinet
