// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/spec/cubin.hpp>

namespace cubinet {

// Where to look for NVRTC, in this order: `library` (then nowhere else), the toolkits, the wheels, the dynamic loader's
// own search (soname libnvrtc.so.13, then .12). The first that exists is used; the others are listed by `doctor`.
struct CompilerSearch {
  std::optional<std::filesystem::path> library;        // the file itself
  std::vector<std::filesystem::path> toolkit_roots = {"/usr/local/cuda"};  // searched for lib64/ and lib/
  std::vector<std::filesystem::path> wheel_roots;      // folders that pip installed nvidia-cuda-nvrtc into
};

struct CompilerCandidate {
  enum class Source { option, toolkit, wheel, library_path };
  Source source = Source::option;
  std::filesystem::path library;   // libnvrtc
  std::filesystem::path builtins;  // libnvrtc-builtins beside it; empty when there is none
};
std::string_view to_string(CompilerCandidate::Source source);
// All that the search finds, best first. Reads folders only; loads nothing.
std::vector<CompilerCandidate> find_compilers(const CompilerSearch& search);

// Options of a compilation that are the caller's, not the template's. All of them are part of the build fingerprint.
struct CompileOptions {
  bool line_info = false;                                   // source lines for profilers
  std::vector<std::filesystem::path> include_directories;   // for user templates that include CUDA's own headers
  std::string to_string() const;                            // one line, without the directories' paths
};

enum class OutputKind { cubin, ptx };

struct CompileRequest {
  std::shared_ptr<const KernelTemplate> kernel_template;
  KernelSpec spec;  // resolved
  SmTarget target;
  CompileOptions options;
  OutputKind output = OutputKind::cubin;
};

struct CompileOutput {
  CubinRecord record;  // digest and size describe the image (also when it is PTX)
  std::shared_ptr<const Bytes> image;
  double seconds = 0;  // from nvrtcCreateProgram to the image in memory
};

// NVRTC in process, opened at run time. Thread-safe: requests compile concurrently. NVRTC itself is loaded by the
// first compilation (100 ms and more), not by open().
class Compiler {
 public:
  // Finds NVRTC and reads the build-ids of it and its builtins from the files. unavailable, with the places searched,
  // when there is none; unsupported when it is older than 12.0.
  static Result<std::shared_ptr<Compiler>> open(const CompilerSearch& search);
  virtual ~Compiler() = default;

  virtual const CompilerCandidate& location() const = 0;
  // "NVRTC libnvrtc.so.13.0.88, build <hex>+<hex>": the identity that fingerprints hold.
  virtual const std::string& identity() const = 0;

  // What compile() would put into the record. Hashes sources and headers, never loads NVRTC: microseconds after the
  // first call for a template. Includes contents of all headers reachable from the source.
  virtual Result<BuildFingerprint> fingerprint(const CompileRequest& request) = 0;

  // The targets that this NVRTC builds for. Loads NVRTC.
  virtual Result<std::vector<SmTarget>> supported_targets() = 0;

  // compile_failed holds the log in detail and the specification in the message; unsupported for a target that this
  // NVRTC cannot build. Warnings are kept in the record.
  virtual Result<CompileOutput> compile(const CompileRequest& request) = 0;

  // Compiles all, at most `jobs` at a time, and calls `done` (from several threads, one call at a time) with each
  // outcome as it comes. `cancelled` is asked before each: what is finished is kept.
  virtual void compile_all(const std::vector<CompileRequest>& requests, unsigned jobs,
                           const std::function<void(std::size_t index, Result<CompileOutput> outcome)>& done,
                           const std::function<bool()>& cancelled) = 0;
};

// The source that would be compiled, complete: generated header and template, for people and for nvcc.
Result<std::string> specialised_source(const CompileRequest& request);

}  // namespace cubinet
