// SPDX-License-Identifier: Apache-2.0
#include "cache_stage.hpp"

#include "recorded_cache.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

CacheFolder open_cache(const TempDir& temp) {
  return ok(CacheFolder::open(temp.path().string()));
}

void set_age(const fs::path& folder, std::chrono::minutes age) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - age);
}

constexpr std::chrono::minutes kOverAnHour(61);

// Makes a stage with one file in a process that is then killed. Returns its name.
std::string stage_of_killed_writer(const TempDir& temp) {
  const pid_t child = ::fork();
  if (child == 0) {
    const CacheStage stage = ok(make_cache_stage(open_cache(temp)));
    ok(stage.folder.write("f", as_bytes("x")));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  const auto names = ok(open_cache(temp).list());
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return fs::exists(temp / name / "f"); });
  REQUIRE(found != names.end());
  return *found;
}

TEST_CASE("the stage of a writer that was killed is removed at once") {
  const TempDir temp;
  const std::string name = stage_of_killed_writer(temp);
  remove_abandoned_stages(open_cache(temp));
  CHECK_FALSE(fs::exists(temp / name));
}

TEST_CASE("the stage of a writer that runs is never removed, however old it is") {
  const TempDir temp;
  const CacheFolder cache = open_cache(temp);
  auto stage = std::make_optional(ok(make_cache_stage(cache)));
  set_age(temp / stage->name, kOverAnHour);
  remove_abandoned_stages(cache);
  CHECK(fs::exists(temp / stage->name));
  const std::string name = stage->name;
  stage.reset();
  remove_abandoned_stages(cache);
  CHECK_FALSE(fs::exists(temp / name));
}

TEST_CASE("a stage whose lock this machine cannot judge is removed after an hour") {
  const TempDir temp;
  const CacheFolder cache = open_cache(temp);
  for (const char* name : {".cubinet.7.tmp", ".cubinet.01234567-89ab-cdef-0123-456789abcdef.7.tmp"}) {
    test::write_file(temp / name / "f", "x");
    set_age(temp / name, std::chrono::minutes(59));
    remove_abandoned_stages(cache);
    CHECK(fs::exists(temp / name));
    set_age(temp / name, kOverAnHour);
    remove_abandoned_stages(cache);
    CHECK_FALSE(fs::exists(temp / name));
  }
}

TEST_CASE("other names of a cache are not removed, and links are not followed") {
  const TempDir temp;
  const TempDir outside;
  test::write_file(temp / "mine" / "f", "x");
  test::write_file(temp / ".cubinet.file", "x");
  test::write_file(outside / "f", "x");
  fs::create_directory_symlink(outside.path(), temp / ".cubinet.link");
  for (const fs::path& path : {temp / "mine", outside.path()})
    set_age(path, kOverAnHour);
  remove_abandoned_stages(open_cache(temp));
  for (const fs::path& path : {temp / "mine" / "f", temp / ".cubinet.file", outside / "f"})
    CHECK(fs::exists(path));
}

TEST_CASE("stages are whole while other writers remove abandoned ones") {
  const TempDir temp;
  std::atomic<bool> done{false};
  std::thread cleaner([&] {
    const CacheFolder cache = open_cache(temp);
    while (!done)
      remove_abandoned_stages(cache);
  });
  const CacheFolder cache = open_cache(temp);
  for (int i = 0; i < 500; ++i) {
    const CacheStage stage = ok(make_cache_stage(cache));
    ok(stage.folder.write("f", as_bytes("x")));
    CHECK(fs::exists(temp / stage.name / "f"));
  }
  done = true;
  cleaner.join();
  remove_abandoned_stages(cache);
  CHECK(fs::is_empty(temp.path()));
}

}  // namespace
}  // namespace cubinet
