// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Where to look for NVRTC, in this order: `library` (then nowhere else), the toolkits, the wheels, the usual
// toolkits, the folders of the dynamic loader; in each place libnvrtc.so.13 before .12. The first with its builtins beside
// it is used; `doctor` lists the others.
struct CompilerSearch {
  std::optional<std::string> library;      // the file itself
  std::vector<std::string> toolkit_roots;  // searched for lib64/ and lib/
  std::vector<std::string> wheel_roots;    // folders that pip installed nvidia-cuda-nvrtc into
  // As toolkit_roots, behind whatever somebody has named.
  std::vector<std::string> usual_toolkits = {"/usr/local/cuda"};
};

// Options of a compilation that are the caller's, not the template's. All of them but quote_sources are part
// of the build fingerprint.
struct CompileOptions {
  bool line_info = false;  // source lines for profilers
  // For user templates that include headers of CUDA's or of their own. Searched in this order, after the
  // embedded headers. Their contents are part of the fingerprint, their paths are not.
  std::vector<std::string> include_directories;
  // What the compiler says of a source quotes lines of it, and of every file that it includes, whoever may
  // read that: false, for those who compile what others send, keeps it out of errors and records
  // (docs/security.md).
  bool quote_sources = true;
  std::string to_string() const;  // one line, without the directories' paths
};

}  // namespace cubinet
