// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

#include <optional>
#include <string>

namespace cubinet::bench {
namespace {

constexpr std::size_t kFewKernels = 100;
constexpr std::size_t kManyKernels = 23000;
// The image size of the first kFewKernels kernels of both bundles, which are the only ones that are
// fetched. The size of the others does not affect them. If packing would take minutes, the others
// have the images of the first.
constexpr std::size_t kImageBytes = std::size_t{128} << 10;
constexpr std::size_t kOtherImageBytes = std::size_t{4} << 10;
constexpr std::size_t kFetched = 32;  // in one pass

// Returns a kernel with an identity as large as a published kernel's, and a row.
Cubin kernel_of(std::size_t number, BundleProfile profile) {
  KernelSpec spec;
  spec.name = "bench_bundle";
  for (int i = 0; i < 30; ++i)
    spec.set("parameter_with_a_name_" + std::to_string(i), static_cast<int>(number) + i);
  const bool shared = profile != BundleProfile::plain;
  Bytes image(number < kFewKernels || shared ? kImageBytes : kOtherImageBytes);
  auto state = static_cast<std::uint32_t>(shared ? number % kFewKernels : number) + 1;
  for (std::byte& byte : image) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U & 0x0fU);
  }
  auto record = std::make_shared<CubinRecord>();
  record->target = {9, 0, TargetKind::specific};
  record->identity = identify(spec, record->target);
  record->digest = sha256(image);
  record->fingerprint.digest = record->digest;
  record->size = image.size();
  EntryPoint& entry = record->entry_points.emplace_back();
  entry.name = entry.symbol = "bench_bundle_kernel_of_a_long_name_" + std::to_string(number);
  record->compiler = "a compiler";
  record->row = record->identity.kernel().encoding();
  return {std::move(record), std::make_shared<const Bytes>(std::move(image))};
}

struct Bundles {
  std::filesystem::path small;
  std::filesystem::path large;
  std::vector<KernelId> fetched;
};

Result<Bundles> write_bundles(const Settings& settings, BundleProfile profile) {
  const std::string name(to_string(profile));
  Bundles bundles{fresh_path(settings, name + "-small"), fresh_path(settings, name + "-large"), {}};
  std::vector<Cubin> cubins;
  for (std::size_t i = 0; i < kManyKernels; ++i) {
    cubins.push_back(kernel_of(i, profile));
    // Shared to save memory.
    if (profile != BundleProfile::plain && i >= kFewKernels)
      cubins.back().image = cubins[i % kFewKernels].image;
    if (cubins.size() == kFewKernels)
      CUBINET_TRY(create_bundle(bundles.small, cubins, {"bench", 1, 0, 0, profile}));
  }
  for (std::size_t i = 0; i < kFetched; ++i)
    bundles.fetched.push_back(cubins[i * 3].record->identity.kernel());
  CUBINET_TRY(create_bundle(bundles.large, std::move(cubins), {"bench", 1, 0, 0, profile}));
  return bundles;
}

// Returns the mean seconds to open the bundle, find one kernel and load its verified image, each
// time anew.
Result<double> fetch_pass(const std::filesystem::path& path, const std::vector<KernelId>& kernels) {
  const double start = now_seconds();
  for (const KernelId& kernel : kernels) {
    CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(path));
    CUBINET_TRY_ASSIGN(const CubinRecords found, bundle->find(kernel));
    if (found.size() != 1) return Error{ErrorCode::internal, "the bundle lost a kernel"};
    CUBINET_TRY(bundle->read(found.front()));
  }
  return (now_seconds() - start) / static_cast<double>(kernels.size());
}

// Returns the same for an open bundle after one load, which reads the dictionary.
Result<double> later_pass(const std::filesystem::path& path, const std::vector<KernelId>& kernels) {
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(path));
  double start = 0;
  for (const KernelId& kernel : kernels) {
    CUBINET_TRY_ASSIGN(const CubinRecords found, bundle->find(kernel));
    if (found.size() != 1) return Error{ErrorCode::internal, "the bundle lost a kernel"};
    CUBINET_TRY(bundle->read(found.front()));
    if (start == 0) start = now_seconds();
  }
  return (now_seconds() - start) / static_cast<double>(kernels.size() - 1);
}

Result<double> open_pass(const std::filesystem::path& path) {
  const double start = now_seconds();
  for (std::size_t i = 0; i < kFetched; ++i)
    CUBINET_TRY(Bundle::open(path));
  return (now_seconds() - start) / static_cast<double>(kFetched);
}

}  // namespace

Result<void> bench_bundle(const Settings& settings, Report& report) {
  for (const BundleProfile profile : {BundleProfile::plain, BundleProfile::ship}) {
    CUBINET_TRY_ASSIGN(const Bundles bundles, write_bundles(settings, profile));
    const std::vector<Contender> contenders = {
        {"of 100", [&] { return fetch_pass(bundles.small, bundles.fetched); }},
        {"of 23000", [&] { return fetch_pass(bundles.large, bundles.fetched); }},
        {"another, of 100", [&] { return later_pass(bundles.small, bundles.fetched); }},
        {"another, of 23000", [&] { return later_pass(bundles.large, bundles.fetched); }},
        {"open alone, of 100", [&] { return open_pass(bundles.small); }},
        {"open alone, of 23000", [&] { return open_pass(bundles.large); }},
    };
    CUBINET_TRY_ASSIGN(const Rounds rounds, run_rounds(contenders, settings.rounds));
    nlohmann::json row = report.rounds_row(
        "opening a bundle and fetching one cubin, " + std::string(to_string(profile)), rounds, "us");
    row["image_bytes"] = kImageBytes;
    Report::add_ratio(row, rounds, 1, 0, 1.1);
    Report::add_ratio(row, rounds, 3, 2, std::nullopt);
    report.add(std::move(row));
  }
  return {};
}

}  // namespace cubinet::bench
