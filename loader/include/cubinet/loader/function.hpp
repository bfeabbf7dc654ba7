// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/global.hpp>
#include <cubinet/spec/cubin.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace cubinet {

class LoadedFunction;  // loader/loaded_function.hpp: what a launch needs to know, private
class Module;

// How to launch. What is left at its default comes from the entry point's record.
struct LaunchConfig {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};     // blocks; all at least 1
  std::array<std::uint32_t, 3> block = {0, 1, 1};    // threads; x = 0: the record's block
  std::array<std::uint32_t, 3> cluster = {0, 0, 0};  // blocks of a cluster; x = 0: the record's
  std::uint32_t dynamic_shared_bytes = UINT32_MAX;   // UINT32_MAX: the record's
  CUstream stream = nullptr;                         // the caller's, of the device's primary context
  // Lets the kernel start before its predecessor in the stream ends. Honoured on devices of 9.0 and up, for
  // functions whose record says that they wait themselves; an ordinary launch otherwise.
  bool programmatic_launch = false;
  bool cooperative = false;  // also when the record says so
  // Blocks of a cluster go to different multiprocessors where they can, instead of where the driver likes.
  bool spreads_clusters = false;
};

// A launchable function of a loaded module on one device. A cheap handle that keeps its module loaded: copy
// it freely, and keep one for as long as a CUDA graph that holds the kernel is launched. Launching is
// thread-safe and takes no lock; it does not allocate, synchronise or change the current context. The calling
// thread must have the device's primary context current (as after cudaSetDevice, or Device::make_current).
class Function {
 public:
  Function() = default;

  explicit operator bool() const { return module_ != nullptr; }
  // REQUIRES for these four: not a default-constructed handle.
  const EntryPoint& entry_point() const;
  const CubinRecord& record() const;
  const Device& device() const;
  CUfunction handle() const;

  // Launches with the arguments by value, each of the exact type that the kernel declares. invalid_argument
  // when their number or sizes are not what the driver says of the loaded kernel, for an empty or too large
  // grid, block or cluster, and for an empty handle; unsupported for what the device or driver cannot do,
  // with the numbers. Every driver error names the kernel and the device.
  template <class... Arguments>
  Result<void> launch(const LaunchConfig& config, const Arguments&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...),
                  "kernel arguments are copied byte by byte");
    const void* pointers[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    static constexpr std::uint32_t kSizes[sizeof...(Arguments) + 1] = {
        static_cast<std::uint32_t>(sizeof(Arguments))..., 0};
    return launch_raw(config, pointers, kSizes, sizeof...(Arguments));
  }

  // The same for callers that assemble arguments at run time: `count` pointers and sizes in bytes.
  Result<void> launch_raw(const LaunchConfig& config, const void* const* arguments,
                          const std::uint32_t* sizes, std::size_t count) const;

  // A variable of the module that the function is of: Module::global.
  Result<Global> global(std::string_view name) const;

  // How many blocks of this function fit on one multiprocessor, at once.
  Result<int> maximum_blocks_per_multiprocessor(std::uint32_t threads,
                                                std::uint32_t dynamic_shared_bytes) const;
  // How many of the launch's clusters the device holds at once. unsupported where the device or the driver
  // has no clusters.
  Result<int> maximum_active_clusters(const LaunchConfig& config) const;

 private:
  friend class Module;
  std::shared_ptr<const Module> module_;
  const LoadedFunction* loaded_ = nullptr;  // the module's
};

}  // namespace cubinet
