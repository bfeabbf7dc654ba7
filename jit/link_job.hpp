// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compile_job.hpp"

namespace cubinet {

// unsupported for what no linker makes of such a request: PTX of machine code.
Result<void> check_linkable(const CompileRequest& request);

// Compiles every source of a request as relocatable code and links them with its libraries. Sources compile
// concurrently, in whatever order; they are linked in theirs, which follow the template's.
Result<CompiledSource> run_link_job(const NvrtcApi& api, const NvJitLinkApi& linker,
                                    const CompileRequest& request, const BuildInputs& inputs,
                                    const std::string& parameters_header);

// The kernels of a linked cubin that can be asked for by name: libraries keep some to themselves.
Result<std::vector<std::string>> visible_kernels(ByteView cubin);

}  // namespace cubinet
