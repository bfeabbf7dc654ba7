// SPDX-License-Identifier: Apache-2.0
// Kernels of imported folders by name, with cubins of real NVRTC and without a device.
#include "named_kernels.hpp"

#include "runtime_fixture.hpp"

#include <algorithm>
#include <fstream>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kSpecific{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline{9, 0, TargetKind::baseline};
constexpr SmTarget kForeign{10, 0, TargetKind::specific};

// A folder with the kernel `scale` for three targets, imported into a home.
struct Imported {
  TempDir folder;
  std::unique_ptr<Registry> registry;
  std::map<SmTarget, PlainKernel> kernels;

  Imported() {
    const auto builder = make_runtime(runtime_options(folder / "builder"));
    ArtifactImport import;
    import.folder = folder / "published";
    std::filesystem::create_directories(import.folder);
    for (const SmTarget target : {kBaseline, kSpecific, kForeign}) {
      const auto found = builder->cubin(scale_spec(), target);
      REQUIRE(found);
      const Cubin& cubin = (*found)->cubin;
      const std::string name = "scale_" + target.to_string() + ".cubin";
      std::ofstream(import.folder / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(cubin.image->data()),
                 static_cast<std::streamsize>(cubin.image->size()));
      kernels[target] = {"scale", 0, 128, target, cubin.record->digest};
      import.plain.push_back(kernels[target]);
      import.files.push_back({name, cubin.record->digest, cubin.image->size()});
    }
    std::sort(import.files.begin(), import.files.end(),
              [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
    RegistryOptions options;
    options.home = folder / "home";
    registry = *Registry::open(options);
    REQUIRE(registry->artifacts().publish(import));
  }

  std::filesystem::path file(SmTarget target) const {
    return folder / "published" / ("scale_" + target.to_string() + ".cubin");
  }
};

TEST_CASE("an imported kernel is found by the name of its function, for the best target that runs") {
  const Imported imported;
  const NamedKernels kernels(imported.registry.get(), {});
  const auto found = kernels.find("scale", {9, 0});
  REQUIRE(found);
  CHECK(found->source == KernelSource::imported);
  CHECK(found->cubin.record->target == kSpecific);
  CHECK(found->cubin.record->digest == imported.kernels.at(kSpecific).digest);
  CHECK(sha256(*found->cubin.image) == found->cubin.record->digest);
  REQUIRE(found->cubin.record->entry_points.size() == 1);
  CHECK(found->cubin.record->entry_points[0].symbol == "scale");
  CHECK(found->cubin.record->entry_points[0].threads == 128);
  CHECK(kernels.find("scale", {10, 0})->cubin.record->target == kForeign);
}

TEST_CASE("a policy rules over imported kernels too") {
  const Imported imported;
  TargetPolicy policy;
  policy.forbidden = {kSpecific};
  const NamedKernels kernels(imported.registry.get(), policy);
  CHECK(kernels.find("scale", {9, 0})->cubin.record->target == kBaseline);
  policy.pinned = kForeign;
  const auto none = NamedKernels(imported.registry.get(), policy).find("scale", {9, 0});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::not_found);
  CHECK(none.error().message.find("sm_100a is pinned") != std::string::npos);
}

TEST_CASE("where the file of the best build is damaged or gone the next one is taken, and then none") {
  const Imported imported;
  const NamedKernels kernels(imported.registry.get(), {});
  {
    std::fstream stream(imported.file(kSpecific), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(300);
    stream.put('\x55');
  }
  CHECK(kernels.find("scale", {9, 0})->cubin.record->target == kBaseline);
  std::filesystem::remove(imported.file(kBaseline));
  const auto none = kernels.find("scale", {9, 0});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::not_found);
  CHECK(none.error().message.find("gone or damaged") != std::string::npos);
}

TEST_CASE("a name that is not there, a device that no build is for and a missing home are told apart") {
  const Imported imported;
  const NamedKernels kernels(imported.registry.get(), {});
  CHECK(kernels.find("scale_up", {9, 0}).error().message.find("is in no imported folder") !=
        std::string::npos);
  CHECK(kernels.find("scale", {12, 0}).error().message.find("sm_100a code is specific to 10.0") !=
        std::string::npos);
  CHECK(NamedKernels(nullptr, {}).find("scale", {9, 0}).error().message.find("no usable home") !=
        std::string::npos);
}

}  // namespace
}  // namespace cubinet
