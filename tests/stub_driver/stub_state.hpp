// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"
#include "stub_control.h"
#include "stub_cubin.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <type_traits>
#include <utility>
#include <vector>

// The structures behind the driver's opaque handles.
struct CUctx_st {
  int device = 0;
  unsigned retains = 0;
};
struct CUkern_st {
  const cubinet::stub::KernelImage* image = nullptr;
  const cubinet::stub::CubinImage* cubin = nullptr;
};
struct CUfunc_st {
  const cubinet::stub::KernelImage* image = nullptr;
  CUcontext context = nullptr;
  std::uint32_t dynamic_shared_limit = 0;
  bool non_portable_cluster = false;
  bool destroyed = false;  // its context was reset
  std::weak_ptr<const char> loaded;
};
// A library or a module. A module has a context and provides functions. A library has no context
// and provides kernels.
struct CUlib_st {
  cubinet::stub::CubinImage cubin;
  bool visible = false;  // some device can run it
  std::shared_ptr<const char> loaded = std::make_shared<const char>();
  std::map<std::string, CUkern_st> kernels;
  std::list<CUfunc_st> functions;  // those of a context that was reset stay: programs hold them
  std::map<std::pair<const void*, CUcontext>, CUdeviceptr> globals;
};
struct CUmod_st {
  CUlib_st library;
  CUcontext context = nullptr;
};
struct CUuserObject_st {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};
// A launch in a graph. `loaded` expires when its library or module is unloaded.
struct CapturedLaunch {
  cubinet_stub_launch_record record;
  std::weak_ptr<const char> loaded;
};
struct CUgraph_st {
  std::vector<CapturedLaunch> launches;
  std::vector<CUuserObject> objects;
};
struct CUgraphExec_st {
  std::vector<CapturedLaunch> launches;
  std::vector<CUuserObject> objects;
};
struct CUstream_st {
  CUcontext context = nullptr;
  CUgraph capturing = nullptr;  // owned by State::graphs
};
struct CUevent_st {
  CUcontext context = nullptr;
  std::optional<std::chrono::steady_clock::time_point> recorded;
};

namespace cubinet::stub {

struct Device {
  int major = 9;
  int minor = 0;
  std::unique_ptr<CUctx_st> context;
};

// Device memory. It is host memory, aligned to 256 bytes like the driver's.
struct Memory {
  struct alignas(256) Line {
    std::array<std::byte, 256> bytes;
  };
  std::vector<Line> lines;
  std::size_t size = 0;
  int device = 0;

  std::byte* data() { return lines.front().bytes.data(); }
};

struct Fault {
  std::atomic<unsigned> countdown = 0;  // 0: none
  std::atomic<int> result = 0;
};

// A container that owns every object of one kind until the caller destroys it.
template <class Object>
class Objects {
 public:
  Object* add() {
    auto object = std::make_unique<Object>();
    Object* handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  bool contains(const Object* handle) const { return objects_.count(handle) != 0; }
  bool remove(const Object* handle) { return objects_.erase(handle) != 0; }
  template <class Predicate>
  Object* find(Predicate is_wanted) const {
    for (const auto& object : objects_) {
      if (is_wanted(*object.second)) return object.second.get();
    }
    return nullptr;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& object : objects_)
      visit(*object.second);
  }
  unsigned size() const { return static_cast<unsigned>(objects_.size()); }
  void clear() { objects_.clear(); }

 private:
  std::map<const Object*, std::unique_ptr<Object>> objects_;
};

// The current state of the driver. `mutex` guards all members except the atomics.
struct State {
  std::mutex mutex;
  std::atomic<int> version = 13000;
  std::atomic<bool> shut_down = false;
  std::atomic<pid_t> process = 0;  // the process that called cuInit
  std::vector<Device> devices;
  std::vector<std::string> hidden;
  Objects<CUlib_st> libraries;
  Objects<CUmod_st> modules;
  Objects<CUstream_st> streams;
  Objects<CUevent_st> events;
  Objects<CUgraph_st> graphs;
  Objects<CUgraphExec_st> executable_graphs;
  Objects<CUuserObject_st> user_objects;
  std::map<CUdeviceptr, Memory> memory;
  std::vector<cubinet_stub_launch_record> launches;

  std::array<std::atomic<unsigned>, kDriverFunctions.size()> calls{};
  std::array<Fault, kDriverFunctions.size()> faults{};
  std::array<std::atomic<unsigned>, kDriverFunctions.size()> delays{};
};

State& state();
// Returns the calling thread's context stack.
std::vector<CUcontext>& context_stack();
// The next four functions REQUIRE that the mutex is held. Returns nullptr if no context is current.
CUcontext current_context();
Device* device_of(CUdevice device);
// Allocates memory for a variable and fills it with its initial value.
CUdeviceptr place_global(const std::vector<std::uint8_t>& content, int device);
// Returns the most shared memory that a block may request on a device.
std::uint32_t shared_limit(int major, int minor);
void reset();

// Returns the index of a function in the loader's table, or nullopt for an unknown name.
std::optional<std::size_t> index_of(const char* function);
// Counts a call. Returns the result to return instead of executing the call, if a fault is set.
std::optional<CUresult> enter(std::size_t function);

// The stub's functions, with the names and signatures of the table.
#define CUBINET_STUB_FUNCTION(name, version) std::remove_pointer_t<PFN_##name##_v##version> stub_##name;
CUBINET_DRIVER_FUNCTIONS(CUBINET_STUB_FUNCTION)
#undef CUBINET_STUB_FUNCTION

}  // namespace cubinet::stub
