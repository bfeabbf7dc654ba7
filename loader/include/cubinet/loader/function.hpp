// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/global.hpp>
#include <cubinet/spec/cubin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace cubinet {

class LoadedFunction;  // loader/loaded_function.hpp: the launch data of a function, private
class Module;

// The configuration of a launch. Defaults are taken from the entry point's record.
struct LaunchConfig {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};     // blocks; all at least 1
  std::array<std::uint32_t, 3> block = {0, 1, 1};    // threads; x = 0: the record's block
  std::array<std::uint32_t, 3> cluster = {0, 0, 0};  // blocks per cluster; x = 0: the record's
  std::uint32_t dynamic_shared_bytes = UINT32_MAX;   // UINT32_MAX: the record's
  // The caller's stream, which belongs to the device's primary context.
  CUstream stream = nullptr;
  // If true, the kernel may start before its predecessor in the stream ends. Applies to devices of
  // 9.0 and up. The launch is an ordinary one on older devices, and if the record says that the
  // function does not wait itself (EntryPoint::programmatic_launch).
  bool programmatic_launch = false;
  bool cooperative = false;  // also if the record states it
  // If true, blocks of a cluster run on different SMs if possible. Otherwise the driver chooses.
  bool spreads_clusters = false;
};

// A launchable function of a loaded module on one device. It is a cheap handle that keeps its
// module loaded. Copy it freely, and keep one until its last launch has finished on the device, if
// the Runtime may end before. A launch on a stream that is being captured makes the graph keep the
// module too. Launching is thread-safe and takes no lock. It does not allocate, except in a
// capture. It does not synchronise or change the current context. The device's primary context must
// be current for the calling thread (as after cudaSetDevice or Device::make_current).
class Function {
 public:
  Function() = default;

  explicit operator bool() const { return module_ != nullptr; }
  // The next five functions REQUIRE a handle that is not default-constructed.
  const EntryPoint& entry_point() const;
  const CubinRecord& record() const;
  const Device& device() const;
  CUfunction handle() const;
  const std::shared_ptr<const Module>& module() const { return module_; }  // nullptr for an empty handle
  // Begins to read the launch data into the processor's cache. A look-up does it. Calling it early
  // helps a program that launches many Functions in turn.
  void prefetch() const {
    __builtin_prefetch(loaded_);
    __builtin_prefetch(reinterpret_cast<const char*>(loaded_) + 64);
  }
  // Returns the size in bytes of each argument, valid while the handle is kept. Returns nullopt if
  // neither the driver nor the image states them.
  std::optional<std::span<const std::uint32_t>> argument_sizes() const;

  // Launches the kernel with arguments by value, each of the exact type that the kernel declares.
  // Errors: invalid_argument if their number or sizes differ from the driver's data for the loaded
  // kernel, for an empty or too large grid, block or cluster, and for an empty handle; unsupported,
  // with the numbers, if the device or driver does not support the launch. Every driver error names
  // the kernel and the device.
  template <class... Arguments>
  Result<void> launch(const LaunchConfig& config, const Arguments&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...),
                  "kernel arguments are copied byte by byte");
    const void* pointers[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    static constexpr std::uint32_t kSizes[sizeof...(Arguments) + 1] = {
        static_cast<std::uint32_t>(sizeof(Arguments))..., 0};
    return launch_raw(config, pointers, kSizes, sizeof...(Arguments));
  }

  // Launches the kernel with arguments that are assembled at run time: `count` pointers and sizes
  // in bytes.
  Result<void> launch_raw(const LaunchConfig& config, const void* const* arguments,
                          const std::uint32_t* sizes, std::size_t count) const;

  // Returns a variable of the function's module: see Module::global.
  Result<Global> global(std::string_view name) const;

  // Returns the number of blocks of this function that fit on one SM at once.
  Result<int> maximum_blocks_per_multiprocessor(std::uint32_t threads,
                                                std::uint32_t dynamic_shared_bytes) const;
  // Returns the number of the launch's clusters that the device runs at once. Returns unsupported
  // if the device or the driver has no clusters.
  Result<int> maximum_active_clusters(const LaunchConfig& config) const;

 private:
  friend class Module;
  std::shared_ptr<const Module> module_;
  const LoadedFunction* loaded_ = nullptr;  // owned by the module
};

}  // namespace cubinet
