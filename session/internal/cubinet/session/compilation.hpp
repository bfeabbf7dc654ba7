// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/spec/image_target.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A kernel to compile for one target, whatever the stores hold.
struct KernelToCompile {
  std::shared_ptr<const KernelTemplate> kernel_template;
  KernelSpec spec;  // resolved
  CompileOptions options;
  ImageTarget target;
  ImageKind kind = ImageKind::cubin;  // what to make: PTX of a target of machine code too
};

struct CompiledKernel {
  std::shared_ptr<const CubinRecord> record;
  std::shared_ptr<const Bytes> image;
  double seconds = 0;
};

// Compiles each kernel, so many at a time, and returns the results in the same order. unavailable
// if there is no compiler.
Result<std::vector<Result<CompiledKernel>>> compile_directly(const SessionOptions& session,
                                                             const std::vector<KernelToCompile>& kernels,
                                                             unsigned jobs);

// Returns the source that would be compiled, complete in one file, for people and for nvcc.
Result<std::string> source_of(const KernelToCompile& kernel);

// What the compiler is given for one source of a kernel: as lines for people, which may hold text
// from outside, and as JSON.
struct CompilationInput {
  std::vector<std::string> lines;
  nlohmann::json document;
};
// Returns the inputs for the template, then for each source that is linked with it. Loads NVRTC.
Result<std::vector<CompilationInput>> compilation_inputs(const SessionOptions& session,
                                                         const KernelToCompile& kernel);

// Returns the identity of the Runtime's compiler: "NVRTC 13.0, build <hex>+<hex>". unavailable
// without one.
Result<std::string> compiler_identity(Runtime& runtime);

// Returns the fingerprint that a compilation now would record; nullopt if the Runtime has no
// compiler, or no template makes the kernel. unsupported if the template refuses the target.
Result<std::optional<BuildFingerprint>> current_fingerprint(Runtime& runtime, const CompileOptions& options,
                                                            const KernelSpec& spec, SmTarget target);

// Returns whether the home holds a build that its Runtime has found or made; false if no home takes
// builds. A Runtime that cannot keep a build continues with it in memory: this asks the home once
// more to take it, and returns its reason for not doing so.
Result<bool> is_kept(const Runtime& runtime, const FoundCubin& found);

// Headers of NVRTC releases that the search does not find any more.
struct SweptHeaders {
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
};
// Counts them, and removes them if `remove`.
Result<SweptHeaders> sweep_headers(const SessionOptions& session, bool remove);

// Returns the number of compilations that the processors and the memory of this process allow.
unsigned available_jobs();

}  // namespace cubinet
