// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"

#include "stopwatch.hpp"

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

Result<FoundCubin> CubinSource::build_alone(const CompileRequest& request, const LayerQuery& query) {
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
  if (auto found = layers_.find(query)) return *std::move(found);
  return compile(request);
}

Result<FoundCubin> CubinSource::compile(const CompileRequest& request) {
  CUBINET_TRY_ASSIGN(const auto compiler, environment_.compiler());
  CUBINET_TRY_ASSIGN(CompileOutput output, compiler->compile(request));
  FoundCubin built;
  built.source = KernelSource::compiled;
  built.cubin.record = std::make_shared<const CubinRecord>(std::move(output.record));
  built.cubin.image = std::move(output.image);
  layers_.keep(built.cubin);
  return built;
}

Result<FoundCubin> CubinSource::build(const CachedKernel& kernel, SmTarget target, const LayerQuery& query) {
  const Stopwatch watch;
  CUBINET_TRY(kernel.kernel_template()->check_target(kernel.spec(), target));
  auto built = builds_.run({query.kind, query.identity.encoding()}, [&] {
    return build_alone(kernel.request().for_target(target, query.kind), query);
  });
  if (built) built->compile_seconds = watch.seconds();
  return built;
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
  for (const SmTarget target : targets_.targets(device)) {
    looked_for += (looked_for.empty() ? "" : ", ") + target.to_string();
    const std::string found = layers_.explain_miss(query(kernel, target, ImageKind::cubin));
    if (!found.empty()) passed_over += "; for " + target.to_string() + " there are " + found;
  }
  return Error{
      ErrorCode::not_found,
      kernel.spec().to_string() + " is in no registry or bundle for a device of " + device.to_string() +
          " (targets looked for: " + (looked_for.empty() ? "none, " + targets_.to_string() : looked_for) +
          passed_over + "), and compiling is switched off",
      "prebuild it with `cubinet prebuild`, or allow compilation"};
}

Result<FoundCubin> CubinSource::rebuild_for_device(const CachedKernel& kernel, ComputeCapability device) {
  const Stopwatch watch;
  CUBINET_TRY_ASSIGN(const SmTarget target, target_to_build(kernel, device));
  CUBINET_TRY_ASSIGN(FoundCubin built, compile(kernel.request().for_target(target, ImageKind::cubin)));
  built.compile_seconds = watch.seconds();
  return built;
}

Result<FoundCubin> CubinSource::for_device(const CachedKernel& kernel, ComputeCapability device) {
  const Stopwatch watch;
  std::vector<std::pair<SmTarget, LayerQuery>> asked;  // of cubins: one of them is built when none is found
  for (const SmTarget target : targets_.targets(device)) {
    asked.emplace_back(target, query(kernel, target, ImageKind::cubin));
    if (auto found = layers_.find(asked.back().second)) {
      found->find_seconds = watch.seconds();
      return *std::move(found);
    }
  }
  for (const SmTarget target : targets_.ptx_targets(device)) {
    if (auto found = layers_.find(query(kernel, target, ImageKind::ptx))) {
      found->find_seconds = watch.seconds();
      return *std::move(found);
    }
  }
  if (policy_ == CompilePolicy::never) return miss(kernel, device);
  const double find_seconds = watch.seconds();
  CUBINET_TRY_ASSIGN(const SmTarget target, target_to_build(kernel, device));
  const auto position =
      std::find_if(asked.begin(), asked.end(), [&](const auto& pair) { return pair.first == target; });
  CUBINET_TRY_ASSIGN(FoundCubin built, build(kernel, target, position->second));
  built.find_seconds = find_seconds;
  return built;
}

}  // namespace cubinet
