// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/session_options.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The compilers that a session finds, and the capabilities of the chosen one. A plain value.
struct CompilerReport {
  struct Library {
    std::string source;    // "option", "toolkit", "wheel" or "library path"
    std::string library;   // libnvrtc, without symbolic links
    std::string builtins;  // libnvrtc-builtins beside it; empty: missing, so it cannot compile
    bool chosen = false;
  };
  struct Linker {
    std::string identity;  // "nvJitLink 13.0, build <hex>"
    std::string library;
  };

  std::vector<std::string> searched = {};  // folders and files, in the order of the search
  std::vector<Library> candidates = {};    // best first
  std::string identity = {};               // "NVRTC 13.0, build <hex>+<hex>"; empty: there is no compiler
  std::string library = {};                // of the chosen one
  std::string builtins = {};               // of the chosen one
  std::optional<Linker> linker = {};       // needed only to link sources
  std::string why_no_linker = {};          // empty if there is a linker
  std::vector<SmTarget> targets = {};      // that the compiler builds for
  std::optional<Error> error = {};         // why nothing can be compiled
};

// Searches for compilers as a session with these options does. Loads NVRTC if there is one.
CompilerReport report_compilers(const SessionOptions& session);

}  // namespace cubinet
