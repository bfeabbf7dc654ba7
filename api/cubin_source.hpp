// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_layers.hpp"
#include "environment.hpp"
#include "prepared_kernel.hpp"
#include "single_flight.hpp"

#include <memory>
#include <optional>

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
  // anything is compiled. A miss under compile = never is not_found and says what was looked for.
  Result<FoundCubin> for_device(const CachedKernel& kernel, ComputeCapability device);

  // What for_device() would do, and why. Reads no image, compiles nothing.
  KernelExplanation explain(const CachedKernel& kernel, ComputeCapability device);

  // A new cubin for the device's best target, whatever lies in the layers: for when what was found there did
  // not load.
  Result<FoundCubin> rebuild_for_device(const CachedKernel& kernel, ComputeCapability device);

 private:
  LayerQuery query(const CachedKernel& kernel, SmTarget target, ImageKind kind);
  Result<FoundCubin> build(const CachedKernel& kernel, SmTarget target, const LayerQuery& query);
  Result<FoundCubin> compile(const CompileRequest& request);
  Result<FoundCubin> build_alone(const CompileRequest& request, const LayerQuery& query);
  Result<SmTarget> target_to_build(const CachedKernel& kernel, ComputeCapability device);
  Error miss(const CachedKernel& kernel, ComputeCapability device);

  CubinLayers& layers_;
  Environment& environment_;
  CompilePolicy policy_;
  TargetPolicy targets_;
  LogSink log_;
  SingleFlight<std::pair<ImageKind, Bytes>, FoundCubin> builds_;
};

}  // namespace cubinet
