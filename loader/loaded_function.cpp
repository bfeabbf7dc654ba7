// SPDX-License-Identifier: Apache-2.0
#include "loaded_function.hpp"

namespace cubinet {
namespace {

// The shared memory, static and dynamic together, that a block may use on every device without
// opt-in.
constexpr std::uint32_t kSharedBytesWithoutOptIn = 48 * 1024;
// A kernel has at most 32764 bytes of parameters, so a larger result is invalid.
constexpr std::size_t kMaximumArguments = 32764;

std::string sizes_text(const std::vector<std::uint32_t>& sizes) {
  if (sizes.empty()) return "no arguments";
  std::string text = std::to_string(sizes.size()) + (sizes.size() == 1 ? " argument of " : " arguments of ");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != 0) text += i + 1 == sizes.size() ? " and " : ", ";
    text += std::to_string(sizes[i]);
  }
  return text + " bytes";
}

}  // namespace

std::string KernelSubject::text(std::string_view doing) const {
  std::string text(doing);
  if (entry_point != nullptr) text += " '" + entry_point->name + "' of";
  const auto spec = decode_kernel(record.identity.kernel_encoding());
  text += " " + (spec ? spec->to_string() : "cubin " + record.digest.to_hex().substr(0, 12));
  return text + " for " + record.target_name() + " on " + device.properties().to_string();
}

Result<void> LoadedFunction::prepare(std::uint32_t only_argument) {
  CUBINET_TRY_ASSIGN(static_shared_bytes_, attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  CUBINET_TRY_ASSIGN(maximum_threads_, attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  if (static_shared_bytes_ < kSharedBytesWithoutOptIn) {
    granted_shared_bytes_ = kSharedBytesWithoutOptIn - static_shared_bytes_;
  }
  CUBINET_TRY(read_arguments(only_argument));
  argument_count_ = static_cast<std::uint16_t>(argument_bytes_.size());  // at most kMaximumArguments
  std::copy_n(argument_bytes_.begin(), std::min(argument_bytes_.size(), first_sizes_.size()),
              first_sizes_.begin());
  const EntryPoint& entry = entry_point();
  if (entry.threads_of_block() > maximum_threads_) {
    return Error{ErrorCode::unsupported, subject_.text("loading") + ": its record asks for blocks of " +
                                             std::to_string(entry.threads_of_block()) +
                                             " threads, the driver allows " +
                                             std::to_string(maximum_threads_)};
  }
  CUBINET_TRY(grant_shared_bytes(entry.dynamic_shared_bytes));
  const std::uint32_t cluster = cluster_blocks(entry.cluster);
  if (cluster != 1 && !device().properties().cluster_launch) {
    return Error{ErrorCode::unsupported,
                 subject_.text("loading") + ": the device has no thread block clusters"};
  }
  return grant_cluster(cluster);
}

Result<std::uint32_t> LoadedFunction::attribute(CUfunction_attribute which) const {
  int value = 0;
  const CUresult result = driver_.api().cuFuncGetAttribute(&value, which, handle_);
  if (result != CUDA_SUCCESS) return subject_.error(result, "cuFuncGetAttribute", "loading");
  return static_cast<std::uint32_t>(value);
}

Result<void> LoadedFunction::read_arguments(std::uint32_t only_argument) {
  const std::uint32_t recorded = entry_point().parameter_bytes;
  if (driver_.api().cuFuncGetParamInfo == nullptr) {
    // Before CUDA 12.4 only the record is available for comparison.
    arguments_known_ = recorded != 0;
    if (arguments_known_) argument_bytes_ = {recorded};
    return {};
  }
  // If image and driver agree on the first argument, the driver is not queried for another one. A
  // query for a nonexistent argument takes 0.8 us, a fortieth of loading a small kernel.
  while (argument_bytes_.size() != 1 || argument_bytes_[0] != only_argument) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult result = driver_.api().cuFuncGetParamInfo(handle_, argument_bytes_.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // one past the last argument
    if (result != CUDA_SUCCESS) return subject_.error(result, "cuFuncGetParamInfo", "loading");
    if (argument_bytes_.size() == kMaximumArguments) {
      return Error{ErrorCode::driver,
                   subject_.text("loading") + ": cuFuncGetParamInfo finds no end of the arguments"};
    }
    argument_bytes_.push_back(static_cast<std::uint32_t>(size));
  }
  arguments_known_ = true;
  if (recorded == 0 || (argument_bytes_.size() == 1 && argument_bytes_[0] == recorded)) return {};
  return Error{ErrorCode::corruption,
               subject_.text("loading") + ": the kernel takes " + sizes_text(argument_bytes_) +
                   ", its record says one argument of " + std::to_string(recorded) + " bytes",
               "build the kernel again: it belongs to another version of its template"};
}

std::string LoadedFunction::expected_arguments() const {
  return sizes_text(argument_bytes_);
}

Result<void> LoadedFunction::raise_shared_limit(std::uint32_t bytes) const {
  const std::uint32_t device_limit = device().properties().maximum_shared_bytes_per_block;
  if (static_shared_bytes_ > device_limit || bytes > device_limit - static_shared_bytes_) {
    return Error{ErrorCode::unsupported,
                 subject_.text("preparing") + ": a block would need " + std::to_string(bytes) +
                     " bytes of dynamic and " + std::to_string(static_shared_bytes_) +
                     " of static shared memory; the device gives it " + std::to_string(device_limit)};
  }
  // Requests the whole remaining limit at once, so that no later launch needs another call. Unused
  // memory costs nothing: occupancy depends on the launch, not on this limit.
  const std::uint32_t limit = device_limit - static_shared_bytes_;
  const CUresult result = driver_.api().cuFuncSetAttribute(
      handle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(limit));
  if (result != CUDA_SUCCESS) {
    return subject_.error(result, "cuFuncSetAttribute", "raising the shared memory of");
  }
  granted_shared_bytes_.store(limit, std::memory_order_relaxed);
  return {};
}

Result<int> LoadedFunction::blocks_per_multiprocessor(std::uint32_t threads,
                                                      std::uint32_t dynamic_shared_bytes) const {
  constexpr unsigned kBlockBits = 16;
  constexpr unsigned kSharedBits = 32;
  const std::uint64_t asked = std::uint64_t{threads} << kSharedBits | dynamic_shared_bytes;
  const std::uint64_t kept = occupancy_.load(std::memory_order_relaxed);
  if (kept >> kBlockBits == asked) return static_cast<int>(kept & ((1U << kBlockBits) - 1));
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device().make_current());
  CUBINET_TRY(grant_shared_bytes(dynamic_shared_bytes));
  int blocks = 0;
  const CUresult result = driver_.api().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, handle_, static_cast<int>(threads), dynamic_shared_bytes);
  if (result != CUDA_SUCCESS)
    return subject_.error(result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "measuring");
  occupancy_.store(asked << kBlockBits | static_cast<std::uint16_t>(blocks), std::memory_order_relaxed);
  return blocks;
}

Result<void> LoadedFunction::allow_non_portable_cluster() const {
  const CUresult result =
      driver_.api().cuFuncSetAttribute(handle_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (result != CUDA_SUCCESS) {
    return subject_.error(result, "cuFuncSetAttribute", "allowing large clusters of");
  }
  non_portable_granted_.store(true, std::memory_order_relaxed);
  return {};
}

}  // namespace cubinet
