// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/jit/compile_options.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

struct CompilerCandidate {
  enum class Source { option, toolkit, wheel, library_path };
  Source source = Source::option;
  std::string library;   // libnvrtc, without symbolic links
  std::string builtins;  // libnvrtc-builtins beside it; empty if there is none, and NVRTC cannot compile
};
std::string_view to_string(CompilerCandidate::Source source);
// Returns all compilers that the search finds, best first, each file once. If it finds no other,
// those of CUDA 11 are included, for Compiler::open to refuse. Reads folders; loads nothing.
std::vector<CompilerCandidate> find_compilers(const CompilerSearch& search);
// Returns the folders and files that find_compilers() searches, in its order.
std::vector<std::string> places_searched(const CompilerSearch& search);

// An nvJitLink, which links relocatable code. Other kernels do not need it.
struct LinkerCandidate {
  std::string library;   // without symbolic links
  std::string identity;  // "nvJitLink 13.0, build <hex>": part of the fingerprints of linked builds
};
// Returns the first linker that is at least as new as this compiler: beside the compiler, then in
// the places of the search. Returns unavailable with the folders if there is none, and unsupported
// with both releases if all are older. Reads the files; loads nothing.
Result<LinkerCandidate> find_linker(const CompilerCandidate& compiler, const CompilerSearch& search);

// Installed headers of NVRTCs that the search does not find any more. `bundled_headers` keeps the
// headers of every release that was used.
struct UnneededHeaders {
  std::uint64_t folders = 0;
  std::uint64_t bytes = 0;
};
// Counts unneeded headers, and removes them if `remove` is true. A compiler that is found in
// another way installs its headers again, also during a request. Returns untrusted if others can
// write the folder, and unavailable if an NVRTC cannot be read.
Result<UnneededHeaders> sweep_bundled_headers(const CompilerSearch& search, bool remove);

struct CompileRequest {
  std::shared_ptr<const KernelTemplate> kernel_template;
  KernelSpec spec;  // resolved for the record's identity
  SmTarget target;
  CompileOptions options;
  ImageKind kind = ImageKind::cubin;
  // If true, `spec` is a result of the template's resolve() and is not checked again.
  bool resolved = false;
  // If true, output without a kernel is no error. It cannot be kept in a store.
  bool may_lack_kernels = false;
};

class PreparedRequest;  // jit/prepared_request.hpp: a request whose fingerprint is computed often

struct CompileOutput {
  CubinRecord record;  // digest and size describe the image, also of PTX
  std::shared_ptr<const Bytes> image;
  double seconds = 0;  // from nvrtcCreateProgram to the image in memory
  // Why unused variables stay in the image; empty: they were removed
  // (docs/decisions/small_images.md).
  std::string variables_kept = {};
};

// The input of NVRTC for one source of a request, for people.
struct CompilerInput {
  struct File {
    std::string name;  // as NVRTC sees it
    std::uint64_t bytes = 0;
    std::string place;  // the file that it was read from; empty for what comes from memory
  };
  std::vector<std::string> flags;
  std::vector<std::string> names;  // name expressions
  File source;
  std::vector<File> headers;
  Sha256Digest sources;  // of all these texts except the generated parameter header
  // Why unused variables stay in the request's image; empty: the linker removes them if the machine
  // code stays the same.
  std::string variables_kept;
};

// NVRTC in this process. Thread-safe: requests compile concurrently. The first compilation loads
// NVRTC (100 ms and more), not open().
//
// At the beginning of a process's first compilation NVRTC replaces the actions of SIGINT, SIGTERM
// and SIGXFSZ by handlers that call exit(4): for 3 to 130 ms with small sources, for most of the
// compilation with sources of large headers. They are restored afterwards. To keep such a signal
// from ending the process, block these signals in every thread or compile something early.
class Compiler {
 public:
  // Finds NVRTC and reads its build-id and that of its builtins from the files. Returns unavailable
  // with the searched places if there is none, and unsupported if it is older than 12.0.
  static Result<std::shared_ptr<Compiler>> open(const CompilerSearch& search);
  virtual ~Compiler() = default;

  virtual const CompilerCandidate& location() const = 0;
  // Returns the identity that fingerprints contain: "NVRTC 13.0, build <hex>+<hex>", of libnvrtc
  // and its builtins.
  virtual const std::string& identity() const = 0;

  // Returns the fingerprint that compile() would put into the record. Hashes the sources and every
  // header that they may reach (docs/formats/template.md), without loading NVRTC: microseconds
  // after the first call for a template.
  virtual Result<BuildFingerprint> fingerprint(const CompileRequest& request) = 0;
  // Returns the same for a prepared request. Checks each time whether headers of the include
  // directories have changed.
  virtual Result<BuildFingerprint> fingerprint(const PreparedRequest& request, SmTarget target,
                                               ImageKind kind) = 0;

  // Returns the targets that this NVRTC builds for, ascending. Loads NVRTC.
  virtual Result<std::vector<SmTarget>> supported_targets() = 0;

  // Returns NVRTC's inputs in compile(): of the template, then of each source that is linked with
  // it. Loads NVRTC.
  virtual Result<std::vector<CompilerInput>> inputs(const CompileRequest& request) = 0;

  // Compiles a kernel. The record contains warnings. Returns compile_failed with the specification
  // in the message and the log in the detail, and unsupported for a target that this NVRTC cannot
  // build or that could never launch the kernel.
  virtual Result<CompileOutput> compile(const CompileRequest& request) = 0;
};

// The memory reserved for one compilation. The library's templates take 40 to 100 MiB (NVRTC 13.0),
// and sources that include CUDA's largest headers twice as much.
inline constexpr std::uint64_t kBytesPerCompilation = std::uint64_t{256} << 20;

// Returns how many compilations fit into `bytes` of memory, from 1 to `jobs`.
unsigned jobs_within(unsigned jobs, std::uint64_t bytes);

// Returns the number of compilations that the processor cores and the memory of this process allow
// now, including limits of control groups.
unsigned default_jobs();

// Returns the complete source in one file, for people and for nvcc: generated header, embedded
// headers and template.
Result<std::string> specialised_source(const CompileRequest& request);

}  // namespace cubinet
