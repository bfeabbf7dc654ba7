// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"
#include "kernel_subject.hpp"

#include <cubinet/base/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cubinet {

// Returns the number of blocks of a cluster, or UINT32_MAX if it is larger.
inline std::uint32_t cluster_blocks(const std::array<std::uint32_t, 3>& cluster) {
  const std::uint64_t plane = std::uint64_t{cluster[0]} * cluster[1];
  if (plane > UINT32_MAX) return cluster[2] == 0 ? 0 : UINT32_MAX;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(plane * cluster[2], UINT32_MAX));
}

// The launch data of one function, read when its module is loaded. It exists as long as the module.
class LoadedFunction {
 public:
  LoadedFunction(const Device& device, const CubinRecord& record, const EntryPoint& entry_point,
                 CUfunction handle)
      : subject_{device, record, &entry_point}, driver_(*device.driver()), handle_(handle) {}

  // Queries the function's limits and arguments from the driver and compares them with the record
  // and the device. Returns corruption for a difference and unsupported if the device cannot run
  // the function. `only_argument` is the size in bytes of the one argument that the image certainly
  // has, or 0 if the image does not state it.
  Result<void> prepare(std::uint32_t only_argument);

  const KernelSubject& subject() const { return subject_; }
  const EntryPoint& entry_point() const { return *subject_.entry_point; }
  const Device& device() const { return subject_.device; }
  const Driver& driver() const { return driver_; }
  CUfunction handle() const { return handle_; }
  std::uint32_t maximum_threads() const { return maximum_threads_; }

  // Raises the driver's limit of dynamic shared memory to at least `bytes`. Costs one load if it
  // was already raised. Otherwise it makes a driver call, which is idempotent, so several threads
  // may call it at once. Returns unsupported, with the numbers, above the device's limit.
  Result<void> grant_shared_bytes(std::uint32_t bytes) const {
    if (bytes <= granted_shared_bytes_.load(std::memory_order_relaxed)) return {};
    return raise_shared_limit(bytes);
  }
  // Enables clusters of more than 8 blocks in the same manner. Not every device of an architecture
  // supports them.
  Result<void> grant_cluster(std::uint32_t blocks) const {
    if (blocks <= kPortableClusterBlocks || non_portable_granted_.load(std::memory_order_relaxed)) return {};
    return allow_non_portable_cluster();
  }

  // Returns whether `count` arguments of these sizes match the kernel's declaration, as far as it
  // is known, and none is null.
  bool accepts(const void* const* arguments, const std::uint32_t* sizes, std::size_t count) const {
    if (arguments_known_ && count != argument_bytes_.size()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] == nullptr || (arguments_known_ && sizes[i] != argument_bytes_[i])) return false;
    }
    return true;
  }
  std::optional<std::span<const std::uint32_t>> argument_sizes() const {
    if (!arguments_known_) return std::nullopt;
    return argument_bytes_;
  }
  // Returns "2 arguments of 8 and 4 bytes".
  std::string expected_arguments() const;

 private:
  // 8 blocks are portable (CUDA Programming Guide, "Thread block clusters").
  static constexpr std::uint32_t kPortableClusterBlocks = 8;

  Result<std::uint32_t> attribute(CUfunction_attribute which) const;
  Result<void> read_arguments(std::uint32_t only_argument);
  Result<void> raise_shared_limit(std::uint32_t bytes) const;
  Result<void> allow_non_portable_cluster() const;

  KernelSubject subject_;
  const Driver& driver_;
  CUfunction handle_;
  bool arguments_known_ = false;
  std::vector<std::uint32_t> argument_bytes_;
  std::uint32_t static_shared_bytes_ = 0;
  std::uint32_t maximum_threads_ = 0;
  mutable std::atomic<std::uint32_t> granted_shared_bytes_ = 0;
  mutable std::atomic<bool> non_portable_granted_ = false;
};

}  // namespace cubinet
