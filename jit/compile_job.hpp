// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_library.hpp"
#include "include_closure.hpp"
#include "nvjitlink_api.hpp"
#include "nvrtc_api.hpp"
#include "nvrtc_copies.hpp"

#include <cubinet/jit/compiler.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// All texts and libraries of a build.
struct BuildInputs {
  std::vector<std::shared_ptr<const IncludeClosure>>
      closures;  // of the template, then of each source that is linked with it
  DeviceLibraries libraries;
  // Why unused variables stay in the image (small_image.hpp); empty: they are removed if possible.
  std::string variables_kept;
};

// The compiled code of one source, or of all linked sources.
struct CompiledSource {
  Bytes code;                        // cubin, PTX or, before it is linked, LTO IR
  std::vector<std::string> symbols;  // one for each symbol expression; empty where that is
  std::map<std::string, std::string, std::less<>> globals;  // the symbol of each variable that is named
  std::string log;
};

// Compiles one source of the request: its template, or one that is linked with it.
Result<CompiledSource> compile_source(const NvrtcApi& api, const CompileRequest& request,
                                      const KernelTemplate& source, const IncludeClosure& closure,
                                      const std::string& parameters_header);

// Describes the input that compile_source() passes to NVRTC.
CompilerInput describe_source(NvrtcVersion version, const CompileRequest& request,
                              const KernelTemplate& source, const IncludeClosure& closure,
                              const std::string& parameters_header);

// Compiles one checked request and fills in the record except compiler and fingerprint. REQUIRES:
// request.spec is resolved, `inputs` belong to its template, and `linker` is given if and only if
// the request needs one or unused variables are removed.
Result<CompileOutput> run_compile_job(NvrtcCopies& copies, const NvJitLinkApi* linker,
                                      const CompileRequest& request, const BuildInputs& inputs,
                                      const std::string& parameters_header);

}  // namespace cubinet
