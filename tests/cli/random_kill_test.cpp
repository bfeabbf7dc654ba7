// SPDX-License-Identifier: Apache-2.0
// Kills the tool at random times, over and over, on one home. Work that the tool reported is done,
// no wrong bytes are served, no list lacks an existing entry, and a bundle that was being pulled is
// whole or absent. scripts/campaign.sh kills it 10000 times.
#include "artifacts/published_folder.hpp"
#include "support/counted.hpp"
#include "support/fake_cubin.hpp"
#include "tool.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <random>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;

// The number of kills after which the test begins with a new home.
constexpr int kKillsOfAHome = 40;

int wanted_kills() {
  const char* kills = std::getenv("CUBINET_TEST_KILLS");
  return kills == nullptr ? 30 : std::atoi(kills);
}

// An invocation of the tool, and the entries that exist when it ends with status 0.
struct Invocation {
  std::vector<std::string> arguments;
  std::set<Sha256Digest> images = {};
  bool imports = false;
  microseconds time{0};  // the time it takes
};

pid_t start(const Sandbox& sandbox, const Invocation& invocation) {
  std::vector<std::string> arguments = {tool_path(), "--home", sandbox.home().string()};
  arguments.insert(arguments.end(), invocation.arguments.begin(), invocation.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {0, 1, 2})
    ::dup2(nowhere, stream);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

Cubin kernel(int number) {
  KernelSpec spec;
  spec.name = "kernel_" + std::to_string(number);
  FakeCubin description;
  description.filler = static_cast<std::uint8_t>(number);
  return make_cubin(spec, description);
}

// The tool's invocations to kill, and the entries that may be served.
class KilledTool {
 public:
  KilledTool() {
    for (int i = 0; i < 4; ++i) {
      FakeCubin description;
      description.kernels = {{"mine_" + std::to_string(i), 0}};
      const Bytes image = make_fake_cubin(description);
      const std::string name = "mine_" + std::to_string(i) + ".cubin";
      sandbox_.write(name, as_text(image));
      invocations_.push_back({{"registry", "add", sandbox_.path(name)}, {sha256(image)}});
    }
    for (int i = 0; i < 3; ++i) {
      const std::string file = sandbox_.path("b" + std::to_string(i) + ".bundle");
      Invocation import{{"bundle", "import", file}};
      std::vector<Cubin> cubins;
      for (int number = 10 * i; number < 10 * i + 4; ++number) {
        cubins.push_back(kernel(number));
        import.images.insert(cubins.back().record->digest);
      }
      REQUIRE(create_bundle(file, cubins, {"test", 1}));
      invocations_.push_back(std::move(import));
    }
    const PublishedFolder published = sound_folder(sandbox_ / "published");
    published.write();
    let_files_settle();
    invocations_.push_back({{"import-artifacts", published.path().string(), "--copy"}, {}, true});
    const std::string served = "file://" + sandbox_.path("served") + "#stable";
    REQUIRE(sandbox_.run({"push", sandbox_.path("b0.bundle"), served}).status == 0);
    fs::create_directory(sandbox_ / "pulled");
    invocations_.push_back({{"pull", served, "-o", pulled().string()}});
    invocations_.push_back({{"registry", "gc"}});
    invocations_.push_back({{"registry", "repair"}});
    for (Invocation& each : invocations_) {
      images_.insert(each.images.begin(), each.images.end());
      const auto begin = std::chrono::steady_clock::now();
      const int status = wait_for(start(sandbox_, each));
      CAPTURE(each.arguments[0]);
      REQUIRE(status == 0);
      each.time = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin);
    }
  }

  void begin_anew() {
    fs::remove_all(sandbox_.home());
    fs::remove(pulled());
    there_.clear();
    imported_ = false;
  }

  // Starts a random invocation and kills it at a random time. Returns whether it was killed before
  // its end.
  bool kill_once() {
    const Invocation& chosen = invocations_[random_() % invocations_.size()];
    const pid_t child = start(sandbox_, chosen);
    std::this_thread::sleep_for(
        microseconds(random_() % static_cast<std::uint64_t>(chosen.time.count() * 5 / 4)));
    ::kill(child, SIGKILL);
    const int status = wait_for(child);
    if (WIFSIGNALED(status)) return true;
    CAPTURE(chosen.arguments[0]);
    CHECK(WEXITSTATUS(status) == 0);
    there_.insert(chosen.images.begin(), chosen.images.end());
    imported_ = imported_ || chosen.imports;
    return false;
  }

  void check(bool tidy) {
    HomeOptions options;
    options.path = sandbox_.home();
    const auto home = Home::open(options);
    REQUIRE_MESSAGE(home.has_value(), home.error().to_line());
    const auto listed = (*home)->list();
    REQUIRE_MESSAGE(listed.has_value(), listed.error().to_line());
    std::set<Sha256Digest> served;
    for (const auto& record : *listed) {
      const auto loaded = (*home)->load(record);
      REQUIRE_MESSAGE(loaded.has_value(), loaded.error().to_line());
      REQUIRE(*loaded);
      CHECK(sha256(*(*loaded)->image) == record->digest);
      CHECK((record->origin == CubinOrigin::imported || images_.contains(record->digest)));
      served.insert(record->digest);
    }
    for (const Sha256Digest& digest : there_)
      CHECK_MESSAGE(served.contains(digest), digest.to_hex());
    const auto imports = (*home)->imports().list();
    REQUIRE(imports);
    CHECK(imports->size() <= 1);
    if (imported_) CHECK(imports->size() == 1);
    if (fs::exists(pulled())) {
      const auto bundle = Bundle::open(pulled().string());
      REQUIRE_MESSAGE(bundle.has_value(), bundle.error().to_line());
      CHECK((*bundle)->verify()->findings.empty());
    }
    CHECK((*home)->stats()->quarantined == 0);
    if (!tidy) return;
    CHECK((*home)->sweep());
    CHECK((*home)->verify()->findings.empty());
  }

 private:
  fs::path pulled() const { return sandbox_ / "pulled/a.bundle"; }

  Sandbox sandbox_;
  std::vector<Invocation> invocations_;
  std::set<Sha256Digest> images_;
  std::mt19937_64 random_{static_cast<std::uint64_t>(::getpid())};
  // The entries that the tool reported.
  std::set<Sha256Digest> there_;
  bool imported_ = false;
};

TEST_CASE("the tool that is killed at any time loses nothing that it said to have done") {
  KilledTool tool;
  const int wanted = wanted_kills();
  tool.begin_anew();
  for (int kills = 0; kills < wanted;) {
    CAPTURE(kills);
    if (tool.kill_once()) {
      ++kills;
      if (kills % kKillsOfAHome == 0) tool.begin_anew();
    }
    tool.check(kills % 10 == 9);
  }
  counted(static_cast<std::size_t>(wanted), "kills");
}

}  // namespace
}  // namespace cubinet::test
