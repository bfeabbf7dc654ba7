// SPDX-License-Identifier: Apache-2.0
#include "adoption/recorded_cache.hpp"
#include "support/text.hpp"

#include <cubinet/serving/serve_warm.hpp>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

// Runs scripts with a home and a cache of Triton in a folder of their own.
struct Warm {
  TempDir temp;
  std::string logged;
  ServeWarmOptions options;

  Warm() {
    options.session.home = (temp / "home").string();
    options.session.log = [this](const LogRecord& record) { logged += std::string(record.message) + "\n"; };
    options.environment = EnvironmentVariables({"PATH=/bin:/usr/bin", "OUT=" + (temp / "out").string(),
                                                "IN=" + test::recorded("triton-3.9.0").string()});
    options.caches = {{"triton", (temp / "out").string()}};
    options.device = ComputeCapability{9, 0};
  }
  int run(const std::string& script) {
    options.command = {"sh", "-c", "cd " + temp.path().string() + "; " + script};
    return ok(serve_warm(options));
  }
  std::size_t adopted() const {
    const auto home = test::open_home(temp);
    return ok(home->list()).size();
  }
};

TEST_CASE("what a command leaves in its cache is there when the next one starts elsewhere") {
  Warm warm;
  CHECK(warm.run("mkdir $OUT; cp -r $IN/* $OUT; exit 7") == 7);
  CHECK(warm.adopted() == 2);
  warm.options.caches = {{"triton", (warm.temp / "other").string()}};
  const std::string entry(test::kTritonHopper);
  CHECK(warm.run("test -e other/" + entry + "/scale.cubin") == 0);
}

TEST_CASE("entries at rest are adopted while the command runs") {
  Warm warm;
  warm.options.rest = std::chrono::seconds(0);
  warm.options.interval = std::chrono::milliseconds(1);
  // The folder of the home's images gets one for each entry.
  CHECK(warm.run("mkdir $OUT; cp -r $IN/* $OUT; "
                 "until [ $(find home -name '*.cubin' | wc -l) = 2 ]; do sleep 0.01; done; exit 7") == 7);
}

TEST_CASE("entries that have just changed are left for the end") {
  Warm warm;
  warm.options.rest = std::chrono::hours(1);
  warm.options.interval = std::chrono::milliseconds(1);
  CHECK(warm.run("mkdir $OUT; cp -r $IN/* $OUT; sleep 0.1; [ $(find home -name '*.cubin' | wc -l) = 0 ]") ==
        0);
  CHECK(warm.adopted() == 2);
}

TEST_CASE("what was put is not adopted again, and another entry is") {
  Warm warm;
  const TempDir other;
  const auto home = test::open_home(other);
  ok(adopt_cache(*home, test::recorded("triton-3.9.0").string(), ""));
  const std::string bundle = (warm.temp / "b.bundle").string();
  ok(create_bundle(bundle, *home, ok(home->list()), {}));
  warm.options.session.bundles = {{bundle}};
  CHECK(warm.run("cp -r $IN/" + std::string(test::kTritonAmpere) + " $OUT") == 0);
  const auto kept = ok(test::open_home(warm.temp)->list());
  REQUIRE(kept.size() == 1);
  CHECK(kept.front()->target == SmTarget{8, 0, TargetKind::baseline});
}

TEST_CASE("the report has what was put before the start and what was adopted after the end") {
  Warm warm;
  const fs::path file = warm.temp / "report";
  // The helper is a process of its own.
  warm.options.report = [file](const ServeWarmReport& report) {
    const auto counts = report.sum();
    std::ofstream(file, std::ios::app)
        << report.ended << ' ' << counts.put << ' ' << counts.left_out << ' ' << counts.adopted << '\n';
  };
  CHECK(warm.run("mkdir $OUT; cp -r $IN/* $OUT") == 0);
  CHECK(test::read_file(file) == "0 0 0 0\n1 0 0 2\n");
  fs::remove_all(warm.temp / "out");
  fs::remove(file);
  CHECK(warm.run("true") == 0);
  CHECK(test::read_file(file) == "0 1 1 0\n1 1 1 0\n");
}

TEST_CASE("the command learns of the folder of Triton and of the folder to record into") {
  Warm warm;
  warm.options.workload = (warm.temp / "w.workload").string();
  CHECK(warm.run("[ $CUBINET_TRITON_CACHE = $OUT ] && [ -d $CUBINET_RECORD ]") == 0);
  CHECK(fs::exists(warm.temp / "w.workload"));
  warm.options.workload.clear();
  warm.options.caches = {{"deepjit", "x"}};
  CHECK(warm.run("[ -z \"$CUBINET_TRITON_CACHE$CUBINET_RECORD\" ]") == 0);
}

TEST_CASE("whatever is missing, the command runs and its status is kept") {
  Warm warm;
  warm.options.session.bundles = {{"none.bundle"}, {"file:///none#stable"}};
  warm.options.session.site_homes = {"/none"};
  warm.options.session.driver_library = "/none/libcuda.so.1";
  warm.options.device = {};
  warm.options.workload = "/none/w.workload";
  test::write_file(warm.temp / "out", "a file");
  test::write_file(warm.temp / "home", "a file");
  CHECK(warm.run("exit 7") == 7);
}

TEST_CASE("a site home that cannot be used does not keep the home from adopting") {
  Warm warm;
  warm.options.session.site_homes = {"/none"};
  CHECK(warm.run("mkdir $OUT; cp -r $IN/* $OUT") == 0);
  CHECK(warm.adopted() == 2);
}

TEST_CASE("what fails in every interval is logged once") {
  Warm warm;
  test::write_file(warm.temp / "out", "a file");
  const fs::path file = warm.temp / "log";
  warm.options.session.log = [file](const LogRecord& record) {
    std::ofstream(file, std::ios::app) << record.message << '\n';
  };
  warm.options.interval = std::chrono::milliseconds(1);
  // Ends after the first line. Several intervals pass, or only one on a busy machine.
  CHECK(warm.run("until [ -s log ]; do sleep 0.01; done; sleep 0.05") == 0);
  const std::string logged = test::read_file(file);
  CHECK(test::contains(logged, "is no folder"));
  CHECK(logged.find("is no folder") == logged.rfind("is no folder"));
}

TEST_CASE("recordings that cannot be merged stay, and are named") {
  Warm warm;
  warm.options.workload = (warm.temp / "w.workload").string();
  test::write_file(warm.temp / "w.workload", "mine");
  CHECK(warm.run("exit 7") == 7);
  CHECK(test::contains(warm.logged, "w.workload."));
  CHECK(test::read_file(warm.temp / "w.workload") == "mine");
}

TEST_CASE("no command and a cache of no tool are errors") {
  ServeWarmOptions options;
  CHECK(serve_warm(options).error().code == ErrorCode::invalid_argument);
  options.command = {"true"};
  options.caches = {{"tritn", "/x"}};
  CHECK(test::contains(serve_warm(options).error().remedy, "did you mean triton?"));
  options.caches = {{"triton", ""}};
  CHECK_FALSE(serve_warm(options));
}

}  // namespace
}  // namespace cubinet
