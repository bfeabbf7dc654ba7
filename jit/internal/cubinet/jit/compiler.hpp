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
  std::string builtins;  // libnvrtc-builtins beside it; empty when there is none: it cannot compile then
};
std::string_view to_string(CompilerCandidate::Source source);
// All that the search finds, best first, each file once; where there is nothing else, those of CUDA 11 too,
// for Compiler::open to refuse. Reads folders only; loads nothing.
std::vector<CompilerCandidate> find_compilers(const CompilerSearch& search);
// The folders and files that find_compilers() looks into, in its order.
std::vector<std::string> places_searched(const CompilerSearch& search);

// nvJitLink, which links what was compiled as relocatable code. Only what has to be linked needs it.
struct LinkerCandidate {
  std::string library;   // without symbolic links
  std::string identity;  // "nvJitLink 13.0, build <hex>": a part of the fingerprints of what it links
};
// The first that is as new as this compiler, which it has to be: beside it, then in the places of the search.
// unavailable, with the folders, where there is none; unsupported, with both releases, where all are older.
// Reads the files; loads nothing.
Result<LinkerCandidate> find_linker(const CompilerCandidate& compiler, const CompilerSearch& search);

// The headers that were within NVRTCs which the search does not find (any more): `bundled_headers` keeps
// those of every release that was ever used.
struct UnneededHeaders {
  std::uint64_t folders = 0;
  std::uint64_t bytes = 0;
};
// Takes them away where `remove`. A compiler that is found in another way puts its own there again, in the
// middle of a request too. untrusted where others can write there; unavailable where an NVRTC cannot be read.
Result<UnneededHeaders> sweep_bundled_headers(const CompilerSearch& search, bool remove);

struct CompileRequest {
  std::shared_ptr<const KernelTemplate> kernel_template;
  KernelSpec spec;  // the record's identity is that of the resolved specification
  SmTarget target;
  CompileOptions options;
  ImageKind kind = ImageKind::cubin;
  // The caller's word that `spec` is the template's resolve() of something: it is not checked again.
  bool resolved = false;
};

class PreparedRequest;  // jit/prepared_request.hpp: a request that fingerprints are asked of again and again

struct CompileOutput {
  CubinRecord record;  // digest and size describe the image (also when it is PTX)
  std::shared_ptr<const Bytes> image;
  double seconds = 0;  // from nvrtcCreateProgram to the image in memory
};

// What NVRTC is given for one source of a request, for people.
struct CompilerInput {
  struct File {
    std::string name;  // as NVRTC is told it
    std::uint64_t bytes = 0;
    std::string place;  // the file that it was read from; empty for what comes from memory
  };
  std::vector<std::string> flags;
  std::vector<std::string> names;  // name expressions
  File source;
  std::vector<File> headers;
  Sha256Digest sources;  // of all these texts but the header made of the parameters
};

// NVRTC in process, opened at run time. Thread-safe: requests compile concurrently. NVRTC itself is loaded by
// the first compilation (100 ms and more), not by open().
//
// NVRTC replaces the actions of SIGINT, SIGTERM and SIGXFSZ for some milliseconds (3 to 130 were seen) at the
// beginning of a process's first compilation, by handlers that call exit(4); afterwards they are put back as
// they were. Only blocking the signals in every thread, or compiling something early, keeps one that arrives
// in that moment from ending the process so.
class Compiler {
 public:
  // Finds NVRTC and reads the build-ids of it and its builtins from the files. unavailable, with the places
  // searched, when there is none; unsupported when it is older than 12.0.
  static Result<std::shared_ptr<Compiler>> open(const CompilerSearch& search);
  virtual ~Compiler() = default;

  virtual const CompilerCandidate& location() const = 0;
  // "NVRTC 13.0, build <hex>+<hex>", of libnvrtc and its builtins: the identity that fingerprints hold.
  virtual const std::string& identity() const = 0;

  // What compile() would put into the record. Hashes sources and headers, never loads NVRTC: microseconds
  // after the first call for a template. Covers every header that the source may reach
  // (docs/formats/template.md).
  virtual Result<BuildFingerprint> fingerprint(const CompileRequest& request) = 0;
  // The same, with what the request has computed and kept. Whether headers of the include directories are
  // what they were is looked up each time.
  virtual Result<BuildFingerprint> fingerprint(const PreparedRequest& request, SmTarget target,
                                               ImageKind kind) = 0;

  // The targets that this NVRTC builds for, ascending. Loads NVRTC.
  virtual Result<std::vector<SmTarget>> supported_targets() = 0;

  // What compile() would give to NVRTC: of the template, then of each source that is linked with it. Loads
  // NVRTC.
  virtual Result<std::vector<CompilerInput>> inputs(const CompileRequest& request) = 0;

  // compile_failed holds the log in detail and the specification in the message; unsupported for a target
  // that this NVRTC cannot build, or on which the kernel could never be launched. Warnings are kept in the
  // record.
  virtual Result<CompileOutput> compile(const CompileRequest& request) = 0;
};

// What one compilation is counted as: 40 to 100 MiB were measured for our templates (NVRTC 13.0), twice as
// much for sources that include CUDA's heaviest headers.
inline constexpr std::uint64_t kBytesPerCompilation = std::uint64_t{256} << 20;

// How many compilations fit into `bytes` of memory: `jobs` at most, one at least.
unsigned jobs_within(unsigned jobs, std::uint64_t bytes);

// As many as there are processor cores and memory for that this process may use now, control groups' limits
// included.
unsigned default_jobs();

// The source that would be compiled, complete in one file: generated header, embedded headers and template,
// for people and for nvcc.
Result<std::string> specialised_source(const CompileRequest& request);

}  // namespace cubinet
