// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_layers.hpp"
#include "environment.hpp"
#include "prepared_kernel.hpp"
#include "single_flight.hpp"

#include <memory>
#include <optional>
#include <tuple>

namespace cubinet {

// From a prepared kernel to verified bytes: the layers first, then the compiler, once for all who ask.
// Thread-safe.
class CubinSource {
 public:
  CubinSource(CubinLayers& layers, Environment& environment, CompilePolicy policy, TargetPolicy targets,
              LogSink log)
      : layers_(layers),
        environment_(environment),
        policy_(policy),
        targets_(std::move(targets)),
        log_(std::move(log)) {}

  // For one exact target. nullopt: nothing was found and the policy forbids to compile.
  Result<std::optional<FoundCubin>> for_target(const CachedKernel& kernel, SmTarget target, ImageKind kind);

  // The best there is for a device: the cubins of every target that runs on it, best first, then PTX, before
  // anything is compiled. What is `refused` is passed over, and not built once more. A miss under compile =
  // never is not_found and says what was looked for.
  Result<FoundCubin> for_device(const CachedKernel& kernel, ComputeCapability device,
                                const RefusedBuilds& refused = {});

  // What for_device() would do, and why. Reads no image, compiles nothing.
  KernelExplanation explain(const CachedKernel& kernel, ComputeCapability device);

 private:
  LayerQuery query(const CachedKernel& kernel, SmTarget target, ImageKind kind);
  // What a flight brought, and where those who joined it would find that.
  struct Built {
    FoundCubin found;
    KernelSource lies_in = KernelSource::registry;
  };

  Result<FoundCubin> build(const CachedKernel& kernel, SmTarget target, const LayerQuery& query);
  Result<Built> compile(const CompileRequest& request);
  Result<Built> build_alone(const CompileRequest& request, const LayerQuery& query);
  Result<SmTarget> target_to_build(const CachedKernel& kernel, ComputeCapability device);
  Error miss(const CachedKernel& kernel, ComputeCapability device);

  CubinLayers& layers_;
  Environment& environment_;
  CompilePolicy policy_;
  TargetPolicy targets_;
  LogSink log_;
  // By fingerprint too: who asks after a header was edited does not join a build of the text before.
  SingleFlight<std::tuple<ImageKind, Bytes, std::optional<BuildFingerprint>>, Built> builds_;
};

}  // namespace cubinet
