// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "environment.hpp"
#include "library.hpp"
#include "prepared_kernel.hpp"
#include "single_flight.hpp"

#include <cubinet/cubin_registry/judge.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace cubinet {

// From a prepared kernel to verified bytes: the stores first, then the compiler, once for all who ask.
// Thread-safe.
class CubinSource {
 public:
  CubinSource(Library& library, Environment& environment, CompilePolicy policy, TargetPolicy targets,
              LogSink log)
      : library_(library),
        environment_(environment),
        policy_(policy),
        targets_(std::move(targets)),
        log_(std::move(log)) {}

  // For one exact target. nullopt: nothing was found, and the policy forbids to compile or nothing is known
  // to compile. What caches have is fetched under either policy: it is compiled already.
  Result<std::optional<FoundCubin>> for_target(const CachedKernel& kernel, SmTarget target, ImageKind kind);

  // The best there is for a device: the builds of every target that runs on it before anything is compiled.
  // What is `refused` is passed over, and not built once more. A miss of what may not or cannot be compiled
  // is not_found and says what was looked for.
  Result<FoundCubin> for_device(const CachedKernel& kernel, ComputeCapability device,
                                const CubinRecords& refused = {});

  // What for_device() would do, and why. Compiles and keeps nothing; of images it reads that alone which a
  // cache would give.
  KernelExplanation explain(const CachedKernel& kernel, ComputeCapability device);

  // What is wanted of the kernel, with what would be built today for those of the targets that local builds
  // are there for.
  Wish wish_for(const CachedKernel& kernel, std::vector<ImageTarget> targets, std::span<const Offer> offers);
  std::vector<ImageTarget> targets_of(ComputeCapability device) const;

 private:
  // What a flight brought, and where those who joined it would find that.
  struct Built {
    FoundCubin found;
    KernelSource lies_in = KernelSource::registry;
  };

  // wish_for(), and why it is not known what would be built today: a header that cannot be read, say. Left to
  // the caller to tell: a build that follows says the same as its error.
  struct Wished {
    Wish wish;
    std::optional<Error> unknown;
  };
  Wished wished(const CachedKernel& kernel, std::vector<ImageTarget> targets, std::span<const Offer> offers);
  void warn(const std::optional<Error>& unknown) const;

  // nullopt where nothing is compiled.
  Result<std::optional<BuildFingerprint>> today(const CachedKernel& kernel, ImageTarget target);
  Result<FoundCubin> build(const CachedKernel& kernel, ImageTarget target, const CubinRecords& refused);
  Result<Built> build_alone(const CachedKernel& kernel, ImageTarget target,
                            const std::optional<BuildFingerprint>& fingerprint, const CubinRecords& refused);
  // What a build is made of here, and what becomes of a kernel where nothing lies.
  bool compiles(const CachedKernel& kernel) const {
    return policy_ != CompilePolicy::never && kernel.request() != nullptr;
  }
  bool may_be_had(const CachedKernel& kernel) const {
    return compiles(kernel) || (kernel.request() != nullptr && !library_.caches().empty());
  }
  // Whether or not anything may be compiled for it.
  Result<SmTarget> target_to_build(const CachedKernel& kernel, ComputeCapability device,
                                   const KernelBuilds& builds);
  // "; https://… has no build of it by NVRTC 13.3": what caches said where nothing may be compiled.
  std::string asked_in_vain() const;
  bool ask_caches(const CachedKernel& kernel, SmTarget target, KernelExplanation& explanation);
  Error miss(const CachedKernel& kernel, ComputeCapability device, const KernelBuilds& builds,
             const Wish& wish) const;

  Library& library_;
  Environment& environment_;
  CompilePolicy policy_;
  TargetPolicy targets_;
  LogSink log_;
  // What the policy makes of a device takes as long as its part of a look-up.
  mutable std::mutex targets_mutex_;
  mutable std::map<ComputeCapability, std::vector<ImageTarget>> targets_of_;
  // By fingerprint too: who asks after a header was edited does not join a build of the text before.
  SingleFlight<std::tuple<ImageTarget, Bytes, std::optional<BuildFingerprint>>, Built> builds_;
};

}  // namespace cubinet
