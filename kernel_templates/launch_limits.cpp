// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/launch_limits.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <algorithm>
#include <limits>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumThreads = 1024;  // per block, on every device
constexpr std::uint32_t kMaximumThreadsZ = 64;
constexpr std::uint32_t kMaximumClusterBlocks = 16;  // the non-portable limit; the portable one is 8

// Returns the shared memory that a block may have on the target. Unknown capabilities have no
// limit.
std::uint32_t shared_bytes_limit(SmTarget target) {
  std::uint32_t limit = 0;
  for (const SmTarget device : known_targets()) {
    if (runs_on(target, device.capability())) {
      limit = std::max(limit, maximum_shared_bytes_per_block(device.capability()));
    }
  }
  return limit == 0 ? std::numeric_limits<std::uint32_t>::max() : limit;
}

}  // namespace

Result<void> check_launch_limits(const EntryPoint& entry, const std::string& what, ImageTarget image) {
  const SmTarget target = image.target;
  const auto never = [&](const std::string& reason) {
    return Error{ErrorCode::unsupported,
                 what + " can never be launched on " + image.to_string() + ": its kernel '" + entry.name +
                     "' " + reason,
                 "choose smaller tiles or another target"};
  };
  if (entry.threads_of_block() > kMaximumThreads) {
    return never("needs blocks of " + std::to_string(entry.threads_of_block()) +
                 " threads, and a block has at most " + std::to_string(kMaximumThreads));
  }
  if (entry.threads_z > kMaximumThreadsZ) {
    return never("needs blocks of " + std::to_string(entry.threads_z) +
                 " threads in z, and a block has at most " + std::to_string(kMaximumThreadsZ));
  }
  const std::uint32_t limit = shared_bytes_limit(target);
  if (entry.dynamic_shared_bytes > limit) {
    return never("needs " + std::to_string(entry.dynamic_shared_bytes) +
                 " bytes of shared memory for a block, and " + std::to_string(limit) +
                 " is the most that any device of the target has");
  }
  const std::uint64_t blocks = std::uint64_t{entry.cluster[0]} * entry.cluster[1] * entry.cluster[2];
  if (blocks > 1 && target.major < 9) return never("needs thread block clusters, which begin with sm_90");
  if (std::max({entry.cluster[0], entry.cluster[1], entry.cluster[2]}) > kMaximumClusterBlocks ||
      blocks > kMaximumClusterBlocks) {
    return never("needs a cluster of more than " + std::to_string(kMaximumClusterBlocks) + " blocks");
  }
  return {};
}

}  // namespace cubinet
