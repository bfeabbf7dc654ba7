// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/found_cubin.hpp>
#include <cubinet/jit/compile_options.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cubinet {

class Compiler;  // jit/compiler.hpp: NVRTC, private

// One request and its outcome, as the observer sees it. Times in seconds.
struct KernelEvent {
  KernelSpec spec;  // complete; as it was asked for where it could not be completed
  std::optional<SmTarget> target;
  ImageKind kind = ImageKind::cubin;
  KernelKey key;
  int device = -1;                     // -1: a request without a device (prebuild)
  std::optional<KernelSource> source;  // nullopt: a miss or an error
  std::optional<Error> error;
  std::uint64_t bytes = 0;  // of the image
  double total_seconds = 0;
  double find_seconds = 0;     // look-up, reading and verifying
  double compile_seconds = 0;  // waiting for another builder included
  double load_seconds = 0;     // driver
};

enum class CompilePolicy { on_miss, never };

struct RuntimeOptions {
  // Where kernels are looked for and kept: homes, bundles, stores of your own (store.hpp). Memory goes before
  // all of them; builds are kept in the first that takes them. Several Runtimes may share a store.
  std::vector<std::shared_ptr<Store>> stores;
  TemplateCatalog templates;  // empty: the built-in ones
  CompilePolicy compile = CompilePolicy::on_miss;
  TargetPolicy targets;  // for requests of a device; an exact target asked for by name is not subject to it
  CompilerSearch compiler;
  CompileOptions compile_options;
  std::optional<std::string> driver_library;  // nullopt: libcuda.so.1 (loader/driver.hpp)
  LogSink log;
  // Called once for every kernel that is looked for beyond the process cache, and for every other request for
  // a kernel that fails, by the thread that asked, without a lock held: it may ask the Runtime. Requests that
  // waited for another thread count as process hits. Not called in a forked child. Must not throw.
  Callback<void(const KernelEvent&)> observer;
};

// A complete, checked specification, prepared once and asked for often: `Runtime::prepare` makes it.
// Immutable for the caller; belongs to the Runtime that made it.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual const KernelSpec& spec() const = 0;  // complete

 private:
  friend class CachedKernel;  // the only implementation
  PreparedKernel() = default;
};

// Any kernel by specification: process cache, stores, then compile, keep, load. Independent objects: no state
// is shared between two of them but the stores that both were given. Thread-safe. Functions it handed out
// stay valid after it is destroyed.
//
// After fork every call of the parent's Runtime is unsupported in the child. One that the child makes, with
// stores that it opens, finds what lies in them; it compiles unless another thread of the parent was inside
// NVRTC at that moment, which is unavailable (NVRTC's locks stay held), as a device is where the parent used
// CUDA. Nothing hangs. Workers that compile are best started by exec (spawn).
class Runtime {
 public:
  struct Counters {
    std::uint64_t process_hits = 0;
    std::uint64_t memory_hits = 0;
    std::uint64_t registry_hits = 0;
    std::uint64_t bundle_hits = 0;
    std::uint64_t compiled = 0;
    std::uint64_t imported_hits = 0;
    std::uint64_t server_hits = 0;
    std::uint64_t misses = 0;    // compile = never and nothing found
    std::uint64_t failures = 0;  // requests for a kernel (function, cubin) that gave an error, misses aside
    std::uint64_t bytes_loaded = 0;
    // Of each of Runtime::stores(), in their order: one that is asked and never used is of no use.
    std::vector<StoreUses> stores;
  };

  // invalid_argument for a policy that no target meets. Neither driver nor NVRTC is opened before it is
  // needed.
  static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options);
  virtual ~Runtime() = default;

  // Checks a specification once, against its template where one of its name is known: otherwise it is a
  // kernel that some store holds, and may leave out parameters as long as one kernel fits. Equal complete
  // specifications give the same object. invalid_argument for what a template does not take, and where
  // several kernels fit, with the parameters that tell them apart; not_found where there is neither.
  virtual Result<std::shared_ptr<const PreparedKernel>> prepare(const KernelSpec& spec) = 0;
  // The kernels of a source without a declaration: compiled, kept and found as those of templates are. Their
  // launches say block and shared memory. invalid_argument for what cannot be a source.
  virtual Result<std::shared_ptr<const PreparedKernel>> prepare(const SourceProgram& program) = 0;
  // The kernels of a cubin, PTX or fatbinary of one's own, by its bytes, under a name: kept where builds are,
  // if they are not yet, and found again there by name or key. Each image of a fatbinary is a build for its
  // target; other bytes under the name are another kernel. Launches say block and shared memory; functions
  // are named by their symbols. corruption, invalid_argument or unsupported for what is nothing of the kind.
  virtual Result<std::shared_ptr<const PreparedKernel>> prepare(std::string_view name, ByteView image) = 0;
  // A kernel that some store holds, by its key on any target, or by the name of one of its functions or of
  // its image, to which "@" and the beginning of a pin may be added. invalid_argument lists the kernels where
  // it is several.
  virtual Result<std::shared_ptr<const PreparedKernel>> prepare(std::string_view key_or_name) = 0;

  // The function to launch on a device. `entry_point` empty: the kernel's first. With compile = never, and of
  // kernels without a template, a miss is not_found and says what was looked for and where.
  virtual Result<Function> function(const KernelSpec& spec, int device,
                                    std::string_view entry_point = {}) = 0;
  // The same without resolving again: the path for every launch. A hit neither allocates nor waits for
  // anybody who builds or loads; whether it is still what would be built today is not asked (see release()).
  // invalid_argument for a kernel that another Runtime prepared.
  virtual Result<Function> function(const PreparedKernel& kernel, int device,
                                    std::string_view entry_point = {}) = 0;

  // The verified image for one exact target, without a device: found in a store, or compiled and kept.
  // nullopt: a miss of what may not or cannot be compiled. PTX is only ever asked for here (to prebuild it);
  // function() finds it where it lies.
  virtual Result<std::optional<FoundCubin>> cubin(const KernelSpec& spec, SmTarget target,
                                                  ImageKind kind = ImageKind::cubin) = 0;

  // What function() would do for a device of this capability, and why: of every build that some store holds.
  // Needs no driver; compiles and loads nothing. invalid_argument for a kernel that another Runtime prepared.
  virtual Result<KernelExplanation> explain(const PreparedKernel& kernel, ComputeCapability device) = 0;
  // The rows of the attention kernels that function() would find for a device of this capability; what has
  // yet to be compiled is not among them. A store that cannot answer is an error: a list is complete.
  virtual Result<DeviceRows> rows(ComputeCapability device) = 0;
  // How a build stands today: what is stale or foreign function() never takes. An error where nothing can
  // tell: a header that cannot be read.
  // It is asked of no device: only `record`, `standing` and `verdict` are said.
  virtual Result<ExplainedBuild> standing(std::shared_ptr<const CubinRecord> record) = 0;

  // Forgets the functions of a kernel on a device, so that the next request looks beyond the process cache:
  // for a header that was edited, say. The module is unloaded when the last Function handed out is gone.
  // False when there was nothing to forget.
  virtual bool release(const PreparedKernel& kernel, int device) = 0;

  virtual Result<std::shared_ptr<const Device>> device(int ordinal) = 0;
  // NVRTC, found; unavailable, with the places searched, when there is none.
  virtual Result<std::shared_ptr<Compiler>> compiler() = 0;
  // Returns whether a missing kernel can be compiled: the policy allows it and NVRTC was found.
  virtual bool can_compile() = 0;
  virtual const TemplateCatalog& templates() const = 0;
  virtual const std::vector<std::shared_ptr<Store>>& stores() const = 0;  // memory first
  virtual Counters counters() const = 0;
};

}  // namespace cubinet
