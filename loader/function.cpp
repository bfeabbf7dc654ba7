// SPDX-License-Identifier: Apache-2.0
#include "graph_retention.hpp"
#include "loaded_function.hpp"

#include <cubinet/loader/function.hpp>
#include <cubinet/loader/module.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// CUDA Programming Guide, "Technical specifications per compute capability": the same from 7.5 to
// 12.1.
constexpr std::uint32_t kMaximumGridX = 0x7fffffff;
constexpr std::uint32_t kMaximumGridYZ = 65535;
constexpr std::uint32_t kMaximumThreads = 1024;
constexpr std::uint32_t kMaximumBlockZ = 64;

using Dimensions = std::array<std::uint32_t, 3>;

// A launch with the record's values filled in. It is on the stack: the launch path allocates only
// on failure.
struct Launch {
  Dimensions grid;
  Dimensions block;
  Dimensions cluster;
  std::uint32_t shared_bytes;
  std::uint32_t blocks_per_cluster;
  bool programmatic;
  bool cooperative;
  bool spreads_clusters;

  Launch(const LaunchConfig& config, const LoadedFunction& function)
      : grid(config.grid),
        block(config.block),
        cluster(config.cluster),
        shared_bytes(config.dynamic_shared_bytes) {
    if (block[0] == 0) block = function.block();
    if (cluster[0] == 0) cluster = function.cluster();
    if (shared_bytes == UINT32_MAX) shared_bytes = function.dynamic_shared_bytes();
    blocks_per_cluster = cluster_blocks(cluster);
    programmatic = config.programmatic_launch && function.may_start_early();
    cooperative = config.cooperative || function.cooperative();
    spreads_clusters = config.spreads_clusters && blocks_per_cluster > 1;
  }
};

std::string to_string(const Dimensions& dimensions) {
  return std::to_string(dimensions[0]) + " x " + std::to_string(dimensions[1]) + " x " +
         std::to_string(dimensions[2]);
}

Error refusal(ErrorCode code, const LoadedFunction& function, const std::string& reason) {
  return Error{code, function.subject().text("launching") + ": " + reason};
}

Result<void> check_grid(const Launch& launch, const LoadedFunction& function) {
  const Dimensions& grid = launch.grid;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
    return refusal(ErrorCode::invalid_argument, function,
                   "a grid of " + to_string(grid) + " blocks is empty");
  }
  if (grid[0] > kMaximumGridX || grid[1] > kMaximumGridYZ || grid[2] > kMaximumGridYZ) {
    return refusal(ErrorCode::invalid_argument, function,
                   "a grid of " + to_string(grid) + " blocks is larger than 2147483647 x 65535 x 65535");
  }
  return {};
}

Result<void> check_block(const Launch& launch, const LoadedFunction& function) {
  const Dimensions& block = launch.block;
  // The factors are checked first, so that the product fits 32 bits.
  if (block[0] > kMaximumThreads || block[1] > kMaximumThreads || block[2] > kMaximumBlockZ) {
    return refusal(ErrorCode::invalid_argument, function,
                   "a block of " + to_string(block) + " threads is larger than 1024 x 1024 x 64");
  }
  const std::uint32_t threads = block[0] * block[1] * block[2];
  if (threads == 0) {
    return refusal(ErrorCode::invalid_argument, function,
                   "a block of " + to_string(block) + " threads is empty");
  }
  if (threads > kMaximumThreads || threads > function.maximum_threads()) {
    return refusal(ErrorCode::invalid_argument, function,
                   "a block of " + to_string(block) + " threads is larger than " +
                       std::to_string(std::min(kMaximumThreads, function.maximum_threads())) +
                       ", the most that this kernel can have");
  }
  return {};
}

Result<void> check_cluster(const Launch& launch, const LoadedFunction& function) {
  if (launch.blocks_per_cluster == 1) return {};
  const Dimensions& cluster = launch.cluster;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    if (cluster[i] == 0 || launch.grid[i] % cluster[i] != 0) {
      return refusal(
          ErrorCode::invalid_argument, function,
          "clusters of " + to_string(cluster) + " blocks do not divide a grid of " + to_string(launch.grid));
    }
  }
  if (!function.device().properties().cluster_launch) {
    return refusal(ErrorCode::unsupported, function, "the device has no thread block clusters");
  }
  return function.grant_cluster(launch.blocks_per_cluster);
}

// A launch in the driver's form. It contains its attributes, to which it points, so it must not be
// copied.
struct DriverLaunch {
  CUlaunchAttribute attributes[4];
  CUlaunchConfig config;

  DriverLaunch(const Launch& launch, CUstream stream) {
    unsigned count = 0;
    if (launch.blocks_per_cluster > 1) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[count++].value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
    }
    if (launch.spreads_clusters) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
      attributes[count++].value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    }
    if (launch.programmatic) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (launch.cooperative) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      attributes[count++].value.cooperative = 1;
    }
    config = {launch.grid[0],  launch.grid[1],      launch.grid[2], launch.block[0], launch.block[1],
              launch.block[2], launch.shared_bytes, stream,         attributes,      count};
  }
  DriverLaunch(const DriverLaunch&) = delete;
  DriverLaunch& operator=(const DriverLaunch&) = delete;
};

Result<void> submit_extended(const Launch& launch, const LoadedFunction& function, CUstream stream,
                             const void* const* arguments) {
  const DriverLaunch submitted(launch, stream);
  const CUresult result = function.driver().api().cuLaunchKernelEx(&submitted.config, function.handle(),
                                                                   const_cast<void**>(arguments), nullptr);
  if (result != CUDA_SUCCESS) return function.subject().error(result, "cuLaunchKernelEx", "launching");
  return {};
}

// Launches on drivers before CUDA 11.6.
Result<void> submit_plain(const Launch& launch, const LoadedFunction& function, CUstream stream,
                          const void* const* arguments) {
  if (launch.blocks_per_cluster > 1) {
    return refusal(ErrorCode::unsupported, function,
                   "clusters need cuLaunchKernelEx, and the driver is of CUDA " +
                       cuda_version_text(function.driver().version()));
  }
  const DriverApi& api = function.driver().api();
  void** const values = const_cast<void**>(arguments);
  const Dimensions& grid = launch.grid;
  const Dimensions& block = launch.block;
  if (launch.cooperative) {
    const CUresult result =
        api.cuLaunchCooperativeKernel(function.handle(), grid[0], grid[1], grid[2], block[0], block[1],
                                      block[2], launch.shared_bytes, stream, values);
    if (result != CUDA_SUCCESS) {
      return function.subject().error(result, "cuLaunchCooperativeKernel", "launching");
    }
    return {};
  }
  const CUresult result = api.cuLaunchKernel(function.handle(), grid[0], grid[1], grid[2], block[0], block[1],
                                             block[2], launch.shared_bytes, stream, values, nullptr);
  if (result != CUDA_SUCCESS) return function.subject().error(result, "cuLaunchKernel", "launching");
  return {};
}

Error wrong_arguments(const LoadedFunction& function, const void* const* arguments,
                      const std::uint32_t* sizes, std::size_t count) {
  std::string given;
  for (std::size_t i = 0; i < count; ++i) {
    given += (i == 0 ? "" : ", ") + (arguments[i] == nullptr ? "null" : std::to_string(sizes[i]));
  }
  return refusal(ErrorCode::invalid_argument, function,
                 "the kernel takes " + function.expected_arguments() + "; given were " +
                     std::to_string(count) + (given.empty() ? "" : ", of " + given));
}

}  // namespace

const EntryPoint& Function::entry_point() const {
  return loaded_->entry_point();
}
const CubinRecord& Function::record() const {
  return module_->record();
}
const Device& Function::device() const {
  return module_->device();
}
CUfunction Function::handle() const {
  return loaded_->handle();
}
std::optional<std::span<const std::uint32_t>> Function::argument_sizes() const {
  return loaded_->argument_sizes();
}

Result<void> Function::launch_raw(const LaunchConfig& config, const void* const* arguments,
                                  const std::uint32_t* sizes, std::size_t count) const {
  if (loaded_ == nullptr) {
    return Error{ErrorCode::invalid_argument, "an empty function handle cannot be launched"};
  }
  const LoadedFunction& function = *loaded_;
  // The driver reads its own data of the function first. It arrives during the checks.
  __builtin_prefetch(function.handle());
  if (!function.driver().in_opening_process()) return function.driver().check_process();
  const Launch launch(config, function);
  CUBINET_TRY(check_grid(launch, function));
  CUBINET_TRY(check_block(launch, function));
  CUBINET_TRY(check_cluster(launch, function));
  if (launch.cooperative && !function.device().properties().cooperative_launch) {
    return refusal(ErrorCode::unsupported, function, "the device has no cooperative launch");
  }
  if (count != 0 && (arguments == nullptr || sizes == nullptr)) {
    return refusal(ErrorCode::invalid_argument, function, "arguments are announced and not given");
  }
  if (!function.accepts(arguments, sizes, count)) return wrong_arguments(function, arguments, sizes, count);
  CUBINET_TRY(function.grant_shared_bytes(launch.shared_bytes));
  CUBINET_TRY(retain_in_capture(module_, function.driver().api(), function.subject(), config.stream));
  if (function.driver().api().cuLaunchKernelEx != nullptr) {
    return submit_extended(launch, function, config.stream, arguments);
  }
  return submit_plain(launch, function, config.stream, arguments);
}

Result<Global> Function::global(std::string_view name) const {
  if (module_ == nullptr) {
    return Error{ErrorCode::invalid_argument, "an empty function handle has no variables"};
  }
  return module_->global(name);
}

Result<int> Function::maximum_blocks_per_multiprocessor(std::uint32_t threads,
                                                        std::uint32_t dynamic_shared_bytes) const {
  if (loaded_ == nullptr) {
    return Error{ErrorCode::invalid_argument, "an empty function handle has no occupancy"};
  }
  if (threads == 0 || threads > loaded_->maximum_threads()) {
    return refusal(ErrorCode::invalid_argument, *loaded_,
                   "blocks of " + std::to_string(threads) + " threads are not between 1 and " +
                       std::to_string(loaded_->maximum_threads()));
  }
  return loaded_->blocks_per_multiprocessor(threads, dynamic_shared_bytes);
}

Result<int> Function::maximum_active_clusters(const LaunchConfig& config) const {
  if (loaded_ == nullptr) {
    return Error{ErrorCode::invalid_argument, "an empty function handle has no occupancy"};
  }
  const LoadedFunction& function = *loaded_;
  const auto measure = function.driver().api().cuOccupancyMaxActiveClusters;
  if (measure == nullptr) {
    return refusal(ErrorCode::unsupported, function,
                   "the occupancy of clusters needs CUDA 11.7, and the driver is of CUDA " +
                       cuda_version_text(function.driver().version()));
  }
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device().make_current());
  const Launch launch(config, function);
  CUBINET_TRY(check_grid(launch, function));
  CUBINET_TRY(check_block(launch, function));
  CUBINET_TRY(check_cluster(launch, function));
  CUBINET_TRY(function.grant_shared_bytes(launch.shared_bytes));
  int clusters = 0;
  const DriverLaunch measured(launch, nullptr);
  const CUresult result = measure(&clusters, function.handle(), &measured.config);
  if (result != CUDA_SUCCESS) {
    return function.subject().error(result, "cuOccupancyMaxActiveClusters", "measuring");
  }
  return clusters;
}

}  // namespace cubinet
