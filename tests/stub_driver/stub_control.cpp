// SPDX-License-Identifier: Apache-2.0
#include "stub_control.h"

#include "stub_state.hpp"

#include <cstring>
#include <numeric>

using cubinet::stub::index_of;
using cubinet::stub::state;
using cubinet::stub::State;

void cubinet_stub_reset() {
  cubinet::stub::reset();
}

void cubinet_stub_set_version(int cuda_version) {
  state().version = cuda_version;
}

void cubinet_stub_set_devices(int count, int major, int minor) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.devices.clear();
  now.devices.resize(static_cast<std::size_t>(count));
  for (auto& device : now.devices) {
    device.major = major;
    device.minor = minor;
  }
}

void cubinet_stub_set_capability(int ordinal, int major, int minor) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (auto* device = cubinet::stub::device_of(ordinal)) {
    device->major = major;
    device->minor = minor;
  }
}

void cubinet_stub_fail(const char* function, unsigned nth, int result) {
  if (const auto index = index_of(function)) {
    state().faults[*index].result = result;
    state().faults[*index].countdown = nth;
  }
}

void cubinet_stub_hide(const char* function) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.hidden.emplace_back(function);
}

void cubinet_stub_delay(const char* function, unsigned microseconds) {
  if (const auto index = index_of(function)) state().delays[*index] = microseconds;
}

void cubinet_stub_reset_context(int ordinal) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.libraries.for_each([&](CUlib_st& library) {
    for (CUfunc_st& function : library.functions)
      function.destroyed = function.destroyed || function.context->device == ordinal;
  });
}

void cubinet_stub_shut_down() {
  state().shut_down = true;
}

unsigned cubinet_stub_calls(const char* function) {
  const auto& calls = state().calls;
  if (const auto index = index_of(function)) return calls[*index];
  return std::accumulate(calls.begin(), calls.end(), 0U);
}

unsigned cubinet_stub_live(const char* kind) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (std::strcmp(kind, "image") == 0) return now.libraries.size() + now.modules.size();
  if (std::strcmp(kind, "memory") == 0) return static_cast<unsigned>(now.memory.size());
  if (std::strcmp(kind, "stream") == 0) return now.streams.size();
  if (std::strcmp(kind, "event") == 0) return now.events.size();
  if (std::strcmp(kind, "graph") == 0) return now.graphs.size() + now.executable_graphs.size();
  unsigned retains = 0;
  for (const auto& device : now.devices)
    retains += device.context == nullptr ? 0 : device.context->retains;
  return retains;
}

unsigned cubinet_stub_current_contexts() {
  return static_cast<unsigned>(cubinet::stub::context_stack().size());
}

std::size_t cubinet_stub_launch_count() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.launches.size();
}

int cubinet_stub_launch(std::size_t index, struct cubinet_stub_launch_record* launch) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (index >= now.launches.size()) return 0;
  *launch = now.launches[index];
  return 1;
}
