// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/session/workload.hpp>
#include <cubinet/spec/image_target.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// One of N equal parts of a matrix: every N-th kernel in the order of the keys. The parts are the
// same on every machine and do not depend on the order of the matrix.
struct MatrixShard {
  std::uint64_t index = 1;  // from 1
  std::uint64_t count = 1;

  static Result<MatrixShard> parse(std::string_view text);  // "2/8"
  std::string to_string() const;
};

// The completion of one kernel of a prebuild. `kernel` is empty if only time has passed.
struct PrebuildProgress {
  std::size_t done = 0;
  std::size_t total = 0;
  std::string kernel = {};   // "rms_norm(hidden_size=4096) for sm_90a"
  std::string outcome = {};  // "compiled", "registry", …, "not found" or "failed: REASON"
  double seconds = 0;        // of the compilation, or of the search
  std::uint64_t bytes = 0;   // of the image; 0: there is none
  bool kept = true;          // if true, the home has the build
};

struct PrebuildOptions {
  // A matrix of kernels, JSON as in docs/cli.md, and its name in messages. nullopt: none.
  std::optional<std::string> matrix = {};
  std::string matrix_name = "the matrix";
  // Catalogs of sources in the home whose kernels are also built, each for its own target. "all":
  // those of every catalog.
  std::vector<std::string> catalogs = {};
  MatrixShard shard = {};  // the part of the matrix and the catalogs to build
  // The problems whose plans' kernels are also built.
  DeviceRequest request = {};
  // The workload whose kernels and plans are also built, for the devices that recorded them.
  Workload workload = {};
  std::string output = {};  // the bundle to write
  BundleOptions bundle = {};
  bool skip_refused = false;          // if true, combinations that are refused do not stop the rest
  unsigned jobs = 0;                  // parallel compilations; 0: as processors and memory allow
  std::uint64_t memory = UINT64_MAX;  // limit for all compilations, in bytes
  // Called after each kernel and several times a second in between. Any thread may call it; calls
  // do not overlap.
  Callback<void(const PrebuildProgress&)> progress = {};
  // Called often; calls do not overlap. If it returns true, no further compilation begins. Finished
  // builds are kept.
  Callback<bool()> cancelled = {};
};

struct PrebuildResult {
  // A kernel and its target, as the matrix gives it.
  struct Kernel {
    KernelSpec spec;
    ImageTarget target;

    std::string to_string() const;  // "rms_norm(hidden_size=4096) for sm_90a"
  };
  struct Build {
    Kernel kernel;
    KernelSource source = KernelSource::compiled;
    double seconds = 0;  // of the compilation, or of the search
    std::shared_ptr<const CubinRecord> record;
    bool kept = true;  // If true, the home has the build.
  };
  struct Failure {
    Kernel kernel;
    Error error;
  };

  // The bundle that was written: PrebuildOptions::output if it is complete, else that name with
  // ".partial". Empty: nothing was built.
  std::string bundle = {};
  // The licences of the sources of catalogs that are in the bundle: its name with ".licenses.txt".
  // Empty: it has none.
  std::string licences = {};
  MatrixShard shard = {};
  std::vector<Build> built = {};               // in the order of the matrix
  std::vector<Failure> failed = {};            // kernels without a build
  std::vector<Failure> not_kept = {};          // in the bundle, but not in the home, and why
  std::vector<Failure> refused = {};           // by a template or the compiler
  std::vector<UnservedProblem> unserved = {};  // of request and workload
  bool interrupted = false;                    // by PrebuildOptions::cancelled
  double seconds = 0;
  std::optional<Error> error = {};  // the reason why the bundle or the home is incomplete

  std::size_t compiled() const;
};

// Compiles a matrix of kernels, and the kernels that problems and a workload need, into a bundle.
// Every
// combination is checked before the first one is compiled. Builds that a store of the session has
// are not compiled again. Each build is in the home as soon as it is compiled, so that the next
// prebuild continues after an interruption. The home is not created before the matrix has been
// checked.
//
// Errors, all of them before anything is compiled: invalid_argument for a wrong matrix, for options
// without a kernel to build and for wrong bundle options; not_found for an unknown template. A
// refused or failed kernel is a part of the result.
Result<PrebuildResult> prebuild(const SessionOptions& session, const PrebuildOptions& options);

// Returns the JSON that `cubinet prebuild --json` prints.
std::string to_json(const PrebuildResult& result);

}  // namespace cubinet
