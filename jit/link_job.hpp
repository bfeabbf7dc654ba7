// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compile_job.hpp"

namespace cubinet {

// Returns unsupported if no linker can produce the requested kind: PTX from machine code.
Result<void> check_linkable(const CompileRequest& request);

// Compiles all sources of a request as relocatable code and links them with its libraries. Sources
// compile concurrently and are linked in their declared order. Removes unused variables if
// `kept_because` is empty; if it cannot, that becomes the reason.
Result<CompiledSource> run_link_job(const NvrtcApi& api, const NvJitLinkApi& linker,
                                    const CompileRequest& request, const BuildInputs& inputs,
                                    const std::string& parameters_header, std::string& kept_because);

// Returns the kernels of a linked cubin that can be looked up by name, without internal kernels of
// libraries.
Result<std::vector<std::string>> visible_kernels(ByteView cubin);

}  // namespace cubinet
