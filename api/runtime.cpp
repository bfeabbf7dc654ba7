// SPDX-License-Identifier: Apache-2.0
#include "kernel_event_log.hpp"
#include "range.hpp"
#include "runtime_implementation.hpp"

#include <cubinet/base/sha256.hpp>
#include <cubinet/base/sink_scope.hpp>
#include <cubinet/caller_label.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/compiler.hpp>

namespace cubinet {
namespace {

constexpr const char* kBundledHeaders = "headers";  // subfolder of a home

}  // namespace

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

Result<std::optional<FoundCubin>> RuntimeImplementation::cubin(const KernelSpec& spec, SmTarget target,
                                                               ImageKind kind) {
  const Stopwatch watch;
  if (frozen()) {
    return refuse(spec, -1, frozen_stores("the image of " + spec.to_string() + " for " + target.to_string()));
  }
  CUBINET_TRY(SinkScope::check_outside("request an image"));
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

Runtime::Counters RuntimeImplementation::counters() const {
  Counters counters = counters_.read();
  counters.stores = library_.uses();
  counters.bytes_loaded = modules_.loaded_image_bytes();
  return counters;
}

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
