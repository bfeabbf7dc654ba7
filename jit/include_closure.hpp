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

// The name under which every template includes what is generated from its parameters.
inline constexpr std::string_view kParametersHeaderName = "cubinet/parameters.cuh";

// A header as the compiler is given it.
struct CompilerHeader {
  std::string name;
  std::string text;
  std::filesystem::path place{};  // the file that it was read from; empty for what comes from memory
  bool of_toolkit = false;
};

// A name that leads nowhere. Whether that matters, conditions decide: the compiler finds out.
struct MissingHeader {
  std::string name;
  std::string asked_by;             // the name of the file that has it
  std::vector<std::string> places;  // that were searched
};

// A template's source and every header that it may reach, conditions disregarded: texts that a compiler takes
// from memory alone. Each file has one name, wherever and however it is asked for: its path below the folder
// in which it was searched (with "~2" behind it where that is another file's already), and in each text the
// names in `#include` and `__has_include` are these. What leads nowhere is called kMissingPrefix and a
// number, so that no compiler finds it elsewhere. So the texts that were hashed are those that are compiled,
// and no path of a folder is in them.
struct IncludeClosure {
  Sha256Digest digest;  // of names and texts
  std::string source;
  std::vector<CompilerHeader> headers;      // without the one that is generated from the parameters
  std::vector<MissingHeader> missing;       // by number
  std::vector<FileStamp> stamps;            // of each file read, and of each place where none was
  bool settled = true;                      // all stamps were when they were taken
  std::vector<std::string> unused_words{};  // of the template's, those that no text here has but a toolkit's
  std::string without_bundled{};  // why the headers within the compiler are not among those searched

  // Whether the stamps are what they were. Says that the contents are only if the closure is settled.
  bool still_valid(const FileProbe& probe = {}) const;
};

inline constexpr std::string_view kMissingPrefix = "missing-header/";

// Where headers are looked for, in this order: those that the template brings in memory; a quoted name beside
// the file that has it; the embedded headers; the include directories; the compiler's own (a toolkit's);
// for a few of the C++ library's those that stand in for them (standard_headers.hpp). A header from memory
// lies where its name says below the folder of the source.
struct HeaderSearch {
  std::vector<std::string> include_directories;
  std::vector<std::string> toolkit_directories;
  std::vector<std::pair<std::string, std::string>>
      macros{};            // that a request defines, as HeaderMacros has them
  std::string standard{};  // the language's, as NVRTC's --std has it; empty: the default

  friend auto operator<=>(const HeaderSearch&, const HeaderSearch&) = default;
};

// invalid_argument for a source with an #include or a __has_include, and a header of the caller's with an
// #include, of what macros make and nobody knows before, which no fingerprint could cover; for a macro that
// names an absolute path, a source with a NUL byte, which ends it for NVRTC; io for a header that cannot be
// read; unsupported beyond 10000 headers or 256 MiB.
Result<IncludeClosure> close_over_includes(const KernelTemplate& kernel_template, const HeaderSearch& search,
                                           const FileProbe& probe = {});

// invalid_argument for a parameter that no text has of which the template's build is made: `closures` are
// those of it and of the sources that are linked with it.
Result<void> check_parameters_used(const KernelTemplate& kernel_template,
                                   const std::vector<std::shared_ptr<const IncludeClosure>>& closures);

}  // namespace cubinet
