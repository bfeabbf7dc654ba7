// SPDX-License-Identifier: Apache-2.0
#include "range.hpp"
#include "runtime_implementation.hpp"

#include <cubinet/base/sink_scope.hpp>
#include <cubinet/loader/module.hpp>
#include <cubinet/loader/stream.hpp>

#include <algorithm>

namespace cubinet {

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
  // Not reported, because the report would call the sink again.
  CUBINET_TRY(SinkScope::check_outside("request a kernel that is not loaded"));
  if (auto allowed = check_may_load(kernel, device, circumstances); !allowed)
    return refuse(kernel.spec(), device, allowed.error());
  // The observer is called after the flight has ended, because it may request the same kernel.
  std::optional<KernelEvent> event;
  const Stopwatch watch;
  const auto functions = [&] {
    const Range range(options_.ranges, "request", kernel.spec());
    const std::uint64_t resets = resets_.of(device);
    return loads_.run({&kernel, device, resets}, [&] { return load(kernel, device, resets, event); });
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
                                                    std::uint64_t resets, std::optional<KernelEvent>& event) {
  // Another flight may have ended between the cache lookup and the start of this one.
  if (LoadedFunctions there = kernel.loaded(device); !there.empty()) return there;
  event = new_event(kernel.spec(), device);
  auto functions = load_observed(kernel, device, *event);
  if (functions)
    kernel.store(device, *functions, modules_.now(), [&] { return resets_.of(device) == resets; });
  return functions;
}

namespace {

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

}  // namespace

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

}  // namespace cubinet
