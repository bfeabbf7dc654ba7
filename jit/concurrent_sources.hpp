// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace cubinet {

// Calls work(i) for i from 0 to count-1, each of which compiles one source of a request. One
// request at a time does so concurrently, so that concurrent requests do not multiply threads.
// Others do it in ascending order on this thread.
void for_each_source(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace cubinet
