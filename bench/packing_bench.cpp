// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <algorithm>
#include <string>
#include <sys/resource.h>

namespace cubinet::bench {
namespace {

constexpr std::size_t kUnpacked = 500;  // images per round
// Six minutes on two cores.
constexpr double kPackingGoal = 720;
constexpr double kMegabyte = 1e6;

// Returns the processor time of all threads.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Returns a cubin named after its file, so that similar ones are adjacent.
Result<Cubin> published_cubin(const std::filesystem::path& path) {
  CUBINET_TRY_ASSIGN(Bytes image, posix_file_system()->read(path, kMaximumImageBytes));
  KernelSpec spec;
  spec.name = "published";
  spec.set("file", path.stem().string());
  auto record = std::make_shared<CubinRecord>();
  record->target = {10, 0, TargetKind::specific};
  record->identity = identify(spec, record->target);
  record->digest = sha256(image);
  record->fingerprint.digest = record->digest;
  record->size = image.size();
  EntryPoint& entry = record->entry_points.emplace_back();
  entry.name = entry.symbol = path.stem().string();
  record->compiler = "the publisher's";
  return Cubin{std::move(record), std::make_shared<const Bytes>(std::move(image))};
}

Result<std::vector<Cubin>> published_cubins(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".cubin") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Cubin> cubins;
  for (const std::filesystem::path& path : paths) {
    CUBINET_TRY_ASSIGN(cubins.emplace_back(), published_cubin(path));
  }
  if (cubins.empty()) return Error{ErrorCode::not_found, "there is no cubin in '" + folder.string() + "'"};
  return cubins;
}

// Processes every n-th cubin, so that all kinds are included.
template <class Work>
Result<double> each_of(const std::vector<Cubin>& cubins, const Work& work) {
  const std::size_t step = std::max<std::size_t>(1, cubins.size() / kUnpacked);
  const double start = now_seconds();
  for (std::size_t i = 0; i < cubins.size(); i += step)
    CUBINET_TRY(work(cubins[i]));
  return now_seconds() - start;
}

Result<nlohmann::json> unpacking_row(const Settings& settings, const Report& report, const std::string& name,
                                     const std::filesystem::path& path, const std::vector<Cubin>& cubins) {
  CUBINET_TRY_ASSIGN(const auto bundle, Bundle::open(path));
  const auto fetch = [&](const Cubin& cubin) -> Result<void> {
    CUBINET_TRY(bundle->read(cubin.record));
    return {};
  };
  const auto hash = [](const Cubin& cubin) -> Result<void> {
    if (sha256(*cubin.image) == cubin.record->digest) return {};
    return Error{ErrorCode::internal, "an image changed"};
  };
  CUBINET_TRY_ASSIGN(const Rounds both, run_rounds({{"", [&] { return each_of(cubins, fetch); }},
                                                    {"", [&] { return each_of(cubins, hash); }}},
                                                   settings.rounds));
  // Fetched bytes are hashed too, packed and unpacked.
  std::vector<double> unpacking = both.seconds(0);
  for (std::size_t i = 0; i < unpacking.size(); ++i)
    unpacking[i] -= both.seconds(1)[i];
  const Rounds rounds({"page, frame and unpacking", "SHA-256"}, {std::move(unpacking), both.seconds(1)});
  nlohmann::json row = report.rounds_row(name + ": a sample is fetched", rounds, "ms");
  Report::add_ratio(row, rounds, 0, 1, 2.0);
  return row;
}

}  // namespace

Result<void> bench_packing(const Settings& settings, const std::filesystem::path& folder, Report& report) {
  CUBINET_TRY_ASSIGN(const std::vector<Cubin> cubins, published_cubins(folder));
  double bytes = 0;
  for (const Cubin& cubin : cubins)
    bytes += static_cast<double>(cubin.image->size());
  for (const BundleProfile profile : {BundleProfile::ship, BundleProfile::archive}) {
    const bool ship = profile == BundleProfile::ship;
    const auto path = fresh_path(settings, "published");
    const std::string name =
        std::to_string(cubins.size()) + " published cubins, " + std::string(to_string(profile));
    const double before = processor_seconds();
    CUBINET_TRY(create_bundle(path, cubins, {"bench", 1, 0, 0, profile}));
    const Rounds time({"packing, all threads", "6 minutes of 2 cores"},
                      {{processor_seconds() - before}, {kPackingGoal}});
    nlohmann::json row = report.rounds_row(name + ": packing", time, "s");
    Report::add_ratio(row, time, 0, 1, 1.0);
    report.add(std::move(row));
    const auto packed = static_cast<double>(std::filesystem::file_size(path));
    const Rounds sizes({"bundle", "images"}, {{packed / kMegabyte}, {bytes / kMegabyte}});
    row = report.rounds_row(name + ": size", sizes, "MB");
    Report::add_ratio(row, sizes, 0, 1, ship ? 0.135 : 0.105);
    report.add(std::move(row));
    if (!ship) continue;
    CUBINET_TRY_ASSIGN(row, unpacking_row(settings, report, name, path, cubins));
    report.add(std::move(row));
  }
  return {};
}

}  // namespace cubinet::bench
