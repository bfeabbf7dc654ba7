// SPDX-License-Identifier: Apache-2.0
#include "compile_flags.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr NvrtcVersion kFirstWithCache{12, 9};  // and so with --no-cache
constexpr NvrtcVersion kFirstWithFamilies{12, 9};

}  // namespace

std::vector<std::string> code_flags(SmTarget target, ImageKind kind, const CompilerOptions& options) {
  const bool cubin = kind == ImageKind::cubin;
  std::vector<std::string> flags = {"--gpu-architecture=" +
                                    (cubin ? target.to_string() : target.compute_name())};
  if (!options.contains("std")) flags.emplace_back("--std=c++17");
  for (std::string& flag : compiler_flags(options))
    flags.push_back(std::move(flag));
  return flags;
}

// Precompiled headers (--pch) are not used: on our slim headers, CUDA 13.0, sm_90a, the first compilation
// with them took 16 to 26 % longer, later ones as long (rms_norm) or 20 % longer (attention_decode), and each
// left a file of 8 to 9 MB. Neither is --minimal (attention_decode 1 % shorter, and no textures for anybody's
// template) nor --split-compile (13 to 25 % longer on two cores, and other code).
std::vector<std::string> compile_flags(const CompileRequest& request, NvrtcVersion version) {
  std::vector<std::string> flags = code_flags(request);
  // NVRTC's own cache would hide what we measure and keep a second copy of what the registry keeps.
  if (version >= kFirstWithCache) flags.emplace_back("--no-cache");
  // No folder is searched, not even the working one: every header is in memory.
  flags.emplace_back("--no-source-include");
  return flags;
}

std::vector<SmTarget> targets_of(const std::vector<int>& architectures, NvrtcVersion version) {
  std::vector<SmTarget> targets;
  for (const SmTarget target : known_targets()) {
    const int number = target.major * 10 + target.minor;
    if (std::find(architectures.begin(), architectures.end(), number) == architectures.end()) continue;
    if (target.kind == TargetKind::family && version < kFirstWithFamilies) continue;
    targets.push_back(target);
  }
  return targets;
}

}  // namespace cubinet
