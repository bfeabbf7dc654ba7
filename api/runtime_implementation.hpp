// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_source.hpp"
#include "device_rows.hpp"
#include "freeze_state.hpp"
#include "request_counters.hpp"
#include "reset_counts.hpp"
#include "single_flight.hpp"

#include <cubinet/base/fork_guard.hpp>
#include <cubinet/base/sink_scope.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/loader/module_cache.hpp>
#include <cubinet/runtime.hpp>

#include <mutex>
#include <set>
#include <tuple>

namespace cubinet {

// The only Runtime. runtime.cpp has what needs no device, runtime_device.cpp the requests for a
// device, and in_service.cpp what changes the loaded modules.
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
    CUBINET_TRY(SinkScope::check_outside("explain a kernel"));
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
    if (!check_process() || cached.owner() != owner_.get()) return false;
    const auto lock = freeze_.hold_loaded();
    if (frozen()) return false;
    modules_.tick();
    return cached.forget(device);
  }
  Result<std::size_t> forget(int device) override {
    CUBINET_TRY(check_process());
    // A request that begins after the next line finds no old module. One that began before it
    // stores nothing after the last line.
    modules_.forget(device);
    resets_.add(device);
    return kernels_.forget(device);
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
  void count_refusal(const std::string& request, int device, const Error& reason) override {
    if (frozen() && check_process()) freeze_.count(request, device, reason);
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
  Result<LoadedFunctions> load(const CachedKernel& kernel, int device, std::uint64_t resets,
                               std::optional<KernelEvent>& event);
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
  ResetCounts resets_;
  // By kernel, device and resets of the device: a request joins no flight from before a reset.
  SingleFlight<std::tuple<const CachedKernel*, int, std::uint64_t>, LoadedFunctions> loads_;
  RequestCounters counters_;
  std::mutex skips_mutex_;
  std::set<Sha256Digest> logged_skips_;  // images whose skip was logged; guarded by skips_mutex_
};

}  // namespace cubinet
