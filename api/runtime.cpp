// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"
#include "device_rows.hpp"
#include "freeze_state.hpp"
#include "kernel_event_log.hpp"
#include "range.hpp"
#include "request_counters.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/base/thread_counter.hpp>
#include <cubinet/caller_label.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <set>

namespace cubinet {
namespace {

constexpr const char* kBundledHeaders = "headers";  // subfolder of a home

class RuntimeImplementation final : public Runtime {
 public:
  explicit RuntimeImplementation(RuntimeOptions options)
      : options_(std::move(options)),
        environment_(options_.compiler, options_.driver_library, options_.log),
        library_(std::move(options_.stores), options_.log, std::move(options_.caches)),
        kernels_(owner_, options_.templates, library_, options_.compile_options),
        source_(library_, environment_, options_.compile, options_.targets, options_.log,
                options_.explains_compilations, options_.ranges),
        modules_(options_.module_limit, options_.log),
        freeze_(options_.log) {}

  Result<std::shared_ptr<const Kernel>> resolve(const KernelSpec& spec) override {
    // before any lock, because a thread that does not exist in the child may hold it
    CUBINET_TRY(check_process());
    CUBINET_TRY_ASSIGN(auto kernel,
                       frozen() ? kernels_.resolve_without_stores(spec) : kernels_.resolve(spec));
    if (kernel == nullptr) return frozen_stores("resolving " + spec.to_string());
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }
  Result<std::shared_ptr<const Kernel>> resolve(const SourceProgram& program) override {
    CUBINET_TRY(check_process());
    CUBINET_TRY_ASSIGN(auto kernel, kernels_.resolve(program));
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }
  Result<std::shared_ptr<const Kernel>> resolve(std::string_view name, ByteView image) override {
    CUBINET_TRY(check_process());
    CUBINET_TRY_ASSIGN(
        auto kernel, frozen() ? kernels_.resolve_without_stores(name, image) : kernels_.resolve(name, image));
    if (kernel == nullptr) return frozen_stores("resolving the image '" + printable(name) + "'");
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }
  Result<std::shared_ptr<const Kernel>> resolve(std::string_view key_or_name) override {
    CUBINET_TRY(check_process());
    if (frozen()) return frozen_stores("resolving '" + printable(key_or_name) + "'");
    CUBINET_TRY_ASSIGN(auto kernel, kernels_.resolve(key_or_name));
    return std::shared_ptr<const Kernel>(std::move(kernel));
  }

  Result<Function> function(const KernelSpec& spec, int device, std::string_view entry_point,
                            LoadPolicy policy) override {
    if (const CachedKernel* known = kernels_.known(spec))
      return function_of(*known, device, entry_point, {.policy = policy});
    CUBINET_TRY_ASSIGN(const auto kernel, prepare_request(spec, device, policy));
    return function_of(*kernel, device, entry_point, {.policy = policy});
  }
  Result<Function> function(const Kernel& kernel, int device, std::string_view entry_point,
                            LoadPolicy policy) override {
    const auto& cached = static_cast<const CachedKernel&>(kernel);
    if (cached.owner() != owner_.get()) return refuse(kernel.spec(), device, not_ours(kernel));
    return function_of(cached, device, entry_point, {.policy = policy});
  }
  Result<Function> function_on_stream(const Kernel& kernel, int device, CUstream stream,
                                      std::string_view entry_point) override {
    const auto& cached = static_cast<const CachedKernel&>(kernel);
    if (cached.owner() != owner_.get()) return refuse(kernel.spec(), device, not_ours(kernel));
    return function_of(cached, device, entry_point, {.stream = &stream});
  }

  Result<std::optional<FoundCubin>> cubin(const KernelSpec& spec, SmTarget target, ImageKind kind) override;

  Result<KernelExplanation> explain(const Kernel& kernel, ComputeCapability device) override {
    CUBINET_TRY(check_process());
    const auto& cached = static_cast<const CachedKernel&>(kernel);
    if (cached.owner() != owner_.get()) return not_ours(kernel);
    if (frozen()) return frozen_stores("explaining " + kernel.spec().to_string());
    return source_.explain(cached, device);
  }
  Result<DeviceRows> rows(ComputeCapability device) override {
    CUBINET_TRY(check_process());
    const auto state = freeze_.state();
    if (state == nullptr) return DeviceRowReader(library_, kernels_, source_).rows(device);
    const auto kept = state->rows.find(device);
    if (kept != state->rows.end()) return kept->second;
    return frozen_stores("listing the kernels for a device of " + device.to_string());
  }
  Result<DeviceRows> loaded_rows(int device) override {
    CUBINET_TRY(check_process());
    CUBINET_TRY_ASSIGN(const auto opened, environment_.device(device));
    CUBINET_TRY_ASSIGN(DeviceRows found, rows(opened->properties().capability));
    std::erase_if(found.rows, [&](const StoredRow& row) { return !is_loaded(*row.record, device); });
    return found;
  }
  std::uint64_t store_changes() const override {
    const auto state = freeze_.state();
    return state != nullptr ? state->changes : library_.changes() + freeze_.thaws();
  }
  Result<ExplainedBuild> build_status(std::shared_ptr<const CubinRecord> record) override {
    CUBINET_TRY(check_process());
    if (frozen()) return frozen_stores("the status of a build for " + record->target_name());
    return DeviceRowReader(library_, kernels_, source_).build_status(std::move(record));
  }

  bool release(const Kernel& kernel, int device) override {
    const auto& cached = static_cast<const CachedKernel&>(kernel);
    if (!check_process() || cached.owner() != owner_.get() || frozen()) return false;
    modules_.tick();
    return cached.forget(device);
  }
  Result<std::size_t> forget(int device) override {
    CUBINET_TRY(check_process());
    const std::size_t kernels = kernels_.forget(device);
    modules_.forget(device);
    return kernels;
  }
  Result<TrimmedModules> trim(std::uint64_t bytes, std::optional<int> device) override;
  Result<ModuleMemory> memory(std::optional<int> device) const override;

  Result<void> freeze(const FreezeOptions& options) override;
  Result<void> thaw() override {
    CUBINET_TRY(check_process());
    freeze_.thaw();
    return {};
  }
  bool frozen() const override { return freeze_.frozen(); }
  Result<Refusals> refusals() const override {
    CUBINET_TRY(check_process());
    return freeze_.refusals();
  }

  Result<std::shared_ptr<const Device>> device(int ordinal) override {
    CUBINET_TRY(check_process());
    return environment_.device(ordinal);
  }
  Result<std::shared_ptr<Compiler>> compiler() override {
    CUBINET_TRY(check_process());
    return environment_.compiler();
  }
  bool can_compile() override {
    return options_.compile == CompilePolicy::on_miss && !frozen() && compiler().has_value();
  }
  const TemplateCatalog& templates() const override { return options_.templates; }
  const std::vector<std::shared_ptr<Store>>& stores() const override { return library_.stores(); }
  const std::vector<std::shared_ptr<BuildCache>>& caches() const override { return library_.caches(); }
  Counters counters() const override;

 private:
  Result<void> check_process() const;
  static Error not_ours(const Kernel& kernel);
  Result<std::shared_ptr<const CachedKernel>> prepare_request(const KernelSpec& spec, int device,
                                                              LoadPolicy policy);
  // The circumstances that decide whether a look-up may load.
  struct Circumstances {
    LoadPolicy policy = LoadPolicy::may_load;
    const CUstream* stream = nullptr;  // of the launch; nullptr: not known
  };
  Result<Function> function_of(const CachedKernel& kernel, int device, std::string_view entry_point,
                               Circumstances circumstances);
  Result<void> check_may_load(const CachedKernel& kernel, int device, Circumstances circumstances);
  // Returns whether a request for the build's kernel on the device is a hit with this build.
  bool is_loaded(const CubinRecord& record, int device) {
    const auto kernel = kernels_.resolve_held(record.identity.kernel());
    if (kernel == nullptr) return false;
    const LoadedFunctions functions = kernel->loaded(device);
    return !functions.empty() && functions.front().record().digest == record.digest;
  }
  Result<TrimmedModules> trim_modules(std::uint64_t bytes, std::optional<int> device);
  Result<LoadedFunctions> load(const CachedKernel& kernel, int device, std::optional<KernelEvent>& event);
  Result<LoadedFunctions> load_observed(const CachedKernel& kernel, int device, KernelEvent& event);
  Result<LoadedFunctions> load_cubin(const std::shared_ptr<const Device>& device, const Cubin& cubin);
  void log_skipped_build(const FoundCubin& found, const Error& reason);
  KernelEvent new_event(const KernelSpec& spec, int device) const;
  static void describe(const FoundCubin& found, KernelEvent& event);
  Error refuse(const KernelSpec& spec, int device, Error error);
  void observe(const KernelEvent& event);
  void report(KernelEvent& event, const Stopwatch& watch, const Error* error);

  RuntimeOptions options_;
  ForkGuard fork_guard_;
  std::shared_ptr<const char> owner_ = std::make_shared<const char>();
  Environment environment_;
  Library library_;
  KernelCache kernels_;
  CubinSource source_;
  ModuleCache modules_;
  FreezeSwitch freeze_;
  SingleFlight<std::pair<const CachedKernel*, int>, LoadedFunctions> loads_;
  RequestCounters counters_;
  std::mutex skips_mutex_;
  std::set<Sha256Digest> logged_skips_;  // images whose skip was logged; guarded by skips_mutex_
};

Result<void> RuntimeImplementation::check_process() const {
  if (fork_guard_.in_original_process()) return {};
  return Error{
      ErrorCode::unsupported, "this Runtime was created before the process forked",
      "create a Runtime of its own in the child: CUDA contexts and SQLite connections do not survive fork"};
}

Error RuntimeImplementation::not_ours(const Kernel& kernel) {
  return Error{ErrorCode::invalid_argument, kernel.spec().to_string() + " was resolved by another Runtime",
               "resolve it with this Runtime"};
}

// Returns the event of a request of the calling thread. Only an observer reads texts.
KernelEvent RuntimeImplementation::new_event(const KernelSpec& spec, int device) const {
  KernelEvent event;
  event.device = device;
  if (!options_.observer && !options_.log) return event;
  event.spec = spec;
  event.caller = CallerLabel::current();
  return event;
}

// Reports a request that failed before or after a lookup to the observer, like any other.
Error RuntimeImplementation::refuse(const KernelSpec& spec, int device, Error error) {
  KernelEvent event = new_event(spec, device);
  event.error = error;
  counters_.failures.fetch_add(1, std::memory_order_relaxed);
  observe(event);
  return error;
}

Result<std::shared_ptr<const CachedKernel>> RuntimeImplementation::prepare_request(const KernelSpec& spec,
                                                                                   int device,
                                                                                   LoadPolicy policy) {
  const Stopwatch watch;
  if (auto checked = check_process(); !checked) return refuse(spec, device, checked.error());
  auto resolved = frozen() ? kernels_.resolve_without_stores(spec) : kernels_.resolve(spec);
  if (resolved && *resolved == nullptr) return refuse(spec, device, freeze_.refusal(spec, device, policy));
  if (resolved) return resolved;
  KernelEvent event = new_event(spec, device);
  report(event, watch, &resolved.error());
  return resolved;
}

// Called only if the kernel is not loaded.
Result<void> RuntimeImplementation::check_may_load(const CachedKernel& kernel, int device,
                                                   Circumstances circumstances) {
  bool capturing = false;
  if (circumstances.stream != nullptr) {
    CUBINET_TRY_ASSIGN(const auto opened, environment_.device(device));
    CUBINET_TRY_ASSIGN(capturing, is_capturing(*opened, *circumstances.stream));
  }
  if (!capturing && circumstances.policy == LoadPolicy::may_load) return {};
  return Error{ErrorCode::not_found,
               kernel.spec().to_string() + " is not loaded on device " + std::to_string(device) + ", and " +
                   (capturing ? "nothing is compiled or loaded while the stream is captured"
                              : "the request allows loaded kernels only"),
               capturing ? "load it with `Runtime::function()` before the capture"
                         : "load it with `Runtime::function()` first, or allow loading"};
}

Result<Function> RuntimeImplementation::function_of(const CachedKernel& kernel, int device,
                                                    std::string_view entry_point,
                                                    Circumstances circumstances) {
  if (device < 0) {
    return refuse(kernel.spec(), device,
                  Error{ErrorCode::invalid_argument, "device " + std::to_string(device) + " cannot exist",
                        "devices are numbered from 0"});
  }
  if (auto checked = check_process(); !checked) return refuse(kernel.spec(), device, checked.error());
  auto function = kernel.find(device, entry_point, modules_.now());
  if (!function) return refuse(kernel.spec(), device, function.error());
  if (*function) {
    counters_.process_hits.add();
    return function;
  }
  if (const auto state = freeze_.state()) {
    auto served = freeze_.serve(*state, kernel, device, entry_point, circumstances.policy, modules_.now());
    return served ? std::move(served) : refuse(kernel.spec(), device, served.error());
  }
  if (auto allowed = check_may_load(kernel, device, circumstances); !allowed)
    return refuse(kernel.spec(), device, allowed.error());
  // The observer is called after the flight has ended, because it may request the same kernel.
  std::optional<KernelEvent> event;
  const Stopwatch watch;
  const auto functions = [&] {
    const Range range(options_.ranges, "request", kernel.spec());
    return loads_.run({&kernel, device}, [&] { return load(kernel, device, event); });
  }();
  if (!event) counters_.wait_seconds.add(watch.seconds());
  if (event) report(*event, watch, functions ? nullptr : &functions.error());
  auto picked =
      functions ? pick_function(*functions, entry_point, kernel.spec()) : Result<Function>(functions.error());
  // Not covered by an event: an unknown entry point, and the failure of a joined request.
  if (!picked && (functions || !event)) return refuse(kernel.spec(), device, picked.error());
  if (picked && !event) counters_.process_hits.add();
  return picked;
}

Result<LoadedFunctions> RuntimeImplementation::load(const CachedKernel& kernel, int device,
                                                    std::optional<KernelEvent>& event) {
  // Another flight may have ended between the cache lookup and the start of this one.
  if (LoadedFunctions there = kernel.loaded(device); !there.empty()) return there;
  event = new_event(kernel.spec(), device);
  auto functions = load_observed(kernel, device, *event);
  if (functions) kernel.store(device, *functions, modules_.now());
  return functions;
}

// Returns the number of devices that would load the same build.
std::size_t devices_like(const Device& device) {
  const std::vector<DeviceProperties>& all = device.driver()->devices();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const DeviceProperties& other) {
    return other.capability == device.properties().capability;
  }));
}

// Returns whether another build of the kernel may load although this one did not: the driver
// refuses the image, the record does not match its image, or the device lacks a resource. PTX fails
// in more ways, all of them in the driver's compiler.
bool is_refusal(const FoundCubin& found, const Error& error) {
  return error.code == ErrorCode::corruption || error.code == ErrorCode::unsupported ||
         found.cubin.record->kind == ImageKind::ptx;
}

// Logs a warning once per image. Repetitions are logged at debug level.
void RuntimeImplementation::log_skipped_build(const FoundCubin& found, const Error& reason) {
  bool was_logged = false;
  {
    const std::lock_guard lock(skips_mutex_);
    was_logged = !logged_skips_.insert(found.cubin.record->digest).second;
  }
  log(options_.log, was_logged ? LogLevel::debug : LogLevel::warning,
      std::string(to_string(found.source)) + " build skipped: " + reason.to_line());
}

Result<LoadedFunctions> RuntimeImplementation::load_cubin(const std::shared_ptr<const Device>& device,
                                                          const Cubin& cubin) {
  CUBINET_TRY_ASSIGN(const auto module, modules_.get_or_load(device, cubin));
  LoadedFunctions functions;
  for (const EntryPoint& entry : cubin.record->entry_points) {
    CUBINET_TRY_ASSIGN(functions.emplace_back(), module->function(entry.name));
  }
  return functions;
}

void RuntimeImplementation::describe(const FoundCubin& found, KernelEvent& event) {
  const CubinRecord& record = *found.cubin.record;
  event.target = record.target;
  event.kind = record.kind;
  event.key = record.identity.key();
  event.bytes = record.size;
  event.find_seconds += found.find_seconds;
  event.compile_seconds += found.compile_seconds;
  event.wait_seconds += found.wait_seconds;
}

Result<LoadedFunctions> RuntimeImplementation::load_observed(const CachedKernel& kernel, int device,
                                                             KernelEvent& event) {
  CUBINET_TRY_ASSIGN(const auto opened, environment_.device(device));
  event.capability = opened->properties().capability;
  // If a build does not load, the next best is tried, and finally a new one. If none loads, the
  // first refusal is returned, because it belongs to the best build.
  CubinRecords refused;
  std::optional<Error> refusal;
  while (true) {
    const auto found =
        source_.for_device(kernel, opened->properties().capability, refused, &event.explanation);
    if (!found && refusal) {
      if (!refusal->detail.empty()) refusal->detail += "\n";
      refusal->detail += "no other build is available: " + found.error().to_line();
      return *std::move(refusal);
    }
    if (!found) return found.error();
    describe(*found, event);
    const Stopwatch load_watch;
    auto functions = [&] {
      const Range range(options_.ranges, "load", kernel.spec());
      return load_cubin(opened, found->cubin);
    }();
    event.load_seconds += load_watch.seconds();
    if (functions) {
      source_.images().note_loaded(found->cubin, device, devices_like(*opened));
      event.source = found->source;
      return functions;
    }
    if (!is_refusal(*found, functions.error())) return functions;
    log_skipped_build(*found, functions.error());
    if (!refusal) refusal = functions.error();
    // A joined request that had not refused the build found it again.
    if (is_refused(*found->cubin.record, refused)) return *std::move(refusal);
    refused.push_back(found->cubin.record);
  }
}

Result<std::optional<FoundCubin>> RuntimeImplementation::cubin(const KernelSpec& spec, SmTarget target,
                                                               ImageKind kind) {
  const Stopwatch watch;
  if (frozen()) {
    return refuse(spec, -1, frozen_stores("the image of " + spec.to_string() + " for " + target.to_string()));
  }
  CUBINET_TRY_ASSIGN(const auto kernel, prepare_request(spec, -1, LoadPolicy::may_load));
  KernelEvent event = new_event(kernel->spec(), -1);
  event.target = target;
  event.kind = kind;
  event.key = identify(kernel->spec(), target).key();
  auto found = [&] {
    const Range range(options_.ranges, "request", kernel->spec());
    return source_.for_target(*kernel, target, kind);
  }();
  if (found && *found) {
    event.source = (*found)->source;
    event.bytes = (*found)->cubin.record->size;
    event.find_seconds = (*found)->find_seconds;
    event.compile_seconds = (*found)->compile_seconds;
    event.wait_seconds = (*found)->wait_seconds;
  }
  report(event, watch, found ? nullptr : &found.error());
  return found;
}

// Not in a forked child, where a lock that the observer takes may be held forever.
void RuntimeImplementation::observe(const KernelEvent& event) {
  if (!fork_guard_.in_original_process()) return;
  if (options_.log) log_event(options_.log, event);
  if (options_.observer) options_.observer(event);
}

void RuntimeImplementation::report(KernelEvent& event, const Stopwatch& watch, const Error* error) {
  event.total_seconds = watch.seconds();
  const bool missed = options_.compile == CompilePolicy::never &&
                      (error == nullptr ? !event.source : error->code == ErrorCode::not_found);
  if (error != nullptr) event.error = *error;
  counters_.count(event, missed);
  observe(event);
}

// Reads without a lock, so that an observer or a log sink may call it, too.
Result<void> RuntimeImplementation::freeze(const FreezeOptions& options) {
  CUBINET_TRY(check_process());
  const auto devices = environment_.open_devices();
  CUBINET_TRY_ASSIGN(FrozenState state, frozen_fallbacks(options, devices, owner_.get()));
  state.changes = library_.changes() + freeze_.thaws();
  for (const auto& device : devices) {
    const ComputeCapability capability = device->properties().capability;
    if (state.rows.contains(capability)) continue;
    CUBINET_TRY_ASSIGN(state.rows[capability], DeviceRowReader(library_, kernels_, source_).rows(capability));
  }
  freeze_.freeze(std::move(state));
  source_.images().clear();
  return {};
}

Result<TrimmedModules> RuntimeImplementation::trim(std::uint64_t bytes, std::optional<int> device) {
  CUBINET_TRY(check_process());
  source_.images().clear();
  auto trimmed = trim_modules(bytes, device);
  if (!trimmed) return trimmed;
  counters_.count(*trimmed);
  return trimmed;
}

Result<TrimmedModules> RuntimeImplementation::trim_modules(std::uint64_t bytes, std::optional<int> device) {
  CUBINET_TRY_ASSIGN(TrimmedModules trimmed, modules_.trim(bytes, device));
  // A frozen Runtime could not load them again.
  if (trimmed.bytes >= bytes || frozen()) return trimmed;
  std::uint64_t retiring = 0;
  for (const CachedKernel::Idle& idle : kernels_.idle(modules_.tick())) {
    if (device && idle.device != *device) continue;
    if (retiring >= bytes - trimmed.bytes) break;
    if (idle.kernel->forget_if_idle(idle.device)) retiring += idle.bytes;
  }
  CUBINET_TRY_ASSIGN(const TrimmedModules more, modules_.trim(bytes - trimmed.bytes, device));
  trimmed.modules += more.modules;
  trimmed.bytes += more.bytes;
  return trimmed;
}

Result<ModuleMemory> RuntimeImplementation::memory(std::optional<int> device) const {
  CUBINET_TRY(check_process());
  ModuleMemory memory = modules_.memory(device);
  for (const CachedKernel::Idle& idle : kernels_.idle(0)) {
    if (device && idle.device != *device) continue;
    ++memory.idle_modules;
    memory.idle_bytes += idle.bytes;
  }
  return memory;
}

Runtime::Counters RuntimeImplementation::counters() const {
  Counters counters = counters_.read();
  counters.stores = library_.uses();
  return counters;
}

}  // namespace

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options) {
  CUBINET_TRY(check(options.targets));
  // libcrypto holds a lock while the first use fetches the algorithm. A process that another thread
  // forks meanwhile would wait for it for ever, so the first use is here.
  static_cast<void>(sha256({}));
  if (options.templates.list().empty()) {
    CUBINET_TRY_ASSIGN(options.templates, TemplateCatalog::builtin());
  }
  for (const auto& store : options.stores) {
    if (options.compiler.bundled_headers) break;
    if (std::dynamic_pointer_cast<Home>(store) != nullptr)
      options.compiler.bundled_headers = store->description().place + "/" + kBundledHeaders;
  }
  return std::shared_ptr<Runtime>(std::make_shared<RuntimeImplementation>(std::move(options)));
}

}  // namespace cubinet
