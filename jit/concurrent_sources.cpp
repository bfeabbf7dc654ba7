// SPDX-License-Identifier: Apache-2.0
#include "concurrent_sources.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/jit/compiler.hpp>

#include <mutex>

namespace cubinet {

void for_each_source(std::size_t count, const std::function<void(std::size_t)>& work) {
  static std::mutex one_at_a_time;
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  parallel_for(count, lock && count > 1 ? default_jobs() : 1, work);
}

}  // namespace cubinet
