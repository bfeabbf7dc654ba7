// SPDX-License-Identifier: Apache-2.0
#include "compiler_input_text.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/session/compilation.hpp>
#include <cubinet/session/open_stores.hpp>

namespace cubinet {
namespace {

CompileRequest request_for(const KernelToCompile& kernel) {
  return {kernel.kernel_template, kernel.spec, kernel.target.target, kernel.options, kernel.kind};
}

}  // namespace

Result<std::vector<Result<CompiledKernel>>> compile_directly(const SessionOptions& session,
                                                             const std::vector<KernelToCompile>& kernels,
                                                             unsigned jobs) {
  if (session.compile == CompilePolicy::never) {
    return Error{ErrorCode::unavailable, "`SessionOptions::compile` forbids compiling",
                 "allow it, or look the kernels up in a store"};
  }
  CUBINET_TRY_ASSIGN(const auto compiler, Compiler::open(compiler_search(session)));
  std::vector<Result<CompiledKernel>> compiled(kernels.size(), CompiledKernel());
  parallel_for(kernels.size(), jobs, [&](std::size_t index) {
    auto output = compiler->compile(request_for(kernels[index]));
    if (output) {
      compiled[index] = CompiledKernel{std::make_shared<const CubinRecord>(std::move(output->record)),
                                       output->image, output->seconds};
    } else {
      compiled[index] = std::move(output).error();
    }
  });
  return compiled;
}

Result<std::string> source_of(const KernelToCompile& kernel) {
  return specialised_source(request_for(kernel));
}

Result<std::vector<CompilationInput>> compilation_inputs(const SessionOptions& session,
                                                         const KernelToCompile& kernel) {
  CUBINET_TRY_ASSIGN(const auto compiler, Compiler::open(compiler_search(session)));
  CUBINET_TRY_ASSIGN(const std::vector<CompilerInput> inputs, compiler->inputs(request_for(kernel)));
  const std::string target = kernel.target.to_string();
  std::vector<CompilationInput> described;
  for (const CompilerInput& input : inputs) {
    described.push_back(
        {to_lines(input, compiler->identity(), target), describe(input, compiler->identity(), target)});
  }
  return described;
}

Result<std::string> compiler_identity(Runtime& runtime) {
  CUBINET_TRY_ASSIGN(const auto compiler, runtime.compiler());
  return compiler->identity();
}

namespace {

// Returns whether the template makes this kernel. A source of its name may be the caller's own; one
// of a catalog has a template without parameters.
bool makes(const KernelTemplate& kernel_template, const KernelSpec& spec) {
  if (spec.maker != KernelMaker::source) return spec.maker == KernelMaker::kernel_template;
  KernelSpec request = spec;
  request.parameters.clear();
  const auto resolved = kernel_template.resolve(request);
  return resolved && identify(*resolved) == identify(spec);
}

}  // namespace

Result<std::optional<BuildFingerprint>> current_fingerprint(Runtime& runtime, const CompileOptions& options,
                                                            const KernelSpec& spec, SmTarget target) {
  const auto kernel_template = runtime.templates().find(spec.name);
  if (!kernel_template || !makes(**kernel_template, spec)) return std::optional<BuildFingerprint>();
  CUBINET_TRY((*kernel_template)->check_target(spec, target));
  const auto compiler = runtime.compiler();
  if (!compiler) return std::optional<BuildFingerprint>();
  CUBINET_TRY_ASSIGN(
      const BuildFingerprint fingerprint,
      (*compiler)->fingerprint({*kernel_template, spec, target, options, ImageKind::cubin, true}));
  return std::optional(fingerprint);
}

Result<SweptHeaders> sweep_headers(const SessionOptions& session, bool remove) {
  CUBINET_TRY_ASSIGN(const UnneededHeaders headers, sweep_bundled_headers(compiler_search(session), remove));
  return SweptHeaders{headers.folders, headers.bytes};
}

Result<bool> is_kept(const Runtime& runtime, const FoundCubin& found) {
  if (found.source == KernelSource::registry) return true;
  for (const auto& store : runtime.stores()) {
    const auto home = std::dynamic_pointer_cast<Home>(store);
    if (home == nullptr || !home->description().writable) continue;
    CUBINET_TRY(home->publish(found.cubin));  // an existing undamaged build is not changed
    return true;
  }
  return false;
}

unsigned available_jobs() {
  return default_jobs();
}

}  // namespace cubinet
