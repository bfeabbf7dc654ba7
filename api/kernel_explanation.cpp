// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kNearest = 3;

std::vector<std::string> differences(const KernelSpec& wanted, const KernelSpec& found) {
  std::vector<std::string> result;
  for (const auto& [name, value] : wanted.parameters) {
    const auto there = found.parameters.find(name);
    if (there == found.parameters.end()) {
      result.push_back("no " + name);
    } else if (there->second != value) {
      result.push_back(name + " " + to_string(there->second) + " instead of " + to_string(value));
    }
  }
  for (const auto& [name, value] : found.parameters) {
    if (!wanted.parameters.contains(name))
      result.push_back(name + " " + to_string(value) + ", not asked for");
  }
  return result;
}

std::string verdict_on(const CubinRecord& record, ComputeCapability device, const TargetPolicy& policy) {
  const bool runs =
      record.kind == ImageKind::ptx ? ptx_runs_on(record.target, device) : runs_on(record.target, device);
  if (!runs) return why_not_on(record.target, device);
  return policy.refusal(record.target).value_or("");
}

// Kernels of the template, the nearest first: those that run here before those that do not, then by the
// number of differences, then by key, so that the answer does not depend on the order of records.
std::vector<NearKernel> nearest(const std::vector<std::shared_ptr<const CubinRecord>>& records,
                                const KernelExplanation& asked) {
  std::vector<NearKernel> near;
  for (const auto& record : records) {
    const auto decoded = decode_identity(record->identity.encoding());
    if (!decoded || decoded->spec.name != asked.spec.name) continue;
    NearKernel kernel{record, differences(asked.spec, decoded->spec),
                      verdict_on(*record, asked.device, asked.policy)};
    if (kernel.differences.empty() && kernel.target_verdict.empty()) continue;  // listed under its target
    near.push_back(std::move(kernel));
  }
  std::sort(near.begin(), near.end(), [](const NearKernel& a, const NearKernel& b) {
    const auto rank = [](const NearKernel& kernel) {
      return std::tuple(kernel.differences.size() + (kernel.target_verdict.empty() ? 0 : 1),
                        !kernel.target_verdict.empty(), kernel.record->identity.key().value,
                        kernel.record->fingerprint.digest.bytes);
    };
    return rank(a) < rank(b);
  });
  const auto same = [](const NearKernel& a, const NearKernel& b) {
    return a.record->identity == b.record->identity && a.record->kind == b.record->kind;
  };
  near.erase(std::unique(near.begin(), near.end(), same), near.end());
  if (near.size() > kNearest) near.resize(kNearest);
  return near;
}

}  // namespace

KernelExplanation CubinSource::explain(const CachedKernel& kernel, ComputeCapability device) {
  KernelExplanation explanation;
  explanation.spec = kernel.spec();
  explanation.device = device;
  explanation.policy = targets_;
  const auto look = [&](SmTarget target, ImageKind kind) {
    ExplainedTarget& looked = explanation.targets.emplace_back();
    looked.target = {target, kind};
    looked.refused = targets_.refusal(target);
    if (looked.refused) return;
    looked.candidates = layers_.explain(query(kernel, target, kind));
    const auto usable = std::find_if(looked.candidates.begin(), looked.candidates.end(),
                                     [](const ExplainedCandidate& candidate) { return candidate.usable; });
    if (usable == looked.candidates.end() || explanation.chosen) return;
    explanation.chosen = {explanation.targets.size() - 1,
                          static_cast<std::size_t>(usable - looked.candidates.begin())};
  };
  // Refused targets are shown as well, behind those that are allowed.
  const auto look_at = [&](std::vector<SmTarget> allowed, const std::vector<SmTarget>& all, ImageKind kind) {
    for (const SmTarget target : all) {
      if (!targets_.allows(target)) allowed.push_back(target);
    }
    for (const SmTarget target : allowed)
      look(target, kind);
  };
  look_at(targets_.targets(device), targets_for(device), ImageKind::cubin);
  look_at(targets_.ptx_targets(device), ptx_targets_for(device), ImageKind::ptx);
  if (explanation.chosen) return explanation;
  auto target = target_to_build(kernel, device);
  if (target) explanation.would_compile = *target;
  if (!target) explanation.cannot_compile = target.error();
  if (policy_ == CompilePolicy::never) {
    explanation.would_compile.reset();
    explanation.cannot_compile = Error{ErrorCode::unavailable, "compiling is switched off",
                                       "allow compilation, or prebuild the kernel"};
  }
  explanation.nearest = nearest(layers_.all_records(), explanation);
  return explanation;
}

}  // namespace cubinet
