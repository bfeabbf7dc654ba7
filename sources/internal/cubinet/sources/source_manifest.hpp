// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A file of a catalog. The path is relative, with '/' and without "." and "..".
struct SourceFile {
  std::string path;
  Sha256Digest digest;
};

// A CUDA kernel of a catalog, with its launch as the publisher states it.
struct SourceKernel {
  std::string name;  // unique among all catalogs of a home
  std::string symbol;
  SmTarget target;                   // the only one that it is compiled for
  std::string source;                // the path of its source
  std::string raw_strings;           // if not empty, the text is that of the raw strings with this delimiter
  std::vector<std::string> headers;  // paths of the files that the source may include
  std::vector<std::string> flags;    // nvcc's
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool programmatic_launch = false;
};

// A catalog of sources: the content of one manifest.
struct SourceManifest {
  std::string name;
  std::string library;            // where the sources are from, for people
  std::vector<SourceFile> files;  // all files to verify, ascending by path
  std::vector<SourceFile> licences;
  std::vector<SourceKernel> kernels;
  // The number of digests that the kernels of a manifest of FlashInfer state of an earlier text of
  // their files. The list of files is what is verified.
  std::size_t differing_digests = 0;

  // Returns nullptr if no file or licence has this path.
  const SourceFile* find(std::string_view path) const;
};

// The schema of our own manifests (docs/formats/sources.md).
inline constexpr const char* kSourceSchema = "cubinet.sources.v1";

// Parses a manifest: of kSourceSchema, cake.library_export.v1 or v5. `origin` names it in messages.
// Returns unsupported for a manifest that is none of cubinet: of another schema, or of sources in
// another language. Returns invalid_argument, with the reason, for everything else that is wrong,
// also for another version of these schemas.
Result<SourceManifest> parse_source_manifest(std::string_view text, const std::string& origin);

// Returns the manifest as JSON of kSourceSchema.
std::string to_json(const SourceManifest& manifest);

// Returns the kernel's function with its launch.
EntryPoint entry_point_of(const SourceKernel& kernel);

// Returns NVRTC's flags for the kernel. Returns invalid_argument for a flag that nvcc's table does
// not know or NVRTC does not have, for one that names a folder or an output, and for another target
// than the kernel's.
Result<std::vector<std::string>> compiler_flags_of(const SourceKernel& kernel);

}  // namespace cubinet
