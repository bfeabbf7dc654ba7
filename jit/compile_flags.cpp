// SPDX-License-Identifier: Apache-2.0
#include "compile_flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cubinet {
namespace {

constexpr NvrtcVersion kFirstWithCache{12, 9};  // and so with --no-cache
constexpr NvrtcVersion kFirstWithFamilies{12, 9};
constexpr NvrtcVersion kFirstWithSeed{12, 9};

// The name of a part of fast math in NVRTC and in nvJitLink, and its value under --use_fast_math.
struct MathOption {
  std::string_view compilers;
  std::string_view linkers;
  const char* fast;
};
constexpr std::array<MathOption, 4> kMathOptions = {{{"ftz", "-ftz=", "1"},
                                                     {"prec-div", "-prec-div=", "0"},
                                                     {"prec-sqrt", "-prec-sqrt=", "0"},
                                                     {"fmad", "-fma=", "1"}}};

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

// Precompiled headers (--pch) are not used: on our slim headers, CUDA 13.0, sm_90a, the first
// compilation with them took 16 to 26 % longer, later ones as long (rms_norm) or 20 % longer
// (attention_decode), and each left a file of 8 to 9 MB. Neither is --minimal (attention_decode 1 %
// shorter, and no textures for anybody's template) nor --split-compile (13 to 25 % longer on two
// cores, and other code).
std::vector<std::string> compile_flags(const CompileRequest& request, NvrtcVersion version,
                                       const Sha256Digest& texts) {
  std::vector<std::string> flags = code_flags(request);
  // NVRTC's own cache would hide what we measure and keep a second copy of what the registry keeps.
  if (version >= kFirstWithCache) flags.emplace_back("--no-cache");
  // NVRTC creates symbols for names with internal linkage (`namespace {`, CUB's objects). If the
  // source has no plain function to derive a unique name from, it uses a number of the process.
  if (version >= kFirstWithSeed && !request.spec.options.contains("frandom-seed"))
    flags.push_back("--frandom-seed=" + texts.to_hex());
  // NVRTC searches no folder, not even the working folder: every header is in memory.
  flags.emplace_back("--no-source-include");
  return flags;
}

bool optimises_at_link(const CompilerOptions& options) {
  return options.contains("dlink-time-opt");
}

bool needs_link(const CompilerOptions& options) {
  return optimises_at_link(options) || options.contains("relocatable-device-code");
}

std::vector<std::string> link_flags(SmTarget target, ImageKind kind, const CompilerOptions& options) {
  const bool cubin = kind == ImageKind::cubin;
  std::vector<std::string> flags = {"-arch=" + (cubin ? target.to_string() : target.compute_name())};
  if (!cubin) flags.emplace_back("-ptx");
  if (options.contains("generate-line-info")) flags.emplace_back("-lineinfo");
  if (options.contains("device-debug")) flags.emplace_back("-g");
  if (const auto most = options.find("maxrregcount"); most != options.end())
    flags.push_back("-maxrregcount=" + most->second);
  constexpr std::string_view kPtxasOption = "--ptxas-options=";
  for (const std::string& flag : compiler_flags(options)) {
    if (flag.starts_with(kPtxasOption)) flags.push_back("-Xptxas=" + flag.substr(kPtxasOption.size()));
  }
  if (!optimises_at_link(options)) return flags;
  flags.emplace_back("-lto");
  const bool fast = options.contains("use_fast_math");
  for (const auto& [name, linkers, fast_value] : kMathOptions) {
    const auto given = options.find(name);
    const bool said = given != options.end();
    if (said || fast)
      flags.push_back(std::string(linkers) + (said ? (given->second == "true" ? "1" : "0") : fast_value));
  }
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
