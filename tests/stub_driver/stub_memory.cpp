// SPDX-License-Identifier: Apache-2.0
// Device memory is host memory. Events use the host's clock.
#include "stub_state.hpp"

#include <algorithm>
#include <cstring>

namespace cubinet::stub {
namespace {

// Returns nullptr if the range is not within one allocation. REQUIRES: the mutex is held.
std::byte* resolve(CUdeviceptr address, std::size_t size) {
  auto& memory = state().memory;
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  auto& [start, found] = *std::prev(after);
  const std::size_t offset = static_cast<std::size_t>(address - start);
  if (offset > found.size || size > found.size - offset) return nullptr;
  return found.data() + offset;
}

bool is_stream(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  return stream == nullptr || state().streams.contains(stream);
}

Memory memory_of(std::size_t size, int device) {
  Memory made;
  made.lines.resize((size + sizeof(Memory::Line) - 1) / sizeof(Memory::Line));
  made.size = size;
  made.device = device;
  return made;
}

CUdeviceptr keep(Memory made) {
  const auto address = reinterpret_cast<CUdeviceptr>(made.data());
  state().memory.emplace(address, std::move(made));
  return address;
}

}  // namespace

CUdeviceptr place_global(const std::vector<std::uint8_t>& content, int device) {
  Memory made = memory_of(std::max<std::size_t>(content.size(), 1), device);
  if (!content.empty()) std::memcpy(made.data(), content.data(), content.size());
  return keep(std::move(made));
}

CUresult stub_cuMemAlloc(CUdeviceptr* address, std::size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > std::size_t{4} << 30U) return CUDA_ERROR_OUT_OF_MEMORY;
  Memory made = memory_of(size, current_context()->device);
  std::memset(made.data(), 0xcd, size);
  *address = keep(std::move(made));
  return CUDA_SUCCESS;
}

CUresult stub_cuMemFree(CUdeviceptr address) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.memory.erase(address) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult stub_cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  auto after = now.memory.upper_bound(address);
  if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || resolve(address, 1) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(value) = std::prev(after)->second.device;
  return CUDA_SUCCESS;
}

CUresult stub_cuMemcpyHtoD(CUdeviceptr target, const void* source, std::size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::byte* bytes = resolve(target, size);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(bytes, source, size);
  return CUDA_SUCCESS;
}

CUresult stub_cuMemcpyDtoH(void* target, CUdeviceptr source, std::size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const std::byte* bytes = resolve(source, size);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(target, bytes, size);
  return CUDA_SUCCESS;
}

// Work in a stream is done immediately.
CUresult stub_cuMemcpyHtoDAsync(CUdeviceptr target, const void* source, std::size_t size, CUstream stream) {
  if (!is_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
  return stub_cuMemcpyHtoD(target, source, size);
}

CUresult stub_cuMemcpyDtoHAsync(void* target, CUdeviceptr source, std::size_t size, CUstream stream) {
  if (!is_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
  return stub_cuMemcpyDtoH(target, source, size);
}

CUresult stub_cuMemsetD8(CUdeviceptr target, unsigned char value, std::size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::byte* bytes = resolve(target, size);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memset(bytes, value, size);
  return CUDA_SUCCESS;
}

CUresult stub_cuEventCreate(CUevent* event, unsigned) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *event = now.events.add();
  (*event)->context = current_context();
  return CUDA_SUCCESS;
}

CUresult stub_cuEventDestroy(CUevent event) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.events.remove(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stub_cuEventRecord(CUevent event, CUstream stream) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.events.contains(event) || (stream != nullptr && !now.streams.contains(stream))) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  event->recorded = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}

CUresult stub_cuEventSynchronize(CUevent event) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.events.contains(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult stub_cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (!now.events.contains(start) || !now.events.contains(end) || !start->recorded || !end->recorded) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*end->recorded - *start->recorded).count();
  return CUDA_SUCCESS;
}

}  // namespace cubinet::stub
