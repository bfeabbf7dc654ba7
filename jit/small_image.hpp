// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compile_job.hpp"
#include "linkage.hpp"
#include "nvrtc_copies.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Images without unused variables (docs/decisions/small_images.md). NVRTC keeps every variable of a
// source, also constants of headers that no kernel uses. nvJitLink removes them from LTO IR.

// Returns why the image of a request keeps its unused variables whatever the linker, or nullopt.
// `closures` may be without texts.
std::optional<std::string> reason_to_keep_variables(
    const KernelTemplate& kernel_template, const CompilerOptions& options, ImageKind kind,
    const std::vector<std::shared_ptr<const IncludeClosure>>& closures);

// Links LTO IR without unused variables. `whole` is the image with all variables and `globals` are
// the symbols of named ones. Returns the smaller image if its machine code is that of `whole`;
// otherwise an error whose message is the reason.
Result<Bytes> without_unused_variables(const NvJitLinkApi& linker, const CompileRequest& request,
                                       const std::vector<LinkInput>& lto_ir,
                                       const std::map<std::string, std::string, std::less<>>& globals,
                                       ByteView whole);

// Compiles a request's one source like compile_source(), and as LTO IR in another copy of NVRTC, so
// that neither waits for the other. If the linker makes a smaller image with the same machine code,
// that is the code, otherwise `kept_because` becomes the reason.
Result<CompiledSource> compile_small(NvrtcCopies& copies, const NvJitLinkApi& linker,
                                     const CompileRequest& request, const IncludeClosure& closure,
                                     const std::string& parameters_header, std::string& kept_because);

}  // namespace cubinet
