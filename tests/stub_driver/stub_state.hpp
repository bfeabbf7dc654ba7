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
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <type_traits>
#include <utility>
#include <vector>

// The driver's opaque handles are these structures.
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
};
// A module has a context and gives functions; a library has none and gives kernels.
struct CUlib_st {
  cubinet::stub::CubinImage cubin;
  bool visible = false;  // some device can run it
  std::map<std::string, CUkern_st> kernels;
  std::map<std::pair<const void*, CUcontext>, CUfunc_st> functions;
  std::map<std::pair<const void*, CUcontext>, CUdeviceptr> globals;
};
struct CUmod_st {
  CUlib_st library;
  CUcontext context = nullptr;
};
struct CUgraph_st {
  std::vector<cubinet_stub_launch_record> launches;
};
struct CUgraphExec_st {
  std::vector<cubinet_stub_launch_record> launches;
};
struct CUstream_st {
  CUcontext context = nullptr;
  bool capturing = false;
  std::vector<cubinet_stub_launch_record> captured;
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

// Device memory: host memory that lies where the driver's would, at multiples of 256 bytes.
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

// Owns every object of one kind that the caller has not destroyed.
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
  unsigned size() const { return static_cast<unsigned>(objects_.size()); }
  void clear() { objects_.clear(); }

 private:
  std::map<const Object*, std::unique_ptr<Object>> objects_;
};

// What the driver is at this moment. `mutex` guards all but the atomics.
struct State {
  std::mutex mutex;
  std::atomic<int> version = 13000;
  std::atomic<bool> shut_down = false;
  std::atomic<pid_t> process = 0;  // that called cuInit
  std::vector<Device> devices;
  std::vector<std::string> hidden;
  Objects<CUlib_st> libraries;
  Objects<CUmod_st> modules;
  Objects<CUstream_st> streams;
  Objects<CUevent_st> events;
  Objects<CUgraph_st> graphs;
  Objects<CUgraphExec_st> executable_graphs;
  std::map<CUdeviceptr, Memory> memory;
  std::vector<cubinet_stub_launch_record> launches;

  std::array<std::atomic<unsigned>, kDriverFunctions.size()> calls{};
  std::array<Fault, kDriverFunctions.size()> faults{};
  std::array<std::atomic<unsigned>, kDriverFunctions.size()> delays{};
};

State& state();
// The calling thread's context stack.
std::vector<CUcontext>& context_stack();
// REQUIRES: the mutex is held, for these four. nullptr where nothing is current.
CUcontext current_context();
Device* device_of(CUdevice device);
// Allocates memory for a variable, with what it begins with.
CUdeviceptr place_global(const std::vector<std::uint8_t>& content, int device);
// The most shared memory that a block may ask for on a device.
std::uint32_t shared_limit(int major, int minor);
void reset();

// The place of a function in the loader's table; nullopt for an unknown name.
std::optional<std::size_t> index_of(const char* function);
// Counts a call and tells what it has to answer instead of being carried out.
std::optional<CUresult> enter(std::size_t function);

// The stub's functions, named as the table names them, with the table's signatures.
#define CUBINET_STUB_FUNCTION(name, version) std::remove_pointer_t<PFN_##name##_v##version> stub_##name;
CUBINET_DRIVER_FUNCTIONS(CUBINET_STUB_FUNCTION)
#undef CUBINET_STUB_FUNCTION

}  // namespace cubinet::stub
