// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/compiler_options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The search for NVRTC: `library` only, if it is set; otherwise the toolkits, the wheels, the usual
// toolkits and the dynamic loader's folders, in this order, each with libnvrtc.so.13 before .12.
// The first NVRTC with its builtins beside it is used. `cubinet doctor` lists the others.
struct CompilerSearch {
  std::optional<std::string> library;      // path of the library
  std::vector<std::string> toolkit_roots;  // searched for lib64/ and lib/
  std::vector<std::string> wheel_roots;    // folders with pip's nvidia-cuda-nvrtc
  // Searched like toolkit_roots, after all folders that the caller named.
  std::vector<std::string> usual_toolkits = {"/usr/local/cuda"};
  // The folder for the headers that NVRTC 13.3 and later contain: 26 MB per release, written when a
  // source first needs a header that is found nowhere else and NVRTC has no toolkit or CCCL headers
  // beside it. The folder and its parent must belong to this user or root. nullopt: `headers` in a
  // Runtime's first home.
  std::optional<std::string> bundled_headers;
};

// Settings of a compilation besides the specification. All except quote_sources affect the build.
struct CompileOptions {
  // Folders of templates' headers, searched in this order after the embedded headers and before the
  // toolkit's. The build fingerprint covers the contents of the headers found, not their paths.
  std::vector<std::string> include_directories;
  // Folders of device libraries (SourceProgram::libraries), searched in this order before the
  // source's folder, NVRTC's folder and its toolkit or wheels. The fingerprint covers contents, not
  // paths.
  std::vector<std::string> library_directories;
  // Flags of every request that does not set them itself (parse_compiler_flags() creates them).
  // They override the template's and are part of each requested kernel's identity.
  CompilerOptions flags;
  // If false, errors and records do not contain the compiler's log, which quotes lines of the
  // source and of every included file. For services that compile the sources of others
  // (docs/security.md).
  bool quote_sources = true;
};

}  // namespace cubinet
