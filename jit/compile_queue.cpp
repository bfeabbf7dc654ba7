// SPDX-License-Identifier: Apache-2.0
#include "compile_queue.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

namespace cubinet {

void run_compile_queue(std::size_t count, unsigned jobs,
                       const std::function<Result<CompileOutput>(std::size_t)>& compile,
                       const std::function<void(std::size_t, Result<CompileOutput>)>& done,
                       const std::function<bool()>& cancelled) {
  std::atomic<std::size_t> next{0};
  std::mutex callbacks;
  const auto stopped = [&] {
    const std::lock_guard lock(callbacks);
    return cancelled && cancelled();
  };
  const auto work = [&] {
    while (!stopped()) {
      const std::size_t index = next.fetch_add(1);
      if (index >= count) return;
      Result<CompileOutput> outcome = compile(index);
      const std::lock_guard lock(callbacks);
      if (done) done(index, std::move(outcome));
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min<std::size_t>(std::max(jobs, 1U), count);
  try {
    while (threads.size() + 1 < wanted)
      threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those there are, and this one, do all of it.
  }
  work();
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace cubinet
