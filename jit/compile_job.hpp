// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include_closure.hpp"
#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Compiles one checked request. REQUIRES: request.spec is resolved, `closure` is that of its template. Fills
// in all of the record but compiler and fingerprint.
Result<CompileOutput> run_compile_job(const NvrtcApi& api, const CompileRequest& request,
                                      const IncludeClosure& closure, const std::string& parameters_header);

// What it gives to NVRTC. REQUIRES: the same.
CompilerInput describe_compile_job(NvrtcVersion version, const CompileRequest& request,
                                   const IncludeClosure& closure, const std::string& parameters_header);

}  // namespace cubinet
