// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/operation.hpp>

namespace cubinet {
namespace {

// An index has rows of one implementation, so that what is nearest to a miss is sought among them.
std::shared_ptr<const KernelIndex> index_of(std::vector<KernelRow> rows, ComputeCapability device) {
  return std::make_shared<const KernelIndex>(
      KernelIndex::build(std::make_shared<const std::vector<KernelRow>>(std::move(rows)), device));
}

}  // namespace

AvailableKernels AvailableKernels::create(std::vector<KernelRow> rows, ComputeCapability device) {
  std::map<std::string, std::vector<KernelRow>> divided;
  for (KernelRow& row : rows)
    divided[row.implementation].push_back(std::move(row));
  AvailableKernels kernels;
  kernels.device_ = device;
  for (auto& [implementation, own] : divided)
    kernels.by_implementation_.emplace(implementation, index_of(std::move(own), device));
  return kernels;
}

const KernelIndex& AvailableKernels::of(std::string_view implementation) const {
  static const std::shared_ptr<const KernelIndex> kNone = index_of({}, {});
  const auto found = by_implementation_.find(implementation);
  return found == by_implementation_.end() ? *kNone : *found->second;
}

}  // namespace cubinet
