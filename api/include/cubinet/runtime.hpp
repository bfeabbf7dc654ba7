// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/build_cache.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/duration_histogram.hpp>
#include <cubinet/found_cubin.hpp>
#include <cubinet/freeze.hpp>
#include <cubinet/jit/compile_options.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/loader/module_memory.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class Compiler;  // jit/compiler.hpp: NVRTC, private

// One request and its outcome, as passed to the observer. Times are in seconds.
struct KernelEvent {
  KernelSpec spec;  // the completed specification, or the requested one if completion failed
  std::optional<SmTarget> target;
  ImageKind kind = ImageKind::cubin;
  KernelKey key;
  int device = -1;  // -1: a request without a device (prebuild)
  // The device's; nullopt if the request has no device, or it could not be opened.
  std::optional<ComputeCapability> capability = {};
  std::string caller = {};             // the requesting thread's label (CallerLabel); may be empty
  std::optional<KernelSource> source;  // nullopt: a miss or an error
  std::optional<Error> error;
  std::uint64_t bytes = 0;  // of the image
  double total_seconds = 0;
  double find_seconds = 0;     // lookup, fetching, reading and verification
  double compile_seconds = 0;  // by the compiler, and keeping the build
  double wait_seconds = 0;     // for the build of another thread or process
  double load_seconds = 0;     // by the driver
  // Why function() compiled the kernel: what the stores had just before. Set if `source` is
  // compiled and RuntimeOptions::explains_compilations is on; otherwise null.
  std::shared_ptr<const KernelExplanation> explanation = {};
};

// Receives the beginning and the end of the phases of a request that misses the process cache, for
// a profiler's timeline: "cubinet request", "cubinet find", "cubinet compile" and "cubinet load",
// each followed by the kernel. Ranges of a thread are nested. Called on the requesting thread, by
// several threads at once, as a LogSink is. `name` ends with a zero and is valid during the call.
// Must not throw.
struct RangeHook {
  Callback<void(const char* name)> begin = {};
  Callback<void()> end = {};
};

enum class CompilePolicy { on_miss, never };

// States whether a look-up may find, compile and load a kernel that is not loaded. With loaded_only
// it returns not_found instead, with the kernel's name.
enum class LoadPolicy { may_load, loaded_only };

struct RuntimeOptions {
  // The stores: homes, bundles, or your own (store.hpp). Every Runtime also has a memory store. The
  // comment on Runtime says how they are searched. A new build goes to the first writable store of
  // this list that accepts it, or to memory if none does. Several Runtimes may share a store.
  std::vector<std::shared_ptr<Store>> stores;
  // The caches of builds that several nodes share (build_cache.hpp), queried in this order for one
  // exact build just before it would be compiled. Builds compiled here are offered to all of them.
  std::vector<std::shared_ptr<BuildCache>> caches = {};
  TemplateCatalog templates;  // empty: the built-in ones
  CompilePolicy compile = CompilePolicy::on_miss;
  // Applies to requests for a device. Requests for an exact target (cubin()) ignore it.
  TargetPolicy targets;
  ModuleLimit module_limit = {};
  CompilerSearch compiler;
  CompileOptions compile_options;
  std::optional<std::string> driver_library;  // nullopt: libcuda.so.1 (loader/driver.hpp)
  LogSink log;
  // Called once for each request (function(), cubin()) that misses the process cache or fails, on
  // the requesting thread, with no lock held, so it may call the Runtime. If a call of function()
  // joined the request of another thread, only its failure is reported; its success counts as a
  // process hit. Not called in a forked child. Must not throw.
  Callback<void(const KernelEvent&)> observer;
  // If true, KernelEvent::explanation is set. A compilation then lists the stores once more, except
  // servers.
  bool explains_compilations = false;
  RangeHook ranges = {};  // both callbacks, or none
};

// A complete, checked specification. `Runtime::resolve` makes it once for many requests. Immutable
// and thread-safe. Usable only with the Runtime that resolved it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelSpec& spec() const = 0;  // complete

 private:
  friend class CachedKernel;  // the only implementation
  Kernel() = default;
};

// Finds or compiles kernels, and loads them. Runtimes are independent: two of them share only the
// stores that both were given. Thread-safe. Functions stay valid after the Runtime is destroyed.
// It keeps the modules that it loads until trim() or its end (docs/in_service.md).
//
// Look-up. function() looks in the process cache, then queries all stores, memory first. A build is
// usable if it runs on the device, RuntimeOptions::targets allows its target, and it is neither
// stale nor foreign (build_status()). Builds from the template's present text precede others. The
// usable builds are ranked by target (specific, family, baseline, PTX), then by status (a current
// local build, a bundle's or imported one, a local one that cannot be compared with the current
// build for lack of a compiler), then by version and order of the stores. Among bundles' builds of
// equal target, those of a pinned channel come first. Any usable build precedes compiling, also one
// for a less specific target. If there is none, the kernel is compiled for the best target, unless
// compile = never. Before that, the build is locked, and the stores and the shared build caches are
// queried for it once more.
//
// Failures. function(), cubin() and explain() log a store that fails and go on without it. rows(),
// and resolve() where it searches by name, key or some parameters, return its error, except for a
// server that does not answer. A build that is damaged or does not load is skipped. If another
// process holds the build's lock for 10 minutes, the kernel is compiled without the lock. If
// another thread works on the same request for 20 minutes, the joined call returns busy. If no
// store accepts a new build, a warning is logged, the build stays in memory and the request
// succeeds.
//
// Blocking. A hit in the process cache does not block. Otherwise function() and cubin() may block
// on files, servers, other builders, NVRTC and the driver. explain(), rows() and build_status() may
// block on files and servers; so may resolve(), unless it resolves a template or a source.
// compiler() and can_compile() search for NVRTC and device() opens the driver, each at its first
// call.
//
// After fork, every call of the parent's Runtime returns unsupported in the child. The child may
// create a Runtime with stores that it opens. That Runtime finds existing builds. Its compilations
// return unavailable if another thread of the parent was inside NVRTC during the fork, because
// NVRTC's locks stay locked. Its requests for a device return unavailable if the parent had
// initialised CUDA. Nothing hangs. A worker process that compiles should be started with exec
// (spawn).
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
    std::uint64_t misses = 0;  // compile = never and no build found
    // Requests for a kernel (function, cubin) that returned an error other than a miss.
    std::uint64_t failures = 0;
    std::uint64_t bytes_loaded = 0;  // of images; a retired module that is used again adds nothing
    std::uint64_t trims = 0;         // calls of trim() that succeeded
    std::uint64_t trimmed_modules = 0;
    std::uint64_t trimmed_bytes = 0;
    // The durations of the requests that missed the process cache, and of their phases
    // (KernelEvent). A request is counted in the phases that it had.
    DurationHistogram request_seconds;
    DurationHistogram find_seconds;
    DurationHistogram compile_seconds;
    DurationHistogram load_seconds;
    // Also counts the requests that joined the request of another thread.
    DurationHistogram wait_seconds;
    // One for each of Runtime::stores(), then one for each of Runtime::caches(), in their order. A
    // store with many `asked` and no `used` only adds latency.
    std::vector<StoreUses> stores;
  };

  // Creates a Runtime. Opens the driver and NVRTC only when they are needed. Returns an error
  // (invalid_argument) for a policy that no target meets.
  static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options);
  virtual ~Runtime() = default;

  // Checks a specification once. If a template has its name, the specification must meet that
  // template. Otherwise the specification selects an existing kernel of a store, and parameters may
  // be left out as long as exactly one kernel matches. Equal complete specifications give the same
  // object. Returns invalid_argument for values that a template rejects, or if several kernels
  // match, with the parameters that differ. Returns not_found if there is neither a template nor a
  // kernel.
  virtual Result<std::shared_ptr<const Kernel>> resolve(const KernelSpec& spec) = 0;
  // Resolves a plain CUDA source, which has no cubinet-template comment, as one Kernel. Its CUDA
  // kernels are the entry points. It is compiled, kept and found like the kernel of a template.
  // Each launch must state block size and dynamic shared memory (LaunchConfig). Returns an error
  // (invalid_argument) for an invalid source.
  virtual Result<std::shared_ptr<const Kernel>> resolve(const SourceProgram& program) = 0;
  // Resolves the caller's cubin, PTX or fatbinary under a name, as one Kernel. Its entry points are
  // the symbols of its functions. It is identified by its bytes, kept with the other builds unless
  // it exists already, and found again by name or key. Each image of a fatbinary is a build for its
  // target. Other bytes under the same name are another Kernel. Each launch must state block size
  // and dynamic shared memory (LaunchConfig). Returns corruption, invalid_argument or unsupported
  // if the bytes are not a loadable CUDA image.
  virtual Result<std::shared_ptr<const Kernel>> resolve(std::string_view name, ByteView image) = 0;
  // Resolves a kernel by name. The argument is the name of a template without parameters, such as a
  // kernel of an imported catalog of sources, which need not be built. Otherwise it names a stored
  // kernel: it is the key of any of its builds, else the name of one of its functions or the name
  // under which its image was added, else the name of its template, source or publisher, for which
  // the stores are listed. "@" and the beginning of a publisher's pin, or of the image's SHA-256,
  // may follow a name. Returns an error (invalid_argument) that lists the kernels if several match,
  // and not_found if none does.
  virtual Result<std::shared_ptr<const Kernel>> resolve(std::string_view key_or_name) = 0;

  // Returns the function to launch on a device. An empty `entry_point` means the kernel's first. A
  // miss returns not_found if compile = never, or if the kernel has neither a template nor a
  // source; the message lists the targets that were looked for. Otherwise a miss is compiled:
  // returns unavailable if NVRTC is missing, unsupported if the template's minimum target excludes
  // the device, and compile_failed if the source does not compile.
  // A hit does not allocate and does not wait for builds or loads of other threads. It does not
  // check whether the build is still current (see release()).
  virtual Result<Function> function(const KernelSpec& spec, int device, std::string_view entry_point = {},
                                    LoadPolicy policy = LoadPolicy::may_load) = 0;
  // Does the same for a resolved kernel: the path for every launch. Returns an error
  // (invalid_argument) for a kernel that another Runtime resolved.
  virtual Result<Function> function(const Kernel& kernel, int device, std::string_view entry_point = {},
                                    LoadPolicy policy = LoadPolicy::may_load) = 0;
  // Does the same for a launch on this stream of the device. While the stream is captured, returns
  // not_found for a kernel that is not loaded, and neither compiles nor loads it.
  virtual Result<Function> function_on_stream(const Kernel& kernel, int device, CUstream stream,
                                              std::string_view entry_point = {}) = 0;
  // Looks up the kernel's first function with function_on_stream() and launches it
  // (Function::launch). The device's context must be current, as for every launch.
  template <class... Arguments>
  Result<void> launch(const Kernel& kernel, int device, const LaunchConfig& config,
                      const Arguments&... arguments) {
    CUBINET_TRY_ASSIGN(const Function found, function_on_stream(kernel, device, config.stream));
    return found.launch(config, arguments...);
  }

  // Returns the verified image for one exact target, without a device: from a store, or compiled
  // and kept. If no build exists, returns nullopt if compile = never or if the kernel has neither a
  // template nor a source. Other errors of a compilation are those of function(). Only this
  // function compiles to PTX; function() uses PTX that a store has.
  virtual Result<std::optional<FoundCubin>> cubin(const KernelSpec& spec, SmTarget target,
                                                  ImageKind kind = ImageKind::cubin) = 0;

  // Returns what function() would do for a device of this capability, and why, with every build in
  // the stores. Needs no driver. Compiles and loads nothing. Returns an error (invalid_argument)
  // for a kernel that another Runtime resolved.
  virtual Result<KernelExplanation> explain(const Kernel& kernel, ComputeCapability device) = 0;
  // Returns the rows (entries of the kernel table) of the attention kernels that exist, each of the
  // build that function() would choose for a device of this capability. The list is complete: a
  // store that fails is an error, except for a server that does not answer.
  virtual Result<DeviceRows> rows(ComputeCapability device) = 0;
  // Returns those of rows() whose builds are loaded on the device.
  virtual Result<DeviceRows> loaded_rows(int device) = 0;
  // Returns a number that grows when a build or a measurement is added to or removed from one of
  // the stores through their objects in this process, and at thaw(): rows() may then differ. Does
  // not grow while frozen. Changes by other processes and of servers do not count. Does not block
  // and reads no file.
  virtual std::uint64_t store_changes() const = 0;
  // Returns whether function() would use this build now. A local build is stale if its sources,
  // headers, options or compiler have changed. A build is foreign if its interface version differs
  // from that of its template. Neither is ever used. Sets only `record`, `status` and `verdict`,
  // because no device is given. Returns an error if the status cannot be determined, for example
  // because a header cannot be read.
  virtual Result<ExplainedBuild> build_status(std::shared_ptr<const CubinRecord> record) = 0;

  // Removes the functions of a kernel on a device from the process cache, so that the next request
  // looks in the stores, for example after a header was edited. Unloads nothing: the module is
  // retired when its last Function and graph end. Returns false if nothing was cached, or if the
  // Runtime is frozen.
  virtual bool release(const Kernel& kernel, int device) = 0;
  // Forgets all kernels and modules of a device whose primary context was reset
  // (cuDevicePrimaryCtxReset). Launches of older Functions return driver errors; the next request
  // loads the kernel again. Unloads the modules that nothing else keeps. Returns the number of
  // kernels that were loaded.
  virtual Result<std::size_t> forget(int device) = 0;
  // Unloads modules on the calling thread until at least `bytes` are freed or only modules in use
  // are left. The retired ones come first, then those that only the process cache keeps, each least
  // recently used first. First waits for the work of the device; nullopt: of all devices. Launches
  // of other threads wait meanwhile. Returns busy, and unloads nothing, while a stream of the
  // device is captured. UINT64_MAX frees all that is not in use.
  virtual Result<TrimmedModules> trim(std::uint64_t bytes, std::optional<int> device = {}) = 0;
  // Returns the loaded modules and their bytes by state. nullopt: of all devices.
  virtual Result<ModuleMemory> memory(std::optional<int> device = {}) const = 0;

  // Serves only loaded kernels from now on, until thaw(). A request for another kernel returns
  // not_found at once: nothing is compiled, loaded, downloaded or waited for. Hits cost nothing
  // more. A request that began before may finish. Reads the rows of the stores for the devices that
  // are open, for plans; afterwards the stores are not read. A second call replaces the fallbacks
  // and reads the rows again. Returns not_found if a substitute is loaded on no device,
  // invalid_argument for a kernel that another Runtime resolved, and the errors of rows(); the
  // Runtime is then as before.
  //
  // While frozen: resolve() works for templates, sources and kernels that were resolved before.
  // rows() returns those that freeze() read. cubin(), explain(), build_status() and the other
  // resolve() and rows() return unavailable. release() does nothing, and trim() leaves idle
  // modules. After forget(), the device's kernels are refused. The fallbacks also serve requests
  // with LoadPolicy::loaded_only and in a capture.
  virtual Result<void> freeze(const FreezeOptions& options = {}) = 0;
  // Ends freeze(). Does nothing if the Runtime is not frozen.
  virtual Result<void> thaw() = 0;
  virtual bool frozen() const = 0;
  // Returns the requests that were refused because the Runtime was frozen. Requests with
  // LoadPolicy::loaded_only do not count. The first of each kind logs a warning.
  virtual Result<Refusals> refusals() const = 0;
  // Adds a request that a layer above the Runtime cannot serve, for example an attention problem
  // without a plan, to refusals(). Does nothing unless frozen.
  virtual void count_refusal(const std::string& request, int device, const Error& reason) = 0;

  virtual Result<std::shared_ptr<const Device>> device(int ordinal) = 0;
  // Returns the compiler. Returns unavailable, with the searched locations, if NVRTC was not found.
  virtual Result<std::shared_ptr<Compiler>> compiler() = 0;
  // Returns whether a missing kernel can be compiled: the policy allows it, NVRTC was found and the
  // Runtime is not frozen.
  virtual bool can_compile() = 0;
  virtual const TemplateCatalog& templates() const = 0;
  virtual const std::vector<std::shared_ptr<Store>>& stores() const = 0;  // memory first
  virtual const std::vector<std::shared_ptr<BuildCache>>& caches() const = 0;
  virtual Counters counters() const = 0;
};

}  // namespace cubinet
