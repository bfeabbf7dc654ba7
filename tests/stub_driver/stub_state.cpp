// SPDX-License-Identifier: Apache-2.0
#include "stub_state.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace cubinet::stub {

// Returns the state, which is never destroyed, because a driver is called until the end of a
// process.
State& state() {
  static State& instance = *[] {
    auto* made = new State();
    // For a process that is started with the stub: "8" and "10.0".
    const char* count = std::getenv("CUBINET_STUB_DEVICES");
    made->devices.resize(count == nullptr ? 1 : std::strtoul(count, nullptr, 10));
    const char* capability = std::getenv("CUBINET_STUB_CAPABILITY");
    for (Device& device : made->devices) {
      if (capability != nullptr) std::sscanf(capability, "%d.%d", &device.major, &device.minor);
    }
    return made;
  }();
  return instance;
}

std::vector<CUcontext>& context_stack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}

CUcontext current_context() {
  return context_stack().empty() ? nullptr : context_stack().back();
}

Device* device_of(CUdevice device) {
  auto& devices = state().devices;
  if (device < 0 || static_cast<std::size_t>(device) >= devices.size()) return nullptr;
  return &devices[static_cast<std::size_t>(device)];
}

std::uint32_t shared_limit(int major, int minor) {
  if (major == 9 || major == 10 || major == 11) return 227 * 1024;
  if (major == 8 && (minor == 0 || minor == 7)) return 163 * 1024;
  if (major == 8 || major == 12) return 99 * 1024;
  return 64 * 1024;
}

void reset() {
  State& now = state();
  // A test may have made the destruction of their graphs fail.
  now.user_objects.for_each([](const CUuserObject_st& object) { object.destroy(object.pointer); });
  const std::lock_guard lock(now.mutex);
  now.version = 13000;
  now.shut_down = false;
  now.process = 0;
  now.devices.clear();
  now.devices.resize(1);
  now.hidden.clear();
  now.libraries.clear();
  now.modules.clear();
  now.streams.clear();
  now.events.clear();
  now.graphs.clear();
  now.executable_graphs.clear();
  now.user_objects.clear();
  now.memory.clear();
  now.launches.clear();
  context_stack().clear();
  for (std::size_t i = 0; i < kDriverFunctions.size(); ++i) {
    now.calls[i] = 0;
    now.faults[i].countdown = 0;
    now.delays[i] = 0;
  }
}

std::optional<std::size_t> index_of(const char* function) {
  for (std::size_t i = 0; i < kDriverFunctions.size(); ++i) {
    if (function != nullptr && std::strcmp(kDriverFunctions[i].name, function) == 0) return i;
  }
  return std::nullopt;
}

std::optional<CUresult> enter(std::size_t function) {
  static const std::size_t kInit = *index_of("cuInit");
  static const std::size_t kVersion = *index_of("cuDriverGetVersion");
  static const std::size_t kName = *index_of("cuGetErrorName");
  static const std::size_t kString = *index_of("cuGetErrorString");
  State& now = state();
  ++now.calls[function];
  if (const unsigned delay = now.delays[function]; delay != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
  }
  if (unsigned left = now.faults[function].countdown; left != 0) {
    // Threads race for the countdown. Exactly one of them changes it from 1 to 0.
    while (left != 0 && !now.faults[function].countdown.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 1) return static_cast<CUresult>(now.faults[function].result.load());
  }
  if (function == kVersion || function == kName || function == kString) return std::nullopt;
  if (now.shut_down) return CUDA_ERROR_DEINITIALIZED;
  if (function == kInit) return std::nullopt;
  return now.process == ::getpid() ? std::nullopt : std::optional(CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace cubinet::stub
