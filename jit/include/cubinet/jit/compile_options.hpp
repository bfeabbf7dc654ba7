// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/compiler_options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Where to look for NVRTC, in this order: `library` (then nowhere else), the toolkits, the wheels, the usual
// toolkits, the folders of the dynamic loader; in each place libnvrtc.so.13 before .12. The first with its
// builtins beside it is used; `doctor` lists the others.
struct CompilerSearch {
  std::optional<std::string> library;      // the file itself
  std::vector<std::string> toolkit_roots;  // searched for lib64/ and lib/
  std::vector<std::string> wheel_roots;    // folders that pip installed nvidia-cuda-nvrtc into
  // As toolkit_roots, behind whatever somebody has named.
  std::vector<std::string> usual_toolkits = {"/usr/local/cuda"};
  // Where the headers are put that NVRTC 13.3 and later have within them: once a release, 26 MB, when a
  // source first asks for a header that is nowhere else, and only where a toolkit's or CCCL's are not beside
  // NVRTC. It and the folder above have to be this user's or root's. nullopt: `headers` in a Runtime's first
  // home.
  std::optional<std::string> bundled_headers;
};

// What a compilation takes from the caller beside the specification. All of it but quote_sources is part of
// what is built.
struct CompileOptions {
  // Where templates' own headers are found: searched in this order, after the embedded ones and before the
  // toolkit's. The contents of those that are found are part of the build fingerprint, their paths are not.
  std::vector<std::string> include_directories;
  // Where device libraries are found (SourceProgram::libraries): searched in this order, before the source's own
  // folder, that of NVRTC and that of its toolkit or wheels. As with headers, contents count and paths do not.
  std::vector<std::string> library_directories;
  // A part of every request that does not say otherwise, before what its template declares
  // (parse_compiler_flags makes them): of the identity of every kernel that is asked for.
  CompilerOptions flags;
  // What the compiler says of a source quotes lines of it, and of every file that it includes, whoever may
  // read that: false, for those who compile what others send, keeps it out of errors and records
  // (docs/security.md).
  bool quote_sources = true;
};

}  // namespace cubinet
