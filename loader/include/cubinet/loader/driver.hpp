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

// CUDA's own handle types, re-declared so that no header of ours needs <cuda.h>.
using CUstream = struct CUstream_st*;
using CUcontext = struct CUctx_st*;
using CUfunction = struct CUfunc_st*;

namespace cubinet {

class ForkGuard;   // base: tells a process from its children
struct DriverApi;  // loader/driver_api.hpp: the table of driver functions, private

// What a device is and can do, read once.
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

  // "device 0 (NVIDIA H200)", for messages.
  std::string to_string() const;
};

// The CUDA driver, opened at run time; cuInit has succeeded. Immutable and thread-safe; shared by everything
// that was made through it. Told apart after fork: every call in a child process of the one that opened it
// gives unsupported (a CUDA context does not survive fork), never a crash.
class Driver {
 public:
  // `library` nullopt: the soname libcuda.so.1, as the dynamic loader finds it.
  // unavailable when there is no such library or no device; unsupported when the driver is older than
  // CUDA 11.4 or lacks a function that has to be there, naming it and the version that introduced it.
  static Result<std::shared_ptr<const Driver>> open(const std::optional<std::string>& library = {},
                                                    LogSink log = {});
  ~Driver();

  int version() const { return version_; }  // as cuDriverGetVersion says it: 13000 for CUDA 13.0
  const std::string& library_path() const { return library_path_; }
  const std::vector<DeviceProperties>& devices() const { return devices_; }
  const DriverApi& api() const { return *api_; }
  const LogSink& log_sink() const { return log_; }
  // Whether cuLibrary* is there (CUDA 12.0); without it modules are loaded a context at a time.
  bool has_libraries() const;

  // True in the process that opened the driver. No system call.
  bool in_opening_process() const;
  // unsupported in any other process, the remedy included.
  Result<void> check_process() const;
  // An error for a failed driver call: "<what>: <function> gives CUDA_ERROR_… (number), text". corruption or
  // unsupported for what the driver says of an image, else driver.
  Error error(int result, const char* function, const std::string& what) const;
  // The same for calls whose failure can only be reported: logs a warning. Silent when the driver has shut
  // down already, as it has where static objects are destroyed at process exit.
  void report(int result, const char* function, std::string_view what) const;

 private:
  Driver();
  Result<void> read_devices();

  std::unique_ptr<const DriverApi> api_;
  std::unique_ptr<const ForkGuard> fork_guard_;
  std::string library_path_;
  std::vector<DeviceProperties> devices_;
  LogSink log_;
  int version_ = 0;
};

// A device with its primary context retained for as long as the object lives. Thread-safe. Never changes
// which context is current for the calling thread, beyond the duration of a call.
class Device {
 public:
  // invalid_argument for an ordinal that the machine does not have.
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

  // Makes the device's primary context current for the calling thread until the guard is destroyed; where it
  // is current already, nothing is changed. Guards of one thread are destroyed in the reverse order of their
  // making.
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

 private:
  Device(std::shared_ptr<const Driver> driver, int ordinal, int handle, CUcontext context)
      : driver_(std::move(driver)), ordinal_(ordinal), handle_(handle), context_(context) {}
  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  int handle_;  // the CUdevice
  CUcontext context_;
};

}  // namespace cubinet
