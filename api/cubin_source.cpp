// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"

#include "range.hpp"

#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/jit/compiler.hpp>

#include <algorithm>

namespace cubinet {

std::vector<ImageTarget> CubinSource::targets_of(ComputeCapability device) const {
  const std::lock_guard lock(targets_mutex_);
  const auto [targets, is_new] = targets_of_.try_emplace(device);
  if (is_new) targets->second = targets_wanted(device, targets_);
  return targets->second;
}

Result<std::optional<BuildFingerprint>> CubinSource::today(const CachedKernel& kernel, ImageTarget target) {
  const auto compiler = environment_.compiler();
  if (!compiler || kernel.request() == nullptr) return std::optional<BuildFingerprint>();
  CUBINET_TRY_ASSIGN(const BuildFingerprint fingerprint,
                     (*compiler)->fingerprint(*kernel.request(), target.target, target.kind));
  return std::optional(fingerprint);
}

CubinSource::RequestedBuild CubinSource::requested_build(const CachedKernel& kernel,
                                                         std::vector<ImageTarget> targets,
                                                         std::span<const BuildCandidate> candidates) {
  RequestedBuild requested_build;
  BuildRequest& build_request = requested_build.build_request;
  build_request.targets = std::move(targets);
  if (kernel.request() == nullptr) return requested_build;
  build_request.interface_version = kernel.request()->kernel_template()->interface_version();
  build_request.template_text = kernel.request()->kernel_template()->text_digest();
  const auto compiler = environment_.compiler();
  if (!compiler) return requested_build;
  build_request.compiler = (*compiler)->identity();
  for (const ImageTarget target : build_request.targets) {
    const bool has_local =
        std::any_of(candidates.begin(), candidates.end(), [&](const BuildCandidate& candidate) {
          return candidate.target == target && candidate.origin == CubinOrigin::compiled;
        });
    if (!has_local) continue;
    const auto fingerprint = today(kernel, target);
    if (!fingerprint) {
      requested_build.unknown = fingerprint.error();
    } else if (*fingerprint) {
      build_request.today.emplace_back(target, **fingerprint);
    }
  }
  return requested_build;
}

BuildRequest CubinSource::build_request_for(const CachedKernel& kernel, std::vector<ImageTarget> targets,
                                            std::span<const BuildCandidate> candidates) {
  RequestedBuild asked = requested_build(kernel, std::move(targets), candidates);
  warn(asked.unknown);
  return std::move(asked.build_request);
}

void CubinSource::warn(const std::optional<Error>& unknown) const {
  if (unknown) log(log_, LogLevel::warning, unknown->to_line());
}

Result<CubinSource::Built> CubinSource::build_alone(const CachedKernel& kernel, ImageTarget target,
                                                    const std::optional<BuildFingerprint>& fingerprint,
                                                    const CubinRecords& refused) {
  std::unique_ptr<BuildLock> lock;
  const Stopwatch wait_watch;
  if (fingerprint) lock = library_.lock_for_build(identify(kernel.spec(), target.target), *fingerprint);
  const double wait_seconds = lock != nullptr ? wait_watch.seconds() : 0;
  // The previous holder of the lock, or an earlier flight, may have kept the build.
  const KernelBuilds builds = library_.candidates(kernel.id());
  if (auto found = library_.choose(builds, requested_build(kernel, {target}, builds.candidates).build_request,
                                   refused)) {
    const KernelSource source = found->source;
    found->wait_seconds = wait_seconds;
    return Built{*std::move(found), source};
  }
  if (fingerprint) {
    const KernelIdentity identity = identify(kernel.spec(), target.target);
    if (auto cached = library_.find_build(identity, target.kind, *fingerprint)) {
      const KernelSource source = library_.keep(cached->found.cubin, std::move(lock));
      cached->found.wait_seconds = wait_seconds;
      return Built{std::move(cached->found), source};
    }
  }
  if (policy_ == CompilePolicy::never)
    return Error{ErrorCode::not_found,
                 kernel.spec().to_string() + " is in no store, and compiling is forbidden"};
  CUBINET_TRY_ASSIGN(const auto compiler, environment_.compiler());
  const Range range(ranges_, "compile", kernel.spec());
  const Stopwatch compile_watch;
  CUBINET_TRY_ASSIGN(CompileOutput output,
                     compiler->compile(kernel.request()->for_target(target.target, target.kind)));
  if (!output.variables_kept.empty())
    log(log_, LogLevel::debug,
        kernel.spec().to_string() + " for " + target.to_string() +
            ": unused variables stay in the image: " + output.variables_kept);
  Built built;
  built.found.source = KernelSource::compiled;
  built.found.cubin.record = std::make_shared<const CubinRecord>(std::move(output.record));
  built.found.cubin.image = std::move(output.image);
  built.source = library_.keep(built.found.cubin, std::move(lock));
  library_.share(built.found.cubin);
  built.found.compile_seconds = compile_watch.seconds();
  built.found.wait_seconds = wait_seconds;
  return built;
}

Result<FoundCubin> CubinSource::build(const CachedKernel& kernel, ImageTarget target,
                                      const CubinRecords& refused) {
  const Stopwatch watch;
  CUBINET_TRY(kernel.request()->kernel_template()->check_target(kernel.spec(), target.target, target.kind));
  const auto known = today(kernel, target);
  const std::optional<BuildFingerprint> fingerprint = known ? *known : std::nullopt;
  const bool failed_before = std::any_of(refused.begin(), refused.end(), [&](const auto& record) {
    return record->origin == CubinOrigin::compiled && record->target == target.target &&
           record->kind == target.kind && fingerprint == record->fingerprint;
  });
  if (failed_before) {
    return Error{ErrorCode::unsupported, kernel.spec().to_string() + " was built for " + target.to_string() +
                                             ", and its current build does not load"};
  }
  bool leads = false;
  CUBINET_TRY_ASSIGN(Built built, builds_.run({target, kernel.id().encoding(), fingerprint}, [&] {
    leads = true;
    return build_alone(kernel, target, fingerprint, refused);
  }));
  if (!known) warn(known.error());
  FoundCubin& found = built.found;
  const double seconds = watch.seconds();
  // One compilation is reported once. Callers that waited report a found build.
  if (!leads) {
    found.source = built.source;
    found.compile_seconds = 0;
    found.wait_seconds = seconds;
  }
  found.find_seconds = std::max(0.0, seconds - found.compile_seconds - found.wait_seconds);
  return std::move(found);
}

CubinSource::Looked CubinSource::look_up(const CachedKernel& kernel, std::vector<ImageTarget> targets,
                                         const CubinRecords& refused, SharedImages* images) {
  const Range range(ranges_, "find", kernel.spec());
  Looked looked;
  looked.builds = library_.candidates(kernel.id());
  looked.asked = requested_build(kernel, std::move(targets), looked.builds.candidates);
  looked.found = library_.choose(looked.builds, looked.asked.build_request, refused, images);
  return looked;
}

Result<std::optional<FoundCubin>> CubinSource::for_target(const CachedKernel& kernel, SmTarget target,
                                                          ImageKind kind) {
  const Stopwatch watch;
  const ImageTarget wanted{target, kind};
  Looked looked = look_up(kernel, {wanted}, {}, nullptr);
  const RequestedBuild& asked = looked.asked;
  auto& found = looked.found;
  const bool may_be_obtained = this->may_be_obtained(kernel);
  if (found || !may_be_obtained) warn(asked.unknown);
  if (found) {
    found->find_seconds = watch.seconds();
    return std::move(found);
  }
  if (!may_be_obtained) return std::optional<FoundCubin>();
  const double find_seconds = watch.seconds();
  auto built = build(kernel, wanted, {});
  if (!built && !compiles(kernel)) return std::optional<FoundCubin>();
  if (!built) return std::move(built).error();
  built->find_seconds += find_seconds;
  return std::optional<FoundCubin>(*std::move(built));
}

// Returns the remedy for a kernel that cannot be compiled here. Importing cannot provide an image
// that a user added.
std::string remedy_of_held(const CachedKernel& kernel, ComputeCapability device, const KernelBuilds& builds) {
  const bool is_added = kernel.spec().maker == KernelMaker::function && !builds.records.empty() &&
                        std::none_of(builds.records.begin(), builds.records.end(), [](const auto& record) {
                          return record->origin == CubinOrigin::imported;
                        });
  if (!is_added) {
    const bool of_template = kernel.spec().maker == KernelMaker::kernel_template;
    return "import a folder or attach a bundle that holds it for a device of " + device.to_string() +
           (of_template ? ", or name its template with `RuntimeOptions::templates`" : "");
  }
  return "build its image for a device of " + device.to_string() + " too, or as PTX, and add it as '" +
         printable(kernel.spec().name) + "' with `Runtime::resolve(name, image)`";
}

Result<SmTarget> CubinSource::target_to_build(const CachedKernel& kernel, ComputeCapability device,
                                              const KernelBuilds& builds) {
  if (kernel.request() == nullptr) {
    return Error{ErrorCode::unavailable, "no template known here makes it",
                 remedy_of_held(kernel, device, builds)};
  }
  CUBINET_TRY_ASSIGN(const auto compiler, environment_.compiler());
  CUBINET_TRY_ASSIGN(const auto supported, compiler->supported_targets());
  std::optional<Error> refusal;
  for (const SmTarget target : targets_.targets(device)) {
    if (std::find(supported.begin(), supported.end(), target) == supported.end()) continue;
    auto fits = kernel.request()->kernel_template()->check_target(kernel.spec(), target);
    if (fits) return target;
    if (!refusal) refusal = fits.error();
  }
  if (refusal) return *std::move(refusal);
  const std::string policy = targets_.to_string();
  return Error{
      ErrorCode::unsupported,
      compiler->identity() + " builds for no target that runs on a device of " + device.to_string() +
          (policy.empty() ? "" : " under the policy (" + policy + ")"),
      policy.empty() ? "use a newer NVRTC, or a bundle that holds the kernel" : "allow another target"};
}

// Returns, for example, "; for sm_90a there are 1 local build(s) by another compiler, template or
// options; there are builds for sm_80".
std::string skipped_builds(const KernelBuilds& builds, const BuildRequest& build_request) {
  std::string text;
  std::vector<std::string> elsewhere;
  for (const ImageTarget target : build_request.targets) {
    std::size_t stale = 0;
    std::size_t foreign = 0;
    for (const BuildCandidate& candidate : builds.candidates) {
      if (candidate.target != target) continue;
      const BuildStatus status = build_status_of(candidate, build_request);
      stale += status == BuildStatus::stale ? 1U : 0U;
      foreign += status == BuildStatus::foreign ? 1U : 0U;
    }
    std::vector<std::string> parts;
    if (stale > 0)
      parts.push_back(std::to_string(stale) + " local build(s) by another compiler, template or options");
    if (foreign > 0)
      parts.push_back(std::to_string(foreign) + " build(s) for another interface version of the template");
    if (!parts.empty()) text += "; for " + target.to_string() + " there are " + join(parts);
  }
  for (const BuildCandidate& candidate : builds.candidates) {
    const bool wanted = std::find(build_request.targets.begin(), build_request.targets.end(),
                                  candidate.target) != build_request.targets.end();
    if (!wanted) elsewhere.push_back(candidate.target.to_string());
  }
  std::sort(elsewhere.begin(), elsewhere.end());
  elsewhere.erase(std::unique(elsewhere.begin(), elsewhere.end()), elsewhere.end());
  return elsewhere.empty() ? text : text + "; there are builds for " + join(elsewhere);
}

std::string CubinSource::caches_without_build() const {
  if (library_.caches().empty()) return {};
  std::vector<std::string> caches;
  for (const auto& cache : library_.caches())
    caches.push_back(cache->place());
  const auto compiler = environment_.compiler();
  if (!compiler) return "; " + join(caches) + " not queried, because without a compiler the build is unknown";
  return "; no build of it by " + (*compiler)->identity() + " in " + join(caches);
}

Error CubinSource::miss(const CachedKernel& kernel, ComputeCapability device, const KernelBuilds& builds,
                        const BuildRequest& build_request) const {
  std::vector<std::string> names;
  for (const ImageTarget target : build_request.targets)
    names.push_back(target.to_string());
  std::string looked_for = join(names);
  if (names.empty()) {
    const std::string policy = targets_.to_string();
    looked_for = policy.empty() ? "none" : "none, " + policy;
  }
  const bool has_template = kernel.request() != nullptr;
  std::string unread;
  for (const UnreadableBuilds& each : library_.unreadable(kernel.id(), builds))
    unread += "; " + each.error.to_line();
  return Error{ErrorCode::not_found,
               kernel.spec().to_string() + " is in no store for a device of " + device.to_string() +
                   " (targets looked for: " + looked_for + skipped_builds(builds, build_request) + unread +
                   "), and " +
                   (has_template ? "compiling is switched off" + caches_without_build()
                                 : "no template known here makes it"),
               has_template ? "compile it ahead of time, or allow compiling with `RuntimeOptions::compile`"
                            : remedy_of_held(kernel, device, builds)};
}

Result<FoundCubin> CubinSource::for_device(const CachedKernel& kernel, ComputeCapability device,
                                           const CubinRecords& refused,
                                           std::shared_ptr<const KernelExplanation>* why) {
  const Stopwatch watch;
  Looked looked = look_up(kernel, targets_of(device), refused, &images_);
  const KernelBuilds& builds = looked.builds;
  const RequestedBuild& asked = looked.asked;
  auto& found = looked.found;
  const bool may_be_obtained = this->may_be_obtained(kernel);
  if (found || !may_be_obtained) warn(asked.unknown);
  if (found) {
    found->find_seconds = watch.seconds();
    return *std::move(found);
  }
  if (!may_be_obtained) return miss(kernel, device, builds, asked.build_request);
  // Listed before the new build takes the place of a damaged one.
  std::vector<UnreadableBuilds> unreadable;
  if (explains_ && why != nullptr) unreadable = library_.unreadable(kernel.id(), builds);
  const double find_seconds = watch.seconds();
  const auto target = target_to_build(kernel, device, builds);
  auto built =
      target ? build(kernel, {*target, ImageKind::cubin}, refused) : Result<FoundCubin>(target.error());
  if (!built && !compiles(kernel)) return miss(kernel, device, builds, asked.build_request);
  if (!built) return std::move(built).error();
  built->find_seconds += find_seconds;
  if (explains_ && why != nullptr && built->source == KernelSource::compiled)
    *why = explain_compilation(kernel, device, *target, builds, asked.build_request, refused,
                               std::move(unreadable));
  return *std::move(built);
}

}  // namespace cubinet
