// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"

#include <cubinet/base/stopwatch.hpp>

#include <algorithm>

namespace cubinet {

LayerQuery CubinSource::query(const CachedKernel& kernel, SmTarget target, ImageKind kind) {
  LayerQuery query;
  query.kind = kind;
  query.identity = identify(kernel.spec(), target);
  query.interface_version = kernel.kernel_template()->interface_version();
  if (const auto compiler = environment_.compiler()) {
    query.compiler_found = true;
    auto fingerprint = (*compiler)->fingerprint(kernel.request(), target, kind);
    if (fingerprint) {
      query.fingerprint = *fingerprint;
    } else {
      // A header that cannot be read, say: the build that follows reports it to the caller.
      log(log_, LogLevel::warning, fingerprint.error().to_line());
    }
  }
  return query;
}

Result<CubinSource::Built> CubinSource::build_alone(const CompileRequest& request, const LayerQuery& query) {
  std::unique_ptr<BuildLock> lock;
  if (layers_.registry() != nullptr && query.fingerprint) {
    auto locked = layers_.registry()->lock_for_build(query.identity, *query.fingerprint);
    if (locked) {
      lock = *std::move(locked);
    } else {
      log(log_, LogLevel::warning, "building without the lock: " + locked.error().to_line());
    }
  }
  // Whoever held the lock, or flew, before us has kept what we are about to build.
  if (auto found = layers_.find(query)) {
    const KernelSource source = found->source;
    return Built{*std::move(found), source};
  }
  return compile(request);
}

Result<CubinSource::Built> CubinSource::compile(const CompileRequest& request) {
  CUBINET_TRY_ASSIGN(const auto compiler, environment_.compiler());
  CUBINET_TRY_ASSIGN(CompileOutput output, compiler->compile(request));
  Built built;
  built.found.source = KernelSource::compiled;
  built.found.cubin.record = std::make_shared<const CubinRecord>(std::move(output.record));
  built.found.cubin.image = std::move(output.image);
  built.lies_in = layers_.keep(built.found.cubin);
  return built;
}

Result<FoundCubin> CubinSource::build(const CachedKernel& kernel, SmTarget target, const LayerQuery& query) {
  const Stopwatch watch;
  CUBINET_TRY(kernel.kernel_template()->check_target(kernel.spec(), target));
  bool leads = false;
  CUBINET_TRY_ASSIGN(Built built,
                     builds_.run({query.kind, query.identity.encoding(), query.fingerprint}, [&] {
                       leads = true;
                       return build_alone(kernel.request().for_target(target, query.kind), query);
                     }));
  // One compilation is told once: for those who waited it is a build that was found.
  if (!leads) built.found.source = built.lies_in;
  built.found.compile_seconds = watch.seconds();
  return std::move(built.found);
}

Result<std::optional<FoundCubin>> CubinSource::for_target(const CachedKernel& kernel, SmTarget target,
                                                          ImageKind kind) {
  const Stopwatch watch;
  const LayerQuery asked = query(kernel, target, kind);
  if (auto found = layers_.find(asked)) {
    found->find_seconds = watch.seconds();
    return found;
  }
  if (policy_ == CompilePolicy::never) return std::optional<FoundCubin>();
  const double find_seconds = watch.seconds();
  CUBINET_TRY_ASSIGN(FoundCubin built, build(kernel, target, asked));
  built.find_seconds = find_seconds;
  return std::optional<FoundCubin>(std::move(built));
}

Result<SmTarget> CubinSource::target_to_build(const CachedKernel& kernel, ComputeCapability device) {
  CUBINET_TRY_ASSIGN(const auto compiler, environment_.compiler());
  CUBINET_TRY_ASSIGN(const auto supported, compiler->supported_targets());
  std::optional<Error> refusal;
  for (const SmTarget target : targets_.targets(device)) {
    if (std::find(supported.begin(), supported.end(), target) == supported.end()) continue;
    auto fits = kernel.kernel_template()->check_target(kernel.spec(), target);
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

Error CubinSource::miss(const CachedKernel& kernel, ComputeCapability device) {
  std::string looked_for;
  std::string passed_over;
  const auto look = [&](const std::vector<SmTarget>& targets, ImageKind kind) {
    for (const SmTarget target : targets) {
      const std::string name = kind == ImageKind::ptx ? target.compute_name() : target.to_string();
      looked_for.append(looked_for.empty() ? "" : ", ").append(name);
      const std::string found = layers_.explain_miss(query(kernel, target, kind));
      if (!found.empty()) passed_over.append("; for ").append(name).append(" there are ").append(found);
    }
  };
  look(targets_.targets(device), ImageKind::cubin);
  look(targets_.ptx_targets(device), ImageKind::ptx);
  if (looked_for.empty()) {
    const std::string policy = targets_.to_string();
    looked_for = policy.empty() ? "none" : "none, " + policy;
  }
  return Error{ErrorCode::not_found,
               kernel.spec().to_string() + " is in no registry or bundle for a device of " +
                   device.to_string() + " (targets looked for: " + looked_for + passed_over +
                   "), and compiling is switched off",
               "prebuild it with `cubinet prebuild`, or allow compilation"};
}

Result<FoundCubin> CubinSource::for_device(const CachedKernel& kernel, ComputeCapability device,
                                           const RefusedBuilds& refused) {
  const Stopwatch watch;
  const auto ask = [&](SmTarget target, ImageKind kind) {
    LayerQuery asked = query(kernel, target, kind);
    asked.refused = &refused;
    return asked;
  };
  std::vector<std::pair<SmTarget, LayerQuery>> asked;  // of cubins: one of them is built when none is found
  for (const SmTarget target : targets_.targets(device)) {
    asked.emplace_back(target, ask(target, ImageKind::cubin));
    if (auto found = layers_.find(asked.back().second)) {
      found->find_seconds = watch.seconds();
      return *std::move(found);
    }
  }
  for (const SmTarget target : targets_.ptx_targets(device)) {
    if (auto found = layers_.find(ask(target, ImageKind::ptx))) {
      found->find_seconds = watch.seconds();
      return *std::move(found);
    }
  }
  if (policy_ == CompilePolicy::never) return miss(kernel, device);
  const double find_seconds = watch.seconds();
  CUBINET_TRY_ASSIGN(const SmTarget target, target_to_build(kernel, device));
  const auto position =
      std::find_if(asked.begin(), asked.end(), [&](const auto& pair) { return pair.first == target; });
  const LayerQuery& wanted = position->second;
  if (wanted.fingerprint && refused.contains_build(wanted.identity, wanted.kind, *wanted.fingerprint)) {
    return Error{ErrorCode::unsupported, kernel.spec().to_string() + " was built for " + target.to_string() +
                                             " as it would be today, and that does not load"};
  }
  CUBINET_TRY_ASSIGN(FoundCubin built, build(kernel, target, wanted));
  built.find_seconds = find_seconds;
  return built;
}

}  // namespace cubinet
