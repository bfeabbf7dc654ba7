// SPDX-License-Identifier: Apache-2.0
#include "without_gil.hpp"

#include <atomic>
#include <chrono>
#include <cxxabi.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace cubinet_python {
namespace {

std::atomic<int> threads_inside = 0;
std::atomic<bool> ended = false;
std::thread::id ending_thread;  // written before `ended`

// The other threads do not exist in a forked child.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] { threads_inside = 0; });

[[noreturn]] void sleep_until_the_process_ends() {
  for (;;)
    pause();
}

}  // namespace

LibraryUse::LibraryUse() {
  ++threads_inside;
}

LibraryUse::~LibraryUse() {
  --threads_inside;
}

WithoutGil::WithoutGil() {
  // Python ends a thread of its own accord only when it takes the GIL, so this one still has it.
  const bool is_late = ended && std::this_thread::get_id() != ending_thread;
  if (!is_late) ++threads_inside;
  state_ = PyEval_SaveThread();
  if (is_late) sleep_until_the_process_ends();
}

WithoutGil::~WithoutGil() {
  --threads_inside;
  try {
    PyEval_RestoreThread(state_);
  } catch (const abi::__forced_unwind&) {
    sleep_until_the_process_ends();
  }
}

bool calls_have_ended() {
  return ended;
}

void end_calls() {
  ending_thread = std::this_thread::get_id();
  ended = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (threads_inside != 0 && std::chrono::steady_clock::now() < end) {
    PyThreadState* const state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
}

}  // namespace cubinet_python
