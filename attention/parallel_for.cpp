// SPDX-License-Identifier: Apache-2.0
#include "parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace cubinet {

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  const std::size_t wanted = threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1u);
  std::atomic<std::size_t> next{0};
  const auto drain = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1))
      work(i);
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(wanted, count); ++i)
    others.emplace_back(drain);
  drain();
  for (std::thread& thread : others)
    thread.join();
}

}  // namespace cubinet
