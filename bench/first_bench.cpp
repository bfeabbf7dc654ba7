// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <iostream>

namespace cubinet::bench {

// The context exists before the clock starts, as for the peers, whose framework creates it. All of
// cubinet's work follows: opening home and bundles, finding and loading NVRTC, compiling,
// publishing, loading, and looking up every kernel of the operation.
Result<void> bench_first(const Settings& settings, const FirstOptions& options) {
  const double process_start = now_seconds();
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Driver> driver, Driver::open());
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, Device::open(driver, settings.device));

  const double start = now_seconds();
  CUBINET_TRY_ASSIGN(RuntimeOptions runtime_settings,
                     runtime_options(settings, options.home, options.bundles));
  KernelEvent event;
  runtime_settings.observer = [&event](const KernelEvent& seen) { event = seen; };
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(runtime_settings)));
  const double created = now_seconds();
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Kernel> attention,
                     runtime->resolve(attention_spec(options.head_dim, options.page_size)));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Kernel> combine,
                     runtime->resolve(combine_spec(options.head_dim)));
  CUBINET_TRY(runtime->function(*combine, settings.device, "attention_combine"));
  const KernelEvent second = event;
  CUBINET_TRY(runtime->function(*attention, settings.device, "attention_decode"));
  const KernelEvent first = event;
  const double launchable = now_seconds();

  CUBINET_TRY(runtime->function(*combine, settings.device, "attention_combine"));
  CUBINET_TRY(runtime->function(*attention, settings.device, "attention_decode"));
  const double again = now_seconds();
  if (!options.write_bundle.empty()) {
    std::vector<Cubin> cubins;
    for (const auto& kernel : {attention, combine}) {
      CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> found,
                         runtime->cubin(kernel->spec(), *first.target));
      cubins.push_back(found->cubin);
    }
    CUBINET_TRY(create_bundle(options.write_bundle, std::move(cubins), {"bench", 1}));
  }

  const nlohmann::json line = {
      {"source", first.source ? std::string(to_string(*first.source)) : "error"},
      {"seconds", launchable - start},
      {"create_seconds", created - start},
      {"find_seconds", first.find_seconds + second.find_seconds},
      {"compile_seconds", first.compile_seconds + second.compile_seconds},
      {"load_seconds", first.load_seconds + second.load_seconds},
      {"second_request_seconds", again - launchable},
      {"driver_and_context_seconds", start - process_start},
  };
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace cubinet::bench
