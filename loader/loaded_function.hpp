// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"
#include "kernel_subject.hpp"

#include <cubinet/base/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace cubinet {

// The product, or UINT32_MAX where it is larger.
inline std::uint32_t cluster_blocks(const std::array<std::uint32_t, 3>& cluster) {
  const std::uint64_t plane = std::uint64_t{cluster[0]} * cluster[1];
  if (plane > UINT32_MAX) return cluster[2] == 0 ? 0 : UINT32_MAX;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(plane * cluster[2], UINT32_MAX));
}

// What a launch needs to know of one function, read when its module is loaded. Lives as long as the module.
class LoadedFunction {
 public:
  LoadedFunction(const Device& device, const CubinRecord& record, const EntryPoint& entry_point,
                 CUfunction handle)
      : subject_{device, record, &entry_point}, driver_(*device.driver()), handle_(handle) {}

  // Asks the driver for the function's limits and arguments and compares them with the record and the device.
  // corruption for a difference, unsupported for what the device cannot run. `only_argument`: the bytes of
  // the one argument that the image has for certain; 0 where it does not say.
  Result<void> prepare(std::uint32_t only_argument);

  const KernelSubject& subject() const { return subject_; }
  const EntryPoint& entry_point() const { return *subject_.entry_point; }
  const Device& device() const { return subject_.device; }
  const Driver& driver() const { return driver_; }
  CUfunction handle() const { return handle_; }
  std::uint32_t maximum_threads() const { return maximum_threads_; }

  // Makes the driver accept this much dynamic shared memory. Once granted it costs one load; before that a
  // driver call, which is idempotent, so that threads may race for it. unsupported with the numbers above the
  // device's limit.
  Result<void> grant_shared_bytes(std::uint32_t bytes) const {
    if (bytes <= granted_shared_bytes_.load(std::memory_order_relaxed)) return {};
    return raise_shared_limit(bytes);
  }
  // The same for clusters of more than 8 blocks, which not every device of an architecture has to offer.
  Result<void> grant_cluster(std::uint32_t blocks) const {
    if (blocks <= kPortableClusterBlocks || non_portable_granted_.load(std::memory_order_relaxed)) return {};
    return allow_non_portable_cluster();
  }

  // Whether `count` arguments of these sizes are what the kernel declares, as far as anybody can tell, and
  // all there.
  bool accepts(const void* const* arguments, const std::uint32_t* sizes, std::size_t count) const {
    if (arguments_known_ && count != argument_bytes_.size()) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] == nullptr || (arguments_known_ && sizes[i] != argument_bytes_[i])) return false;
    }
    return true;
  }
  // "2 arguments of 8 and 4 bytes".
  std::string expected_arguments() const;

 private:
  // CUDA Programming Guide, "Thread block clusters": 8 blocks are portable.
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
