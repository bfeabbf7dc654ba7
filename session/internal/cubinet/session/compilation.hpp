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

// A kernel to compile for one target. Existing builds in the stores are not used.
struct KernelToCompile {
  std::shared_ptr<const KernelTemplate> kernel_template;
  KernelSpec spec;  // resolved
  CompileOptions options;
  ImageTarget target;
  ImageKind kind = ImageKind::cubin;  // of the output; may be PTX for a target of machine code
};

struct CompiledKernel {
  std::shared_ptr<const CubinRecord> record;
  std::shared_ptr<const Bytes> image;
  double seconds = 0;
};

// Compiles each kernel, `jobs` of them at a time, and returns the results in the same order.
// Returns unavailable if there is no compiler.
Result<std::vector<Result<CompiledKernel>>> compile_directly(const SessionOptions& session,
                                                             const std::vector<KernelToCompile>& kernels,
                                                             unsigned jobs);

// Returns the source that would be compiled, complete in one file, for people and for nvcc.
Result<std::string> source_of(const KernelToCompile& kernel);

// The input of the compiler for one source of a kernel, as lines for people and as JSON. The lines
// may hold text from outside.
struct CompilationInput {
  std::vector<std::string> lines;
  nlohmann::json document;
};
// Returns the inputs for the template, then for each source that is linked with it. Loads NVRTC.
Result<std::vector<CompilationInput>> compilation_inputs(const SessionOptions& session,
                                                         const KernelToCompile& kernel);

// Returns the identity of the Runtime's compiler: "NVRTC 13.0, build <hex>+<hex>". Returns
// unavailable if there is no compiler.
Result<std::string> compiler_identity(Runtime& runtime);

// Returns the fingerprint that a compilation would record now. Returns nullopt if the Runtime has
// no compiler or no template makes the kernel. Returns unsupported if the template refuses the
// target.
Result<std::optional<BuildFingerprint>> current_fingerprint(Runtime& runtime, const CompileOptions& options,
                                                            const KernelSpec& spec, SmTarget target);

// Returns whether the home holds a build that its Runtime found or made; false if no home takes
// builds. A Runtime that cannot keep a build continues with it in memory. This function therefore
// asks the home once more to keep it, and returns the home's error if it fails.
Result<bool> is_kept(const Runtime& runtime, const FoundCubin& found);

// The unpacked headers of NVRTC releases that the search no longer finds.
struct SweptHeaders {
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
};
// Counts these headers. Also removes them if `remove`.
Result<SweptHeaders> sweep_headers(const SessionOptions& session, bool remove);

// Returns the number of compilations that the processors and the memory of this process allow.
unsigned available_jobs();

}  // namespace cubinet
