// SPDX-License-Identifier: Apache-2.0
// Tests that all queries agree on the build of a kernel: requests, explanations, the rows that
// selection and statistics see, and the removals of gc.
#include "device_rows.hpp"
#include "fake_compiler.hpp"
#include "support/property_counts.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>

#include <array>
#include <random>

namespace cubinet {
namespace {

using namespace test;

using Random = std::minstd_rand;

template <class T>
const T& one_of(Random& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

const std::vector<SmTarget>& targets() {
  static const std::vector<SmTarget> kTargets = {{9, 0, TargetKind::specific},  {9, 0, TargetKind::baseline},
                                                 {8, 0, TargetKind::baseline},  {10, 0, TargetKind::family},
                                                 {10, 3, TargetKind::specific}, {10, 3, TargetKind::family}};
  return kTargets;
}

KernelSpec published_kernel(const char* pin) {
  KernelRow row;
  row.implementation = kPublishedImplementation;
  row.pin = pin;
  return published_spec(row);
}

// A store whose contents change between queries.
class RandomStore final : public Store, public RowTable {
 public:
  explicit RandomStore(KernelSource source)
      : description_{.kind = "random", .place = "/random", .source = source} {}

  void fill(std::vector<Cubin> cubins) {
    cubins_ = std::move(cubins);
    StoredRows rows;
    for (const Cubin& cubin : cubins_) {
      if (cubin.record->row.empty()) continue;
      auto row = std::make_shared<KernelRow>();
      row->target = cubin.record->target;
      row->digest = cubin.record->digest;
      rows.push_back({std::move(row), cubin.record});
    }
    rows_ = std::make_shared<const StoredRows>(std::move(rows));
  }

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override {
    CubinRecords found;
    for (const Cubin& cubin : cubins_) {
      if (cubin.record->identity.is_of(kernel)) found.push_back(cubin.record);
    }
    return found;
  }
  Result<CubinRecords> find_key(KernelKey) override { return CubinRecords(); }
  Result<CubinRecords> find_function(std::string_view) override { return CubinRecords(); }
  Result<CubinRecords> list() override { return CubinRecords(); }
  Result<std::shared_ptr<const StoredRows>> rows() override { return rows_; }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    for (const Cubin& cubin : cubins_) {
      if (cubin.record == record) return std::optional(cubin);
    }
    return std::optional<Cubin>();
  }

 private:
  StoreDescription description_;
  std::vector<Cubin> cubins_;
  std::shared_ptr<const StoredRows> rows_ = std::make_shared<const StoredRows>();
};

// Returns every build that a random store may hold. They are made once.
const std::vector<Cubin>& all_builds() {
  static const std::vector<Cubin> kBuilds = [] {
    std::vector<Cubin> builds;
    const auto add = [&](ShelfBuild build) { builds.push_back(build.make()); };
    for (const SmTarget target : targets()) {
      for (const int factor : {3, 4}) {
        for (const char* word : {"today", "yesterday"}) {
          for (const std::uint32_t interface_version : {1U, 2U}) {
            ShelfBuild build{complete_spec(factor), target, word};
            build.interface_version = interface_version;
            build.has_row = true;
            add(build);
            build.origin = CubinOrigin::bundle;
            build.version = 1 + (target.minor % 2U);
            add(build);
            build.version += 5;
            add(build);
            if (target.kind == TargetKind::family) continue;
            build.has_row = false;
            build.kind = ImageKind::ptx;
            add(build);
          }
        }
      }
      for (const char* pin : {"aaaa", "bbbb"}) {
        ShelfBuild build{published_kernel(pin), target, pin, CubinOrigin::imported, 1};
        build.has_row = true;
        add(build);
        build.version = 2;
        build.word += "again";
        add(build);
      }
    }
    return builds;
  }();
  return kBuilds;
}

// The parts of a Runtime without a device.
struct World {
  FakeEnvironment environment;
  Library library;
  KernelCache prepared;
  CubinSource source;
  DeviceRowReader reader{library, prepared, source};

  World(bool has_compiler, const TemplateCatalog& templates, const TargetPolicy& policy,
        std::vector<std::shared_ptr<Store>> stores)
      : environment(has_compiler ? std::make_shared<FakeCompiler>() : nullptr),
        library(std::move(stores), {}),
        prepared(std::make_shared<const char>(), templates, library),
        source(library, environment, CompilePolicy::never, policy, {}) {}
};

std::optional<Sha256Digest> row_of_kernel(const DeviceRows& rows, const KernelId& id) {
  std::optional<Sha256Digest> found;
  for (const StoredRow& row : rows.rows) {
    if (!row.record->identity.is_of(id)) continue;
    if (found || row.row->digest != row.record->digest) return Sha256Digest{};  // one row per kernel
    found = row.record->digest;
  }
  return found;
}

// Returns whether all queries agree on this kernel, and counts the builds that were taken.
bool agree(World& world, const KernelSpec& spec, ComputeCapability device, const DeviceRows& rows) {
  const auto kernel = world.prepared.resolve_held(identify(spec));
  REQUIRE(kernel != nullptr);
  const auto found = world.source.for_device(*kernel, device);
  const auto explanation = world.source.explain(*kernel, device);
  const auto row = row_of_kernel(rows, kernel->id());
  if (!found) {
    return found.error().code == ErrorCode::not_found && explanation.choice() == nullptr && !row;
  }
  const std::shared_ptr<const CubinRecord>& taken = found->cubin.record;
  if (explanation.choice() == nullptr || explanation.choice()->record->digest != taken->digest) return false;
  if (explanation.choice()->source != found->source) return false;
  if (row.has_value() == taken->row.empty()) return false;
  if (row && *row != taken->digest) return false;
  const auto status = world.reader.build_status(taken);  // the query of gc
  return status && is_usable(status->status);
}

std::vector<Cubin> random_builds(Random& random) {
  std::vector<Cubin> builds;
  for (std::size_t count = random() % 6; count > 0; --count)
    builds.push_back(one_of(random, all_builds()));
  return builds;
}

std::vector<TargetPolicy> all_policies() {
  std::vector<TargetPolicy> policies(4);
  policies[1].prefers_family = true;
  policies[2].forbidden = {targets()[0], targets()[4]};
  policies[3].forbidden = {targets()[1]};
  return policies;
}

const std::vector<KernelSpec>& all_kernels() {
  static const std::vector<KernelSpec> kKernels = {complete_spec(3), complete_spec(4),
                                                   published_kernel("aaaa"), published_kernel("bbbb")};
  return kKernels;
}

const std::vector<ComputeCapability> kDevices = {{9, 0}, {10, 0}, {10, 3}, {8, 6}};

TEST_CASE("requests, explanations, rows and gc name one build over random contents of stores" *
          doctest::test_suite("loop")) {
  const TemplateCatalog with_template = row_catalog();
  const TemplateCatalog without_template;
  std::vector<std::shared_ptr<RandomStore>> stores;
  for (const KernelSource source : {KernelSource::registry, KernelSource::bundle, KernelSource::registry})
    stores.push_back(std::make_shared<RandomStore>(source));
  std::vector<std::unique_ptr<World>> worlds;
  for (const TargetPolicy& policy : all_policies()) {
    for (const bool has_compiler : {true, false}) {
      for (const auto* templates : {&with_template, &without_template}) {
        worlds.push_back(
            std::make_unique<World>(has_compiler, *templates, policy,
                                    std::vector<std::shared_ptr<Store>>(stores.begin(), stores.end())));
      }
    }
  }
  std::size_t disagreements = 0;
  std::size_t taken = 0;
  constexpr unsigned kSeeds = 1'000'000 / kPropertyDivisor;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed + 1);
    random.discard(4);
    World& world = *worlds[random() % worlds.size()];
    for (const auto& store : stores)
      store->fill(random_builds(random));
    const ComputeCapability device = one_of(random, kDevices);
    const auto rows = world.reader.rows(device);
    if (!rows) ++disagreements;
    if (!rows) continue;
    const KernelSpec& kernel = all_kernels()[seed % all_kernels().size()];
    disagreements += agree(world, kernel, device, *rows) ? 0U : 1U;
    taken += rows->rows.size();
  }
  CHECK(disagreements == 0);
  CHECK(taken > kSeeds / 2);
}

// Returns a build of a template whose image is a whole ELF.
Cubin random_cubin(Random& random) {
  FakeCubin description;
  description.target = one_of(random, targets());
  description.filler = static_cast<std::uint8_t>(random());
  const std::string word = one_of<std::string>(random, {"today", "yesterday", "elsewhere"});
  const Cubin cubin = make_cubin(complete_spec(3 + static_cast<int>(random() % 2)), description, word);
  CubinRecord record = *cubin.record;
  record.interface_version = 1 + (random() % 3 == 0 ? 1 : 0);
  KernelRow row;
  row.implementation = "scale";
  record.row = encode_row(row);
  return {std::make_shared<const CubinRecord>(std::move(record)), cubin.image};
}

// Returns a bundle of random builds that do not contradict each other.
std::shared_ptr<Bundle> random_bundle(Random& random, const std::string& path, std::uint64_t version) {
  std::map<std::pair<Bytes, BuildFingerprint>, Cubin> cubins;
  for (std::size_t count = 1 + random() % 3; count > 0; --count) {
    Cubin cubin = random_cubin(random);
    cubins.try_emplace({cubin.record->identity.encoding(), cubin.record->fingerprint}, cubin);
  }
  std::vector<Cubin> distinct;
  for (auto& [identity, cubin] : cubins)
    distinct.push_back(cubin);
  REQUIRE(create_bundle(path, std::move(distinct), {"random", version}));
  auto bundle = Bundle::open(path);
  REQUIRE(bundle);
  return *bundle;
}

TEST_CASE("requests, explanations, rows and gc name one build over random homes and bundles on disk" *
          doctest::test_suite("loop")) {
  const TemplateCatalog templates = row_catalog();
  std::size_t taken = 0;
  constexpr unsigned kSeeds = kPropertyDivisor <= 10 ? 200 : 20;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    Random random(seed + 1);
    random.discard(4);
    const TempDir folder;
    const auto home = Home::open({.path = (folder / "home").string()});
    REQUIRE(home);
    for (std::size_t count = random() % 4; count > 0; --count)
      REQUIRE((*home)->publish(random_cubin(random)));
    std::vector<std::shared_ptr<Store>> stores = {*home};
    for (std::uint64_t version = random() % 3; version > 0; --version) {
      const auto bundle =
          random_bundle(random, (folder / std::to_string(version)).string(), 1 + random() % 2);
      stores.push_back(bundle);
      if (random() % 2 == 0) REQUIRE(import_bundle(*bundle, **home));
    }
    for (const bool has_compiler : {true, false}) {
      World world(has_compiler, templates, one_of(random, all_policies()), stores);
      const ComputeCapability device = one_of(random, kDevices);
      const auto rows = world.reader.rows(device);
      REQUIRE(rows);
      for (const int factor : {3, 4})
        CHECK(agree(world, complete_spec(factor), device, *rows));
      taken += rows->rows.size();
    }
  }
  CHECK(taken > kSeeds / 2);
}

}  // namespace
}  // namespace cubinet
