// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kNearest = 3;

std::vector<std::string> differences(const KernelSpec& wanted, const KernelSpec& found) {
  const bool defaults =
      // its columns are left out if they have their default
      wanted.maker == KernelMaker::publisher;
  std::vector<std::string> result;
  for (const auto& [name, value] : wanted.parameters) {
    const auto there = found.parameters.find(name);
    if (there == found.parameters.end()) {
      result.push_back(defaults ? name + " at its default instead of " + to_string(value) : "no " + name);
    } else if (there->second != value) {
      result.push_back(name + " " + to_string(there->second) + " instead of " + to_string(value));
    }
  }
  for (const auto& [name, value] : found.parameters) {
    if (!wanted.parameters.contains(name))
      result.push_back(name + " " + to_string(value) +
                       (defaults ? " instead of its default" : ", not asked for"));
  }
  return result;
}

std::string verdict_on(const CubinRecord& record, ComputeCapability device, const TargetPolicy& policy) {
  const bool is_ptx = record.kind == ImageKind::ptx;
  const std::string why = is_ptx ? why_ptx_not_on(record.target, device) : why_not_on(record.target, device);
  if (!why.empty()) return why;
  return policy.refusal(record.target).value_or("");
}

// Returns kernels of the same maker and name, the nearest first: kernels that run here precede
// others, then by the number of differences, then by key, so the result does not depend on the
// order of records.
std::vector<ExplainedBuild> nearest(const CubinRecords& records, const KernelExplanation& asked) {
  std::vector<ExplainedBuild> near;
  for (const auto& record : records) {
    const auto decoded = decode_kernel(record->identity.kernel_encoding());
    if (!decoded || decoded->maker != asked.spec.maker || decoded->name != asked.spec.name) continue;
    ExplainedBuild kernel;
    kernel.record = record;
    kernel.differences = differences(asked.spec, *decoded);
    if (kernel.differences.empty()) continue;  // listed among the kernel's own builds
    kernel.verdict = verdict_on(*record, asked.device, asked.policy);
    kernel.wanted_target = kernel.verdict.empty();
    near.push_back(std::move(kernel));
  }
  std::sort(near.begin(), near.end(), [](const ExplainedBuild& a, const ExplainedBuild& b) {
    const auto rank = [](const ExplainedBuild& kernel) {
      return std::tuple(kernel.differences.size() + (kernel.verdict.empty() ? 0 : 1), !kernel.verdict.empty(),
                        kernel.record->identity.key().value, kernel.record->fingerprint.digest.bytes);
    };
    return rank(a) < rank(b);
  });
  const auto same = [](const ExplainedBuild& a, const ExplainedBuild& b) {
    return a.record->identity == b.record->identity && a.record->kind == b.record->kind;
  };
  near.erase(std::unique(near.begin(), near.end(), same), near.end());
  if (near.size() > kNearest) near.resize(kNearest);
  return near;
}

// Returns the additional remark on PTX: it is usable, but machine code is preferred.
std::string place_of_ptx(bool chosen) {
  return chosen ? "; PTX, which the driver compiles: no store has usable machine code"
                : "; PTX, behind what goes first";
}

}  // namespace

// Returns whether a cache has the current build. That build precedes all skipped ones.
bool CubinSource::query_caches(const CachedKernel& kernel, SmTarget target, KernelExplanation& explanation) {
  if (library_.caches().empty()) return false;
  const auto fingerprint = today(kernel, {target, ImageKind::cubin});
  if (!fingerprint || !*fingerprint) return false;
  const auto cached = library_.find_build(identify(kernel.spec(), target), ImageKind::cubin, **fingerprint);
  if (!cached) return false;
  ExplainedBuild build;
  build.record = cached->found.cubin.record;
  build.source = cached->found.source;
  build.place = cached->place;
  build.status = BuildStatus::current;
  build.wanted_target = build.usable = true;
  build.verdict = "a build of the cache, the same that would be made today: fetched instead";
  explanation.builds.insert(explanation.builds.begin(), std::move(build));
  return true;
}

KernelExplanation CubinSource::judged(const CachedKernel& kernel, ComputeCapability device,
                                      const KernelBuilds& builds, const BuildRequest& build_request) {
  KernelExplanation explanation;
  explanation.spec = kernel.spec();
  explanation.device = device;
  explanation.policy = targets_;
  explanation.targets = targets_of(device);
  for (const Judgement& judgement : judge(build_request, builds.candidates)) {
    const BuildCandidate& candidate = builds.candidates[judgement.candidate];
    ExplainedBuild& build = explanation.builds.emplace_back();
    build.record = builds.records[judgement.candidate];
    build.store = candidate.store;
    build.source = library_.source_of(*build.record, candidate.store);
    build.place = library_.stores()[candidate.store]->place_of(*build.record);
    build.status = judgement.status;
    build.wanted_target = judgement.wanted_target;
    build.usable = judgement.usable();
    build.own_text = judgement.own_text;
    build.verdict = judgement.wanted_target
                        ? cubinet::explain(candidate, build_request, build.record->compiler)
                        : verdict_on(*build.record, device, targets_);
    const bool is_added =
        kernel.spec().maker == KernelMaker::function && build.status == BuildStatus::unchecked;
    if (is_added && judgement.wanted_target) build.verdict = "an image that was added here";
    if (build.usable && candidate.preferred) build.verdict += "; its channel is pinned to its version";
    if (build.usable && judgement.held_back)
      build.verdict += "; held back: a channel is pinned to another version";
    if (build.usable && build.record->kind == ImageKind::ptx)
      build.verdict += place_of_ptx(explanation.builds.size() == 1);
  }
  return explanation;
}

std::shared_ptr<const KernelExplanation> CubinSource::explain_compilation(
    const CachedKernel& kernel, ComputeCapability device, SmTarget target, const KernelBuilds& builds,
    const BuildRequest& build_request, const CubinRecords& refused,
    std::vector<UnreadableBuilds> unreadable) {
  KernelExplanation explanation = judged(kernel, device, builds, build_request);
  explanation.unreadable = std::move(unreadable);
  explanation.would_compile = target;
  // Every usable build was tried.
  for (ExplainedBuild& build : explanation.builds) {
    if (!build.usable) continue;
    build.usable = false;
    build.verdict = is_refused(*build.record, refused) ? "it does not load on the device"
                                                       : "its image is missing or damaged";
  }
  // A server may take long to list its builds, and the request waits.
  explanation.nearest = nearest(library_.listed_here(), explanation);
  return std::make_shared<const KernelExplanation>(std::move(explanation));
}

KernelExplanation CubinSource::explain(const CachedKernel& kernel, ComputeCapability device) {
  const KernelBuilds builds = library_.candidates(kernel.id());
  KernelExplanation explanation =
      judged(kernel, device, builds, build_request_for(kernel, targets_of(device), builds.candidates));
  explanation.unreadable = library_.unreadable(kernel.id(), builds);
  if (explanation.choice() != nullptr) return explanation;
  const bool never = policy_ == CompilePolicy::never;
  if (!never || may_be_obtained(kernel)) {
    const auto target = target_to_build(kernel, device, builds);
    if (target && query_caches(kernel, *target, explanation)) return explanation;
    if (target) explanation.would_compile = *target;
    if (!target) explanation.cannot_compile = target.error();
  }
  if (never) {
    explanation.would_compile.reset();
    explanation.cannot_compile =
        Error{ErrorCode::unavailable, "compiling is switched off" + caches_without_build(),
              "compile it ahead of time, or allow compiling with `RuntimeOptions::compile`"};
  }
  // Near misses are only a hint, so a store that fails does not affect the rest.
  if (const auto all = library_.all()) explanation.nearest = nearest(all->records, explanation);
  return explanation;
}

}  // namespace cubinet
