// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"
#include "home_notes.hpp"

#include <cubinet/session/session_options.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet::nvcc {

// The result of a line in the home, or why it is for nvcc.
struct CompileStep {
  std::shared_ptr<const Bytes> image;  // nullptr: the line is for nvcc
  std::string log;                     // what the compiler printed when the build was made
  std::string source;                  // "registry", "bundle", "compiled", ...
  // Why the line is for nvcc.
  std::optional<Error> refused;
  // Set if NVRTC has refused the build just now. The refusal is kept if nvcc makes it.
  std::optional<BuildFingerprint> fingerprint;
};

// Finds the build of a line in the stores of the options, or makes it with NVRTC and keeps it. Sets
// `notes` to those of the home once it is open. Returns errors for which nvcc is no answer: the
// options are wrong, the source does not exist, or nothing may be compiled.
Result<CompileStep> find_or_compile(const CompileLine& line, const SessionOptions& options, HomeNotes& notes);

// Returns the options that the environment sets: those of every front end
// (session_options_from()), CUBINET_NVCC_BUNDLES and CUBINET_NVCC_CACHES (files or references,
// separated by blanks) and CUBINET_NVCC_CACHE_KEY (CachePlace::secret_key_file).
Result<SessionOptions> options_from(const EnvironmentVariables& environment, LogSink log);

}  // namespace cubinet::nvcc
