// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"
#include "structures.hpp"

#include <algorithm>

namespace cubinet::c_api {
namespace {

constexpr cubinet_launch_config kDefaultLaunch = CUBINET_LAUNCH_CONFIG_INIT;
// A kernel has at most 32,764 bytes of arguments (CUDA 12.1 and up), and few have more than a page.
// The limit detects a wrong count before the lists are read.
constexpr std::size_t kMaximumArguments = 4096;
constexpr std::uint32_t kLaunchFlags =
    CUBINET_LAUNCH_PROGRAMMATIC | CUBINET_LAUNCH_COOPERATIVE | CUBINET_LAUNCH_SPREADS_CLUSTERS;

// Returns whether this version of the header describes the structure and nothing in it is unknown.
// The launch path asks this first, because a Result per check costs as much as the rest of it.
bool is_current(const cubinet_launch_config* config) {
  return config != nullptr && config->struct_size == sizeof(cubinet_launch_config) &&
         (config->flags & ~kLaunchFlags) == 0 && config->reserved == 0;
}

Result<cubinet_launch_config> read_config(const cubinet_launch_config* config) {
  CUBINET_TRY_ASSIGN(const cubinet_launch_config given, read_structure(config, kDefaultLaunch, "config"));
  CUBINET_TRY(check_flags(given.flags, kLaunchFlags, "config.flags"));
  CUBINET_TRY(check_reserved(given.reserved, "config.reserved"));
  return given;
}

LaunchConfig launch_of(const cubinet_launch_config& given) {
  LaunchConfig launch;
  std::copy_n(given.grid, 3, launch.grid.begin());
  std::copy_n(given.block, 3, launch.block.begin());
  std::copy_n(given.cluster, 3, launch.cluster.begin());
  launch.dynamic_shared_bytes = given.dynamic_shared_bytes;
  launch.stream = static_cast<CUstream>(given.stream);
  launch.programmatic_launch = (given.flags & CUBINET_LAUNCH_PROGRAMMATIC) != 0;
  launch.cooperative = (given.flags & CUBINET_LAUNCH_COOPERATIVE) != 0;
  launch.spreads_clusters = (given.flags & CUBINET_LAUNCH_SPREADS_CLUSTERS) != 0;
  return launch;
}

Result<void> launch(const Function& function, const cubinet_launch_config* config,
                    const void* const* arguments, const std::uint32_t* sizes, std::size_t count) {
  cubinet_launch_config older;
  if (!is_current(config)) {
    CUBINET_TRY_ASSIGN(older, read_config(config));
    config = &older;
  }
  if (count > kMaximumArguments || (count != 0 && (arguments == nullptr || sizes == nullptr))) {
    CUBINET_TRY(check_list(arguments, count, "arguments", kMaximumArguments));
    CUBINET_TRY(check_list(sizes, count, "sizes", kMaximumArguments));
  }
  if (function.device().is_current()) return function.launch_raw(launch_of(*config), arguments, sizes, count);
  CUBINET_TRY_ASSIGN(const Device::ContextGuard current, function.device().make_current());
  return function.launch_raw(launch_of(*config), arguments, sizes, count);
}

Result<void> get_function(const cubinet_kernel* kernel, std::int32_t device, cubinet_string entry_point,
                          LoadPolicy policy, cubinet_function** function) {
  CUBINET_TRY(check_pointer(kernel, "kernel"));
  CUBINET_TRY(check_pointer(function, "function"));
  CUBINET_TRY_ASSIGN(const std::string name, text_of(entry_point, "entry_point"));
  CUBINET_TRY_ASSIGN(Function loaded,
                     kernel->session->runtime().function(*kernel->kernel, device, name, policy));
  *function = new cubinet_function{std::move(loaded)};
  return {};
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_function_get(const cubinet_kernel* kernel, int32_t device, cubinet_string entry_point,
                                    cubinet_function** function, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    return get_function(kernel, device, entry_point, LoadPolicy::may_load, function);
  });
}

cubinet_status cubinet_function_get_loaded(const cubinet_kernel* kernel, int32_t device,
                                           cubinet_string entry_point, cubinet_function** function,
                                           cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    return get_function(kernel, device, entry_point, LoadPolicy::loaded_only, function);
  });
}

cubinet_function* cubinet_function_retain(cubinet_function* function) {
  return retain(function);
}

void cubinet_function_release(cubinet_function* function) {
  release(function);
}

cubinet_status cubinet_function_get_info(const cubinet_function* function, cubinet_function_info* info,
                                         cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(function, "function"));
    const Function& loaded = function->function;
    const EntryPoint& entry = loaded.entry_point();
    cubinet_function_info facts = CUBINET_FUNCTION_INFO_INIT;
    facts.name = to_c(entry.name);
    facts.symbol = to_c(entry.symbol);
    facts.device = loaded.device().ordinal();
    std::copy_n(entry.block().begin(), 3, facts.block);
    facts.dynamic_shared_bytes = entry.dynamic_shared_bytes;
    facts.parameter_bytes = entry.parameter_bytes;
    std::memcpy(facts.digest, loaded.record().digest.bytes.data(), sizeof facts.digest);
    facts.handle = loaded.handle();
    if (const auto sizes = loaded.argument_sizes()) {
      facts.parameter_sizes = sizes->data();
      facts.parameter_count = sizes->size();
    }
    return write_structure(facts, info, "info");
  });
}

cubinet_status cubinet_function_global(const cubinet_function* function, cubinet_string name,
                                       uint64_t* address, size_t* size, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(function, "function"));
    CUBINET_TRY(check_pointer(address, "address"));
    CUBINET_TRY(check_pointer(size, "size"));
    CUBINET_TRY_ASSIGN(const std::string text, text_of(name, "name"));
    CUBINET_TRY_ASSIGN(const Global variable, function->function.global(text));
    *address = variable.address();
    *size = variable.size();
    return {};
  });
}

cubinet_status cubinet_function_launch(const cubinet_function* function, const cubinet_launch_config* config,
                                       const void* const* arguments, const uint32_t* sizes, size_t count,
                                       cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    if (function == nullptr) return check_pointer(function, "function");
    return launch(function->function, config, arguments, sizes, count);
  });
}

cubinet_status cubinet_launch(const cubinet_kernel* kernel, int32_t device,
                              const cubinet_launch_config* config, const void* const* arguments,
                              const uint32_t* sizes, size_t count, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(kernel, "kernel"));
    cubinet_launch_config older;
    if (!is_current(config)) {
      CUBINET_TRY_ASSIGN(older, read_config(config));
      config = &older;
    }
    CUBINET_TRY_ASSIGN(const Function loaded,
                       kernel->session->runtime().function_on_stream(*kernel->kernel, device,
                                                                     static_cast<CUstream>(config->stream)));
    return launch(loaded, config, arguments, sizes, count);
  });
}
