// SPDX-License-Identifier: Apache-2.0
#include "deferred_calls.hpp"
#include "driver_api.hpp"
#include "toolchain_error.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/dynamic_library.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/loader/driver.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace cubinet {
namespace {

constexpr const char* kSoname = "libcuda.so.1";

// Faults of a kernel that ran earlier. The driver returns them from every later call in the
// context, so the call that reports one seldom caused it.
constexpr int kStickyErrors[] = {
    CUDA_ERROR_ECC_UNCORRECTABLE,    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_TIMEOUT,       CUDA_ERROR_ASSERT,
    CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,   CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,           CUDA_ERROR_LAUNCH_FAILED,
};

// Returns the error code. Errors that concern an image are not driver errors, because another image
// may work.
ErrorCode code_for(int result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
      return ErrorCode::corruption;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case kInsufficientLoaderVersion:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::driver;
  }
}

const char* remedy_for(int result) {
  if (std::find(std::begin(kStickyErrors), std::end(kStickyErrors), result) != std::end(kStickyErrors)) {
    return "a kernel that ran earlier on this device has failed and its context is unusable: start the "
           "process anew, "
           "and find the kernel with compute-sanitizer";
  }
  switch (result) {
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return "make the device's primary context current on this thread (cudaSetDevice or "
             "`Device::make_current`) and "
             "pass a stream of that context";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free memory on the device";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "a process that was forked from one that used CUDA cannot use it: start workers by exec (spawn)";
    default:
      return "";
  }
}

Error no_driver(Error cause) {
  cause.message = "there is no CUDA driver: " + cause.message;
  cause.remedy = "install the NVIDIA driver; in a container, give it GPUs (`docker run --gpus all`)";
  return cause;
}

// Returns the UUID in nvidia-smi's form.
std::string uuid_text(const CUuuid& uuid) {
  const std::string hex = to_hex(std::as_bytes(std::span<const char, sizeof(uuid.bytes)>(uuid.bytes)));
  return "GPU-" + hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

// A reader of one device's properties. The first failing call determines the error.
class DeviceReader {
 public:
  DeviceReader(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}

  Result<DeviceProperties> read() {
    const DriverApi& api = driver_.api();
    CUBINET_TRY(check(api.cuDeviceGet(&device_, ordinal_), "cuDeviceGet"));
    DeviceProperties properties;
    properties.ordinal = ordinal_;
    std::array<char, 256> name{};
    CUBINET_TRY(check(api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device_),
                      "cuDeviceGetName"));
    properties.name = name.data();
    CUBINET_TRY_ASSIGN(const int major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    CUBINET_TRY_ASSIGN(const int minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    properties.capability = {static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor)};
    CUBINET_TRY_ASSIGN(const int multiprocessors, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    properties.multiprocessors = static_cast<std::uint32_t>(multiprocessors);
    CUBINET_TRY_ASSIGN(const int shared, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    properties.maximum_shared_bytes_per_block = static_cast<std::uint32_t>(shared);
    CUBINET_TRY_ASSIGN(const int cooperative, attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
    properties.cooperative_launch = cooperative != 0;
    CUBINET_TRY_ASSIGN(properties.cluster_launch, cluster_launch());
    std::size_t bytes = 0;
    CUBINET_TRY(check(api.cuDeviceTotalMem(&bytes, device_), "cuDeviceTotalMem"));
    properties.memory_bytes = bytes;
    CUuuid uuid{};
    CUBINET_TRY(check(api.cuDeviceGetUuid(&uuid, device_), "cuDeviceGetUuid"));
    properties.uuid = uuid_text(uuid);
    return properties;
  }

 private:
  Result<void> check(CUresult result, const char* function) const {
    if (result == CUDA_SUCCESS) return {};
    return driver_.error(result, function,
                         "asking device " + std::to_string(ordinal_) + " for its properties");
  }

  Result<int> attribute(CUdevice_attribute which) const {
    int value = 0;
    CUBINET_TRY(check(driver_.api().cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute"));
    return value;
  }

  // A driver from before clusters (CUDA 11.8) rejects the attribute as invalid, which counts as
  // false.
  Result<bool> cluster_launch() const {
    int value = 0;
    const CUresult result =
        driver_.api().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, device_);
    if (result == CUDA_ERROR_INVALID_VALUE) return false;
    CUBINET_TRY(check(result, "cuDeviceGetAttribute"));
    return value != 0;
  }

  const Driver& driver_;
  int ordinal_;
  CUdevice device_ = 0;
};

// cuInit takes a second on machines with many devices.
ForkHazard being_opened;

}  // namespace

std::string DeviceProperties::to_string() const {
  return "device " + std::to_string(ordinal) + " (" + name + ")";
}

Driver::Driver()
    : fork_guard_(std::make_unique<const ForkGuard>()), deferred_(std::make_unique<DeferredCalls>()) {}
Driver::~Driver() = default;

Result<std::shared_ptr<const Driver>> Driver::open(const std::optional<std::string>& library_name,
                                                   LogSink log_sink) {
  const auto stay = being_opened.enter();
  if (!stay) {
    return Error{ErrorCode::unavailable,
                 "the CUDA driver cannot be used: another thread was opening it when this process was forked",
                 "start workers by exec (spawn), or use CUDA in them only"};
  }
  auto library = DynamicLibrary::open(library_name.value_or(kSoname));
  if (!library) return no_driver(std::move(library).error());
  const std::shared_ptr<Driver> driver(new Driver());
  driver->log_ = std::move(log_sink);
  driver->library_path_ = library->path().string();
  CUBINET_TRY_ASSIGN(DriverApi api, DriverApi::resolve(*library, driver->version_));
  // The library stays mapped when `library` is destroyed, because it is opened with RTLD_NODELETE.
  driver->api_ = std::make_unique<const DriverApi>(api);
  if (const CUresult result = api.cuInit(0); result != CUDA_SUCCESS) {
    Error error = driver->error(result, "cuInit", "the CUDA driver cannot be used");
    error.code = ErrorCode::unavailable;
    return error;
  }
  CUBINET_TRY(driver->read_devices());
  if (api.cuFuncGetParamInfo == nullptr) {
    log(driver->log_, LogLevel::info,
        "the CUDA driver is older than 12.4 and does not tell the sizes of a kernel's arguments: they are "
        "compared "
        "with the kernel's record alone");
  }
  return driver;
}

Result<void> Driver::read_devices() {
  int count = 0;
  if (const CUresult result = api_->cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
    return error(result, "cuDeviceGetCount", "counting devices");
  }
  if (count <= 0) {
    return Error{ErrorCode::unavailable, "the CUDA driver sees no device",
                 "check CUDA_VISIBLE_DEVICES and nvidia-smi"};
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUBINET_TRY_ASSIGN(devices_.emplace_back(), DeviceReader(*this, ordinal).read());
  }
  return {};
}

bool Driver::has_libraries() const {
  return api_->cuLibraryLoadData != nullptr && api_->cuLibraryUnload != nullptr &&
         api_->cuLibraryGetKernel != nullptr && api_->cuKernelGetFunction != nullptr &&
         api_->cuLibraryGetGlobal != nullptr;
}

bool Driver::in_opening_process() const {
  return fork_guard_->in_original_process();
}

Result<void> Driver::check_process() const {
  if (in_opening_process()) return {};
  return Error{ErrorCode::unsupported,
               "CUDA was set up in the parent of this process and does not survive fork",
               "start workers by exec (spawn), or use CUDA in them only"};
}

Error Driver::error(int result, const char* function, const std::string& what) const {
  const auto status = static_cast<CUresult>(result);
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_->cuGetErrorName(status, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown error";
  if (api_->cuGetErrorString(status, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  Error error{code_for(result),
              what + ": " + function + " gives " + name + " (" + std::to_string(result) + "), " + text,
              remedy_for(result)};
  error.native = result;
  return error;
}

void Driver::report(int result, const char* function, std::string_view what) const {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
  log(log_, LogLevel::warning, error(result, function, std::string(what)).to_line());
}

}  // namespace cubinet
