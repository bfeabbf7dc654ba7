// SPDX-License-Identifier: Apache-2.0
#include "bare_driver.hpp"
#include "benchmarks.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/jit/prepared_request.hpp>
#include <cubinet/loader/module.hpp>

namespace cubinet::bench {
namespace {

// Kernels of about one size. A pass takes the mean over them, because one hit is too short to time
// and the second hit of one kernel comes from the process cache.
struct KernelClass {
  std::string name;
  std::vector<KernelSpec> specs;
  std::vector<Cubin> cubins;
};

std::vector<KernelClass> kernel_classes() {
  KernelClass small{"nearly empty kernel", {}, {}};
  for (int variant = 1; variant <= 32; ++variant)
    small.specs.push_back(small_spec("bench_struct", variant));
  KernelClass norm{"rms_norm", {}, {}};
  for (int hidden = 1024; hidden <= 8192; hidden += 1024)
    norm.specs.push_back(rms_norm_spec(hidden));
  KernelClass attention{"attention_decode, head dim 128", {}, {}};
  for (const int page_size : {16, 32, 64, 128})
    attention.specs.push_back(attention_spec(128, page_size));
  return {std::move(small), std::move(norm), std::move(attention)};
}

struct Warm {
  std::filesystem::path home;
  std::filesystem::path bundle;
  std::vector<KernelClass> classes;
  KernelSpec primer = small_spec("bench_struct", 0);  // its hit opens the index
};

Result<Warm> fill(const Settings& settings) {
  Warm store{fresh_path(settings, "home"), fresh_path(settings, "kernels.cubundle"), kernel_classes()};
  CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings, store.home));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
  const SmTarget target = best_target(settings.device);
  std::vector<Cubin> all;
  CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> primer, runtime->cubin(store.primer, target));
  all.push_back(primer->cubin);
  for (KernelClass& group : store.classes) {
    for (const KernelSpec& spec : group.specs) {
      CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> found, runtime->cubin(spec, target));
      group.cubins.push_back(found->cubin);
      all.push_back(found->cubin);
    }
  }
  CUBINET_TRY(create_bundle(store.bundle, std::move(all), {"bench", 1}));
  return store;
}

enum class Layer { registry, bundle };

Result<RuntimeOptions> warm_options(const Settings& settings, const Warm& store, Layer layer) {
  CUBINET_TRY_ASSIGN(RuntimeOptions options, layer == Layer::registry
                                                 ? runtime_options(settings, store.home)
                                                 : runtime_options(settings, {}, {store.bundle}));
  options.compile = CompilePolicy::never;
  return options;
}

// Returns the mean seconds of a hit over the class in a fresh Runtime whose index is open.
Result<double> cubinet_pass(const Settings& settings, const Warm& store, const KernelClass& group,
                            Layer layer) {
  CUBINET_TRY_ASSIGN(RuntimeOptions options, warm_options(settings, store, layer));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
  std::vector<std::shared_ptr<const Kernel>> prepared;
  for (const KernelSpec& spec : group.specs) {
    CUBINET_TRY_ASSIGN(prepared.emplace_back(), runtime->resolve(spec));
  }
  CUBINET_TRY(runtime->function(store.primer, settings.device));
  // A template's first fingerprint hashes its source; later ones look it up.
  if (group.specs.front().name != store.primer.name) {
    CUBINET_TRY(runtime->function(*prepared.back(), settings.device));
    prepared.pop_back();
  }
  const double start = now_seconds();
  for (const auto& kernel : prepared) {
    CUBINET_TRY(runtime->function(*kernel, settings.device));
  }
  const double seconds = (now_seconds() - start) / static_cast<double>(prepared.size());
  const Runtime::Counters counters = runtime->counters();
  const std::uint64_t hits = layer == Layer::registry ? counters.registry_hits : counters.bundle_hits;
  if (hits < prepared.size() + 1)
    return Error{ErrorCode::internal, "the warm store did not have every kernel"};
  return seconds;
}

Result<double> bare_pass(const BareDriverApi& api, const KernelClass& group) {
  std::vector<BareKernel> loaded;
  const double start = now_seconds();
  for (const Cubin& cubin : group.cubins) {
    CUBINET_TRY_ASSIGN(loaded.emplace_back(), load_bare(api, cubin));
  }
  const double seconds = (now_seconds() - start) / static_cast<double>(group.cubins.size());
  for (const BareKernel& kernel : loaded)
    api.library_unload(kernel.library);
  return seconds;
}

using PreparedRequests = std::vector<std::unique_ptr<const PreparedRequest>>;

Result<PreparedRequests> prepare_requests(const TemplateCatalog& templates, const KernelClass& group) {
  PreparedRequests requests;
  for (const Cubin& cubin : group.cubins) {
    CUBINET_TRY_ASSIGN(KernelSpec spec, decode_kernel(cubin.record->identity.kernel_encoding()));
    CUBINET_TRY_ASSIGN(auto kernel_template, templates.find(spec.name));
    requests.push_back(std::make_unique<const PreparedRequest>(std::move(kernel_template), std::move(spec),
                                                               CompileOptions{}));
  }
  return requests;
}

Result<double> fingerprint_pass(Compiler& compiler, const PreparedRequests& requests,
                                const KernelClass& group) {
  const double start = now_seconds();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const CubinRecord& record = *group.cubins[i].record;
    CUBINET_TRY_ASSIGN(const BuildFingerprint fingerprint,
                       compiler.fingerprint(*requests[i], record.target, record.kind));
    if (!(fingerprint == record.fingerprint)) return Error{ErrorCode::internal, "another build"};
  }
  return (now_seconds() - start) / static_cast<double>(requests.size());
}

Result<void> look_up(Home& registry, const Cubin& cubin) {
  CUBINET_TRY_ASSIGN(const auto records, registry.find(cubin.record->identity.kernel()));
  if (records.empty()) return Error{ErrorCode::internal, "the registry lost a kernel"};
  return {};
}

// Measures the parts of a hit separately: the fingerprint, a kernel's first lookup in a process (a
// hit's) and a later one, the file, and the digest.
Result<void> add_parts(const Settings& settings, const Warm& store, const KernelClass& group,
                       Report& report) {
  HomeOptions options;
  options.path = store.home;
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> registry, Home::open(options));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Compiler> compiler, Compiler::open(settings.compiler));
  CUBINET_TRY_ASSIGN(const TemplateCatalog templates, bench_templates());
  CUBINET_TRY_ASSIGN(const PreparedRequests known, prepare_requests(templates, group));
  const auto each = [&](const std::function<Result<void>(const Cubin&)>& part) {
    return [&group, part]() -> Result<double> {
      const double start = now_seconds();
      for (const Cubin& cubin : group.cubins)
        CUBINET_TRY(part(cubin));
      return (now_seconds() - start) / static_cast<double>(group.cubins.size());
    };
  };
  const std::vector<Contender> parts = {
      {"build fingerprint",
       [&]() -> Result<double> {
         CUBINET_TRY_ASSIGN(const PreparedRequests fresh, prepare_requests(templates, group));
         return fingerprint_pass(*compiler, fresh, group);
       }},
      {"build fingerprint, kept", [&] { return fingerprint_pass(*compiler, known, group); }},
      {"first look-up",
       [&]() -> Result<double> {
         CUBINET_TRY_ASSIGN(const std::shared_ptr<Home> fresh, Home::open(options));
         return each([&](const Cubin& cubin) { return look_up(*fresh, cubin); })();
       }},
      {"look-up", each([&](const Cubin& cubin) { return look_up(*registry, cubin); })},
      {"read and verify", each([&](const Cubin& cubin) -> Result<void> {
         CUBINET_TRY_ASSIGN(const std::optional<Cubin> read, registry->load(cubin.record));
         if (!read) return Error{ErrorCode::internal, "the registry lost a cubin"};
         return {};
       })},
      {"SHA-256", each([](const Cubin& cubin) -> Result<void> {
         if (sha256(*cubin.image) != cubin.record->digest) return Error{ErrorCode::corruption, "digest"};
         return {};
       })},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(parts, settings.rounds));
  nlohmann::json row = report.rounds_row(group.name + ": parts of a registry hit", rounds, "us");
  row["image_bytes"] = group.cubins.front().image->size();
  report.add(std::move(row));
  return {};
}

// Measures the loader's checks in addition to the driver's own work, with verified bytes in memory.
Result<double> loader_pass(const std::shared_ptr<const Device>& device, const KernelClass& group) {
  std::vector<std::shared_ptr<const Module>> loaded(group.cubins.size());
  const double start = now_seconds();
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    CUBINET_TRY_ASSIGN(loaded[i], Module::load(device, group.cubins[i]));
  }
  return (now_seconds() - start) / static_cast<double>(loaded.size());
}

Result<void> add_class(const Settings& settings, const Warm& store, const KernelClass& group,
                       const BareDriverApi& api, const std::shared_ptr<const Device>& device,
                       Report& report) {
  const std::vector<Contender> contenders = {
      {"registry hit", [&] { return cubinet_pass(settings, store, group, Layer::registry); }},
      {"bundle hit", [&] { return cubinet_pass(settings, store, group, Layer::bundle); }},
      {"bare cuLibraryLoadData", [&] { return bare_pass(api, group); }},
      {"SHA-256 of the image",
       [&]() -> Result<double> {
         const double start = now_seconds();
         for (const Cubin& cubin : group.cubins) {
           if (sha256(*cubin.image) != cubin.record->digest) return Error{ErrorCode::corruption, "digest"};
         }
         return (now_seconds() - start) / static_cast<double>(group.cubins.size());
       }},
      {"Module::load", [&] { return loader_pass(device, group); }},
  };
  CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
  nlohmann::json row = report.rounds_row(group.name + ": to launchable", rounds, "us");
  row["image_bytes"] = group.cubins.front().image->size();
  Report::add_ratio(row, rounds, 0, 2, std::nullopt);
  Report::add_ratio(row, rounds, 1, 2, std::nullopt);
  Report::add_ratio(row, rounds, 4, 2, std::nullopt);
  // The goal excludes the digest, which is reported separately.
  std::vector<std::vector<double>> without(3);
  for (std::size_t round = 0; round < rounds.seconds(0).size(); ++round) {
    without[0].push_back(rounds.seconds(0)[round] - rounds.seconds(3)[round]);
    without[1].push_back(rounds.seconds(1)[round] - rounds.seconds(3)[round]);
    without[2].push_back(rounds.seconds(2)[round]);
  }
  const Rounds apart({"registry hit less SHA-256", "bundle hit less SHA-256", "bare cuLibraryLoadData"},
                     without);
  Report::add_ratio(row, apart, 0, 2, 1.3);
  Report::add_ratio(row, apart, 1, 2, std::nullopt);
  report.add(std::move(row));
  return {};
}

// Measures the first hit of a Runtime, which opens the index and finds the compiler.
Result<void> add_first_hit(const Settings& settings, const Warm& store, Report& report) {
  const auto first = [&](Layer layer) {
    return [&settings, &store, layer]() -> Result<double> {
      const double start = now_seconds();
      CUBINET_TRY_ASSIGN(RuntimeOptions options, warm_options(settings, store, layer));
      CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
      CUBINET_TRY(runtime->function(store.primer, settings.device));
      return now_seconds() - start;
    };
  };
  CUBINET_TRY_ASSIGN(
      const Rounds rounds,
      run_rounds({{"registry", first(Layer::registry)}, {"bundle", first(Layer::bundle)}}, settings.rounds));
  report.add(report.rounds_row("Runtime::create and its first hit, process warm", rounds, "us"));
  return {};
}

}  // namespace

Result<void> bench_load(const Settings& settings, Report& report) {
  CUBINET_TRY_ASSIGN(const Warm store, fill(settings));
  // The parts need no GPU, so they are measured without one, too.
  for (const KernelClass& group : store.classes)
    CUBINET_TRY(add_parts(settings, store, group, report));
  const Result<BareDriver> driver = BareDriver::open(settings.device);
  if (!driver) {
    report.set("skipped", "loading: " + driver.error().to_line());
    return {};
  }
  // Both sides use the primary context, retained during the run.
  CUBINET_TRY_ASSIGN(RuntimeOptions options, warm_options(settings, store, Layer::registry));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> holder, Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, holder->device(settings.device));
  for (const KernelClass& group : store.classes) {
    CUBINET_TRY(add_class(settings, store, group, driver->api(), device, report));
  }
  return add_first_hit(settings, store, report);
}

}  // namespace cubinet::bench
