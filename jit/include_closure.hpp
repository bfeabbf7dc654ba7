// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_stamp.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// The name of the header that is generated from a template's parameters.
inline constexpr std::string_view kParametersHeaderName = "cubinet/parameters.cuh";

// A header as the compiler sees it.
struct CompilerHeader {
  std::string name;
  std::string text;
  std::filesystem::path place{};  // the file that it was read from; empty for a header in memory
  bool of_toolkit = false;
};

// A header that was not found. Only the compiler knows whether conditions exclude its #include.
struct MissingHeader {
  std::string name;
  std::string asked_by;             // the name of the including file
  std::vector<std::string> places;  // the searched places
};

// A template's source and every header that it may reach under any conditions, as texts that the
// compiler reads from memory only. Each file has one name: its path below the folder in which it
// was found, with "~2" appended if another file has this name. The texts' `#include` and
// `__has_include` use these names. A header that was not found is named kMissingPrefix and a
// number, so that the compiler cannot find another file. The hashed texts are therefore the
// compiled texts, and they contain no folder's path.
struct IncludeClosure {
  Sha256Digest digest;  // of names and texts
  std::string source;
  std::vector<CompilerHeader> headers;  // without the generated parameter header
  std::vector<MissingHeader> missing;   // by number
  std::vector<FileStamp> stamps;        // of each file read, and of each missing file that was searched
  bool settled = true;                  // all stamps were when they were taken
  std::size_t constants = 0;            // how often the texts have the word constexpr
  std::vector<std::string>
      unused_words{};             // the template's unused words that no text here uses, except a toolkit's
  std::string without_bundled{};  // the reason if the compiler's own headers are not searched

  // Returns whether the stamps are unchanged. The contents are then unchanged too if the closure is
  // settled.
  bool still_valid(const FileProbe& probe = {}) const;
};

inline constexpr std::string_view kMissingPrefix = "missing-header/";

// The search for headers, in this order: the template's headers in memory; for a quoted name, the
// folder of the including file; the embedded headers; the include directories; the compiler's (a
// toolkit's) headers; stand-ins for some headers of the C++ library (standard_headers.hpp). A
// header in memory is located in the source's folder.
struct HeaderSearch {
  std::vector<std::string> include_directories;
  std::vector<std::string> toolkit_directories;
  std::vector<std::pair<std::string, std::string>> macros{};  // defined by the request, for HeaderMacros
  std::string standard{};  // the language standard, as in NVRTC's --std; empty: the default

  friend auto operator<=>(const HeaderSearch&, const HeaderSearch&) = default;
};

// Returns the closure of a source. Returns invalid_argument if a macro in an #include (also of the
// caller's headers) or in a source's __has_include expands to an unknown name, which no fingerprint
// could cover, if a macro names an absolute path, and for a source with a NUL byte, at which NVRTC
// stops. Returns io for an unreadable header, and unsupported beyond 10000 headers or 256 MiB.
Result<IncludeClosure> close_over_includes(const KernelTemplate& kernel_template, const HeaderSearch& search,
                                           const FileProbe& probe = {});

// Returns invalid_argument for a parameter that no text of the template's build uses. `closures`
// belong to the template and to the sources that are linked with it.
Result<void> check_parameters_used(const KernelTemplate& kernel_template,
                                   const std::vector<std::shared_ptr<const IncludeClosure>>& closures);

}  // namespace cubinet
