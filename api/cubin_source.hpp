// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cached_kernel.hpp"
#include "environment.hpp"
#include "library.hpp"
#include "shared_images.hpp"
#include "single_flight.hpp"

#include <cubinet/cubin_registry/judge.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace cubinet {

// Turns a prepared kernel into verified bytes: from the stores, else from the compiler, once for
// all concurrent callers. Thread-safe.
class CubinSource {
 public:
  // `explains` is RuntimeOptions::explains_compilations.
  CubinSource(Library& library, Environment& environment, CompilePolicy policy, TargetPolicy targets,
              LogSink log, bool explains = false, RangeHook ranges = {})
      : library_(library),
        environment_(environment),
        policy_(policy),
        targets_(std::move(targets)),
        log_(std::move(log)),
        explains_(explains),
        ranges_(std::move(ranges)) {}

  // Returns the build for one exact target. Returns nullopt if nothing was found and compiling is
  // forbidden or impossible. Builds in caches are fetched under either policy, because they are
  // compiled already.
  Result<std::optional<FoundCubin>> for_target(const CachedKernel& kernel, SmTarget target, ImageKind kind);

  // Returns the best build for a device. Existing builds of every target that runs on it precede
  // compilation. Builds in `refused` are skipped and not compiled again. A miss without compilation
  // is not_found and lists the lookups. If the kernel was compiled and compilations are explained,
  // sets `*why`.
  Result<FoundCubin> for_device(const CachedKernel& kernel, ComputeCapability device,
                                const CubinRecords& refused = {},
                                std::shared_ptr<const KernelExplanation>* why = nullptr);

  // Returns what for_device() would do, and why. Compiles and keeps nothing. Reads only an image
  // that a cache would return.
  KernelExplanation explain(const CachedKernel& kernel, ComputeCapability device);

  // Returns the request for the judge, with the current build of each target that has local builds.
  BuildRequest build_request_for(const CachedKernel& kernel, std::vector<ImageTarget> targets,
                                 std::span<const BuildCandidate> candidates);
  std::vector<ImageTarget> targets_of(ComputeCapability device) const;
  // The images that for_device() need not read again.
  SharedImages& images() { return images_; }

 private:
  // The result of a flight, and the source that joined callers report.
  struct Built {
    FoundCubin found;
    KernelSource source = KernelSource::registry;
  };

  // The result of build_request_for(), and the reason why the current build is unknown, for example
  // because a header cannot be read. The caller reports it, because a following build fails with
  // the same error.
  struct RequestedBuild {
    BuildRequest build_request;
    std::optional<Error> unknown;
  };
  RequestedBuild requested_build(const CachedKernel& kernel, std::vector<ImageTarget> targets,
                                 std::span<const BuildCandidate> candidates);
  void warn(const std::optional<Error>& unknown) const;
  // The builds of a kernel in the stores, and the one that is used.
  struct Looked {
    KernelBuilds builds;
    RequestedBuild asked;
    std::optional<FoundCubin> found;
  };
  // `images`: images that are read once for all devices; may be null.
  Looked look_up(const CachedKernel& kernel, std::vector<ImageTarget> targets, const CubinRecords& refused,
                 SharedImages* images);

  // Returns nullopt if nothing is compiled.
  Result<std::optional<BuildFingerprint>> today(const CachedKernel& kernel, ImageTarget target);
  Result<FoundCubin> build(const CachedKernel& kernel, ImageTarget target, const CubinRecords& refused);
  Result<Built> build_alone(const CachedKernel& kernel, ImageTarget target,
                            const std::optional<BuildFingerprint>& fingerprint, const CubinRecords& refused);
  // Returns whether a missing kernel is compiled.
  bool compiles(const CachedKernel& kernel) const {
    return policy_ != CompilePolicy::never && kernel.request() != nullptr;
  }
  bool may_be_obtained(const CachedKernel& kernel) const {
    return compiles(kernel) || (kernel.request() != nullptr && !library_.caches().empty());
  }
  // Returns the target to compile for, even if compiling is forbidden.
  Result<SmTarget> target_to_build(const CachedKernel& kernel, ComputeCapability device,
                                   const KernelBuilds& builds);
  // Returns the answers of the caches for messages if nothing may be compiled: "; https://… has no
  // build of it by NVRTC 13.3".
  std::string caches_without_build() const;
  bool query_caches(const CachedKernel& kernel, SmTarget target, KernelExplanation& explanation);
  // Returns the builds with their verdicts, best first, and nothing else.
  KernelExplanation judged(const CachedKernel& kernel, ComputeCapability device, const KernelBuilds& builds,
                           const BuildRequest& build_request);
  // Returns why the kernel was compiled although the stores had `builds`.
  std::shared_ptr<const KernelExplanation> explain_compilation(const CachedKernel& kernel,
                                                               ComputeCapability device, SmTarget target,
                                                               const KernelBuilds& builds,
                                                               const BuildRequest& build_request,
                                                               const CubinRecords& refused,
                                                               std::vector<UnreadableBuilds> unreadable);
  Error miss(const CachedKernel& kernel, ComputeCapability device, const KernelBuilds& builds,
             const BuildRequest& build_request) const;

  Library& library_;
  Environment& environment_;
  CompilePolicy policy_;
  TargetPolicy targets_;
  LogSink log_;
  bool explains_;
  const RangeHook ranges_;
  SharedImages images_;
  // The targets of each device under the policy, cached because computing them takes as long as the
  // rest of a lookup.
  mutable std::mutex targets_mutex_;
  mutable std::map<ComputeCapability, std::vector<ImageTarget>> targets_of_;
  // The key includes the fingerprint, so that a request after an edit of a header does not join a
  // build of the old text.
  SingleFlight<std::tuple<ImageTarget, Bytes, std::optional<BuildFingerprint>>, Built> builds_;
};

}  // namespace cubinet
