// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/workspace.hpp>

namespace cubinet {
namespace {

Result<DeviceBuffer> zeroed(const std::shared_ptr<const Device>& device, std::uint64_t bytes) {
  CUBINET_TRY_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(device, bytes));
  if (bytes != 0) CUBINET_TRY(buffer.fill(std::byte{0}));
  return buffer;
}

DeviceTensor tensor_of(const DeviceBuffer& buffer) {
  return {buffer.address(), buffer.size(), {}};
}

}  // namespace

Result<AttentionWorkspace> AttentionWorkspace::allocate(std::shared_ptr<const Device> device,
                                                        const WorkspaceSizes& sizes) {
  CUBINET_TRY_ASSIGN(DeviceBuffer scratch, zeroed(device, sizes.scratch_bytes));
  CUBINET_TRY_ASSIGN(DeviceBuffer counters, zeroed(device, sizes.counter_bytes));
  return AttentionWorkspace(std::move(scratch), std::move(counters));
}

void AttentionWorkspace::attach(AttentionTensors& tensors) const {
  tensors.scratch = tensor_of(scratch_);
  tensors.counters = tensor_of(counters_);
}

}  // namespace cubinet
