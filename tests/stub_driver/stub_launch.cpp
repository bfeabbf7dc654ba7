// SPDX-License-Identifier: Apache-2.0
// Launches and streams. Kernels do not run: a launch is checked as by the driver, and
// recorded.
#include "stub_state.hpp"

#include <algorithm>
#include <cstring>

namespace cubinet::stub {
namespace {

constexpr std::uint64_t kThreadsPerMultiprocessor = 2048;
constexpr std::uint64_t kMultiprocessors = 132;

struct LaunchAttributes {
  std::uint32_t cluster[3] = {1, 1, 1};
  bool programmatic = false;
  bool cooperative = false;
  bool spreads_clusters = false;
};

std::optional<LaunchAttributes> read_attributes(const CUlaunchConfig& config) {
  LaunchAttributes attributes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        attributes.cluster[0] = attribute.value.clusterDim.x;
        attributes.cluster[1] = attribute.value.clusterDim.y;
        attributes.cluster[2] = attribute.value.clusterDim.z;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        attributes.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        attributes.cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        attributes.spreads_clusters =
            attribute.value.clusterSchedulingPolicyPreference == CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
        break;
      default:
        return std::nullopt;
    }
  }
  return attributes;
}

// REQUIRES: the mutex is held.
CUresult check_shape(const CUlaunchConfig& config, const LaunchAttributes& attributes, CUfunction function) {
  const Device& device = *device_of(function->context->device);
  const std::uint64_t threads = std::uint64_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
  const std::uint64_t blocks = std::uint64_t{config.gridDimX} * config.gridDimY * config.gridDimZ;
  if (threads == 0 || threads > 1024 || threads > function->image->maximum_threads || config.blockDimZ > 64) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (blocks == 0 || config.gridDimX > 0x7fffffffU || config.gridDimY > 65535 || config.gridDimZ > 65535) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (config.sharedMemBytes > function->dynamic_shared_limit) return CUDA_ERROR_INVALID_VALUE;
  const std::uint32_t* cluster = attributes.cluster;
  const std::uint64_t cluster_blocks = std::uint64_t{cluster[0]} * cluster[1] * cluster[2];
  if (cluster_blocks != 1) {
    if (device.major < 9 || cluster_blocks == 0) return CUDA_ERROR_INVALID_VALUE;
    if (cluster_blocks > (function->non_portable_cluster ? 16U : 8U)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (config.gridDimX % cluster[0] != 0 || config.gridDimY % cluster[1] != 0 ||
        config.gridDimZ % cluster[2] != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (attributes.cooperative &&
      blocks > kMultiprocessors * std::max<std::uint64_t>(1, kThreadsPerMultiprocessor / threads)) {
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  if (attributes.programmatic && device.major < 9) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

// Reads the arguments at the caller's addresses. Each has the size that the kernel declares.
CUresult copy_arguments(const KernelImage& image, void** arguments, cubinet_stub_launch_record& launch) {
  for (std::size_t i = 0; i < image.parameters.size(); ++i) {
    if (arguments == nullptr || arguments[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t size = image.parameters[i].size;
    if (launch.argument_bytes + size <= sizeof(launch.arguments)) {
      std::memcpy(launch.arguments + launch.argument_bytes, arguments[i], size);
    }
    launch.argument_bytes += size;
  }
  return CUDA_SUCCESS;
}

CUresult launch_kernel(const CUlaunchConfig& config, CUfunction function, void** arguments) {
  const auto attributes = read_attributes(config);
  if (!attributes) return CUDA_ERROR_INVALID_VALUE;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (function->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (current_context() != function->context) return CUDA_ERROR_INVALID_HANDLE;
  const bool own_stream = config.hStream == nullptr || now.streams.contains(config.hStream);
  if (!own_stream || (config.hStream != nullptr && config.hStream->context != function->context)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult result = check_shape(config, *attributes, function); result != CUDA_SUCCESS)
    return result;
  cubinet_stub_launch_record launch{};
  std::strncpy(launch.kernel, function->image->name.c_str(), sizeof(launch.kernel) - 1);
  const std::uint32_t grid[3] = {config.gridDimX, config.gridDimY, config.gridDimZ};
  const std::uint32_t block[3] = {config.blockDimX, config.blockDimY, config.blockDimZ};
  std::copy(std::begin(grid), std::end(grid), launch.grid);
  std::copy(std::begin(block), std::end(block), launch.block);
  std::copy(std::begin(attributes->cluster), std::end(attributes->cluster), launch.cluster);
  launch.dynamic_shared_bytes = config.sharedMemBytes;
  launch.device = function->context->device;
  launch.stream = config.hStream;
  launch.programmatic = attributes->programmatic ? 1 : 0;
  launch.cooperative = attributes->cooperative ? 1 : 0;
  launch.spreads_clusters = attributes->spreads_clusters ? 1 : 0;
  if (const CUresult result = copy_arguments(*function->image, arguments, launch); result != CUDA_SUCCESS)
    return result;
  if (config.hStream != nullptr && config.hStream->capturing != nullptr) {
    config.hStream->capturing->launches.push_back({launch, function->loaded});
  } else {
    now.launches.push_back(launch);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult stub_cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                               void** extra) {
  if (config == nullptr || function == nullptr || extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_kernel(*config, function, arguments);
}

CUresult stub_cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                             CUstream stream, void** arguments, void** extra) {
  if (function == nullptr || extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_kernel({grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
                       function, arguments);
}

CUresult stub_cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                        unsigned shared_bytes, CUstream stream, void** arguments) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  return launch_kernel(
      {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, &cooperative, 1}, function,
      arguments);
}

CUresult stub_cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                          std::size_t dynamic_shared_bytes) {
  const std::lock_guard lock(state().mutex);
  if (threads <= 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  const Device& device = *device_of(function->context->device);
  const std::size_t shared = dynamic_shared_bytes + function->image->static_shared_bytes;
  const std::size_t limit = shared_limit(device.major, device.minor);
  *blocks = static_cast<int>(std::min<std::size_t>(
      kThreadsPerMultiprocessor / static_cast<std::size_t>(threads), shared == 0 ? 32 : limit / shared));
  return CUDA_SUCCESS;
}

CUresult stub_cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  const std::lock_guard lock(state().mutex);
  unsigned blocks = 0;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    blocks = attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z;
  }
  if (blocks == 0) return CUDA_ERROR_INVALID_VALUE;
  *clusters = static_cast<int>(kMultiprocessors / blocks);
  return CUDA_SUCCESS;
}

// Stores the input, as far as it fits, in place of the driver's encoding, so that tests can
// identify the map of an argument.
CUresult stub_cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                     void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                     const cuuint32_t* box, const cuuint32_t* element_strides,
                                     CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (map == nullptr || rank == 0 || rank > 5 || element_strides == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *map = {};
  auto* words = reinterpret_cast<std::uint64_t*>(map);
  *words++ = reinterpret_cast<std::uintptr_t>(address);
  words = std::copy_n(sizes, rank, words);
  words = std::copy_n(strides, rank - 1, words);
  *words++ = static_cast<std::uint64_t>(type) << 32U | static_cast<std::uint64_t>(swizzle);
  *words = box[0];
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamCreate(CUstream* stream, unsigned) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = now.streams.add();
  (*stream)->context = current_context();
  return CUDA_SUCCESS;
}

// Ends a capture that was not ended.
CUresult stub_cuStreamDestroy(CUstream stream) {
  CUgraph graph = nullptr;
  {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (!now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
    graph = stream->capturing;
    now.streams.remove(stream);
  }
  if (graph != nullptr) static_cast<void>(stub_cuGraphDestroy(graph));
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamSynchronize(CUstream stream) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (stream != nullptr && !now.streams.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

CUresult stub_cuStreamQuery(CUstream stream) {
  return stub_cuStreamSynchronize(stream);
}

}  // namespace cubinet::stub
