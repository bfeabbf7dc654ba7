// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// CUDA's own handle types, re-declared so that the public headers do not need <cuda.h>.
using CUstream = struct CUstream_st*;
using CUcontext = struct CUctx_st*;
using CUfunction = struct CUfunc_st*;

namespace cubinet {

class DeferredCalls;  // loader/deferred_calls.hpp: private
class ForkGuard;      // base: distinguishes a process from its children
struct DriverApi;     // loader/driver_api.hpp: the table of driver functions, private

// The properties of a device, read once.
struct DeviceProperties {
  int ordinal = 0;
  std::string name;
  ComputeCapability capability;
  std::uint32_t multiprocessors = 0;
  std::uint32_t maximum_shared_bytes_per_block = 0;  // opt-in limit
  std::uint64_t memory_bytes = 0;
  std::string uuid;  // "GPU-…" form
  bool cluster_launch = false;
  bool cooperative_launch = false;

  // Returns "device 0 (NVIDIA H200)", for messages.
  std::string to_string() const;
};

// The CUDA driver, opened at run time and initialised by cuInit. Immutable and thread-safe. Shared
// by every object that was made through it. In a forked child of the process that opened it, every
// call returns unsupported and never crashes, because a CUDA context does not survive fork.
class Driver {
 public:
  // Opens the driver. If `library` is nullopt, opens the soname libcuda.so.1 as the dynamic loader
  // finds it. Errors: unavailable if there is no such library or no device; unsupported if the
  // driver is older than CUDA 11.4 or lacks a required function, which the error names with the
  // version that introduced it.
  static Result<std::shared_ptr<const Driver>> open(const std::optional<std::string>& library = {},
                                                    LogSink log = {});
  ~Driver();

  int version() const { return version_; }  // from cuDriverGetVersion: 13000 for CUDA 13.0
  const std::string& library_path() const { return library_path_; }
  const std::vector<DeviceProperties>& devices() const { return devices_; }
  const DriverApi& api() const { return *api_; }
  DeferredCalls& deferred() const { return *deferred_; }
  const LogSink& log_sink() const { return log_; }
  // Returns whether the driver has cuLibrary* (CUDA 12.0). Without it modules are loaded per
  // context.
  bool has_libraries() const;

  // Returns true in the process that opened the driver. Makes no system call.
  bool in_opening_process() const;
  // Returns unsupported, with a remedy, in any other process.
  Result<void> check_process() const;
  // Returns the error of a failed driver call: "<what>: <function> gives CUDA_ERROR_… (number),
  // text". The code is corruption or unsupported if the driver rejects an image, otherwise driver.
  Error error(int result, const char* function, const std::string& what) const;
  // Logs a warning for a failed call whose error cannot be returned. Logs nothing if the driver has
  // already shut down, as happens when static objects are destroyed at process exit.
  void report(int result, const char* function, std::string_view what) const;

 private:
  Driver();
  Result<void> read_devices();

  std::unique_ptr<const DriverApi> api_;
  std::unique_ptr<const ForkGuard> fork_guard_;
  std::unique_ptr<DeferredCalls> deferred_;
  std::string library_path_;
  std::vector<DeviceProperties> devices_;
  LogSink log_;
  int version_ = 0;
};

// A device whose primary context is retained while the object exists. Thread-safe. Changes the
// calling thread's current context only during a call.
class Device {
 public:
  // Opens a device. Returns invalid_argument for an ordinal that the machine does not have.
  static Result<std::shared_ptr<const Device>> open(std::shared_ptr<const Driver> driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProperties& properties() const {
    return driver_->devices()[static_cast<std::size_t>(ordinal_)];
  }
  const std::shared_ptr<const Driver>& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  int ordinal() const { return ordinal_; }

  // A scope in which the device's primary context is current for the calling thread. Changes
  // nothing if it is already current. Guards of one thread must be destroyed in the reverse order
  // of their construction.
  class ContextGuard {
   public:
    ContextGuard(ContextGuard&& other) noexcept : driver_(std::exchange(other.driver_, nullptr)) {}
    ContextGuard& operator=(ContextGuard&&) = delete;
    ~ContextGuard();

   private:
    friend class Device;
    explicit ContextGuard(const Driver* driver) : driver_(driver) {}
    const Driver* driver_;
  };
  Result<ContextGuard> make_current() const;
  // Returns whether the device's primary context is current for the calling thread.
  bool is_current() const;

 private:
  Device(std::shared_ptr<const Driver> driver, int ordinal, int handle, CUcontext context)
      : driver_(std::move(driver)), ordinal_(ordinal), handle_(handle), context_(context) {}
  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  int handle_;  // the CUdevice
  CUcontext context_;
};

}  // namespace cubinet
