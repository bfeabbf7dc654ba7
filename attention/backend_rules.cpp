// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/resolution.hpp>

namespace cubinet {
namespace {

constexpr std::array<std::string_view, 2> kImportedFirst = {kImportedBackend, kTemplatesBackend};
constexpr std::array<std::string_view, 2> kTemplatesFirst = {kTemplatesBackend, kImportedBackend};

bool always(const AttentionProblem&, const BackendContext&) {
  return true;
}

bool published_for(const AttentionProblem&, const BackendContext& context) {
  return context.policy.assumes_all_kernels ||
         (context.imported_rows && !context.imported_rows->numbers().empty());
}

bool on_hopper(const AttentionProblem&, const BackendContext& context) {
  return context.device.capability == ComputeCapability{9, 0};
}

constexpr BackendRule kRules[] = {
    {AttentionPurpose::select, "published rows run on the device", published_for, kImportedFirst,
     "made for the device by its vendor; not measured here, since they cannot be launched"},
    {AttentionPurpose::select, "otherwise", always, kTemplatesFirst, "nothing published runs on the device"},
    {AttentionPurpose::launch, "compute capability 9.0", on_hopper, kTemplatesFirst,
     "bench/results/decode_peers.json: on one H200, level with FlashInfer or faster in all twelve cases"},
    {AttentionPurpose::launch, "otherwise", always, kTemplatesFirst,
     "not measured: the only backend whose kernels can be launched"},
};

}  // namespace

std::span<const BackendRule> backend_rules() {
  return kRules;
}

}  // namespace cubinet
