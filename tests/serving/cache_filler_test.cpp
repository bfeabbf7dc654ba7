// SPDX-License-Identifier: Apache-2.0
#include "cache_filler.hpp"

#include "adoption/recorded_cache.hpp"
#include "support/file_size_limit.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

constexpr ComputeCapability kHopper{9, 0};
constexpr ComputeCapability kAmpere{8, 0};

// A home with the recorded entries of Triton for two devices.
struct FilledHome {
  TempDir temp;
  std::shared_ptr<Home> home = test::open_home(temp);
  std::string logged;
  ServeWarmReport report;
  ToolCache cache{"triton", (temp / "out").string()};

  FilledHome() { ok(adopt_cache(*home, test::recorded("triton-3.9.0").string(), "")); }
  std::vector<std::string> fill(std::vector<ComputeCapability> devices,
                                std::vector<std::shared_ptr<Store>> stores) {
    report = {};
    const CacheFiller filler(std::move(devices), [this](const LogRecord& record) {
      logged += std::string(record.message) + "\n";
    });
    return filler.fill(cache, stores, report);
  }
  ServeWarmReport::Counts counts() const { return report.sum(); }
};

TEST_CASE("a cache gets the entries of every device, each once, whatever version made them") {
  FilledHome filled;
  CHECK(filled.fill({kHopper, kAmpere}, {filled.home, filled.home}).size() == 2);
  CHECK(filled.counts().put == 2);
  CHECK(filled.counts().left_out == 0);
  CHECK(filled.fill({kHopper, kAmpere}, {filled.home}).size() == 2);
  CHECK(filled.counts().put == 0);
  CHECK(filled.counts().present == 2);
}

TEST_CASE("the entries of other devices are left out and named") {
  FilledHome filled;
  CHECK(filled.fill({kHopper}, {filled.home}) == std::vector<std::string>{std::string(test::kTritonHopper)});
  CHECK(filled.counts().left_out == 1);
  CHECK(test::contains(filled.logged, test::kTritonAmpere));
}

TEST_CASE("nothing to put makes no folder, and without a device nothing is put") {
  FilledHome filled;
  filled.cache.tool = "deepjit";
  CHECK(filled.fill({kHopper}, {filled.home}).empty());
  filled.cache.tool = "triton";
  CHECK(filled.fill({}, {filled.home}).empty());
  CHECK_FALSE(fs::exists(filled.cache.folder));
}

TEST_CASE("a folder that cannot be written is logged, and what follows is put") {
  FilledHome filled;
  test::write_file(filled.temp / "out", "a file");
  CHECK(filled.fill({kHopper}, {filled.home}).empty());
  CHECK(test::contains(filled.logged, filled.cache.folder));
  filled.cache.folder += "2";
  CHECK(filled.fill({kHopper}, {filled.home}).size() == 1);
}

TEST_CASE("after a failed write the entries of the cache are counted and returned all the same") {
  FilledHome filled;
  CHECK(filled.fill({kAmpere}, {filled.home}).size() == 1);
  const test::FileSizeLimit limit(0);
  CHECK(filled.fill({kHopper, kAmpere}, {filled.home}) ==
        std::vector<std::string>{std::string(test::kTritonAmpere)});
  CHECK(filled.counts().present == 1);
  CHECK(filled.counts().left_out == 1);
  CHECK(test::contains(filled.logged, "not everything is put"));
}

TEST_CASE("of two stores the first that has an entry provides it") {
  FilledHome filled;
  const std::string path = (filled.temp / "b.bundle").string();
  ok(create_bundle(path, *filled.home, ok(filled.home->list()), {}));
  const std::shared_ptr<Store> bundle = ok(Bundle::open(path));
  CHECK(filled.fill({kHopper}, {bundle, filled.home}).size() == 1);
  CHECK(filled.counts().put == 1);
  CHECK(filled.counts().present == 0);
}

}  // namespace
}  // namespace cubinet
