// SPDX-License-Identifier: Apache-2.0
#include "range.hpp"

#include "device_fixture.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct Ranges {
  std::vector<std::string> lines;
  int depth = 0;

  RangeHook hook() {
    return {.begin =
                [this](const char* name) {
                  lines.push_back(std::string(static_cast<std::size_t>(2 * depth), ' ') + name);
                  ++depth;
                },
            .end = [this] { --depth; }};
  }
};

}  // namespace

TEST_CASE("a range needs both callbacks") {
  int begun = 0;
  {
    const RangeHook half{.begin = [&](const char*) { ++begun; }};
    const Range range(half, "find", scale_spec());
  }
  CHECK(begun == 0);
}

TEST_CASE("the ranges of a request are nested phases, and a hit has none") {
  const Stub stub;
  if (stub.missing()) return;
  const TempDir folder;
  Ranges ranges;
  RuntimeOptions options = device_options(folder / "home");
  options.ranges = ranges.hook();
  const auto runtime = make_runtime(std::move(options));
  REQUIRE(runtime->function(scale_spec(), 0));
  const std::string kernel = " scale(factor=3, unroll=1)";
  CHECK(ranges.lines == std::vector<std::string>{"cubinet request" + kernel, "  cubinet find" + kernel,
                                                 "  cubinet compile" + kernel, "  cubinet load" + kernel});
  CHECK(ranges.depth == 0);
  REQUIRE(runtime->function(scale_spec(), 0));
  CHECK(ranges.lines.size() == 4);
}

TEST_CASE("durations are counted by phase, and an explained compilation says what the stores had") {
  const Stub stub;
  if (stub.missing()) return;
  const TempDir folder;
  Journal journal;
  RuntimeOptions options = device_options(folder / "home", &journal);
  options.explains_compilations = true;
  const auto runtime = make_runtime(std::move(options));
  REQUIRE(runtime->function(scale_spec(4), 0));
  REQUIRE(runtime->function(scale_spec(), 0));
  REQUIRE(runtime->function(scale_spec(), 0));
  REQUIRE(runtime->cubin(scale_spec(5), {9, 0, TargetKind::specific}));
  const auto counters = runtime->counters();
  CHECK(counters.request_seconds.count() == 3);
  CHECK(counters.find_seconds.count() == 3);
  CHECK(counters.compile_seconds.count() == 3);
  CHECK(counters.load_seconds.count() == 2);
  CHECK(counters.trims == 0);
  REQUIRE(journal.events.size() == 3);
  REQUIRE(journal.events[1].explanation != nullptr);
  const KernelExplanation& why = *journal.events[1].explanation;
  CHECK(why.choice() == nullptr);
  CHECK(why.would_compile == journal.events[1].target);
  REQUIRE(why.nearest.size() == 1);
  CHECK(why.nearest[0].differences == std::vector<std::string>{"factor 4 instead of 3"});
  CHECK(journal.events[2].explanation == nullptr);  // not for a device
  REQUIRE(runtime->trim(UINT64_MAX));
  CHECK(runtime->counters().trims == 1);
  CHECK(runtime->counters().trimmed_modules == 2);
}

TEST_CASE("an explained compilation names the build that is damaged and the one that is stale") {
  const Stub stub;
  if (stub.missing()) return;
  const TempDir folder;
  {
    const auto runtime = make_runtime(device_options(folder / "home"));
    REQUIRE(runtime->function(scale_spec(), 0));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "home" / "cubins"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 16);
  Journal journal;
  RuntimeOptions options = device_options(folder / "home", &journal);
  options.explains_compilations = true;
  REQUIRE(make_runtime(std::move(options))->function(scale_spec(), 0));
  REQUIRE(journal.events.back().explanation != nullptr);
  REQUIRE(journal.events.back().explanation->builds.size() == 1);
  CHECK(journal.events.back().explanation->builds[0].verdict == "its image is missing or damaged");
  CHECK(journal.events.back().explanation->builds[0].store == 1);

  Journal other;
  RuntimeOptions edited = device_options(folder / "home", &other);
  edited.templates = scale_catalog(std::string(kScaleTemplate) + "// edited\n");
  edited.explains_compilations = true;
  REQUIRE(make_runtime(std::move(edited))->function(scale_spec(), 0));
  REQUIRE(other.events.back().explanation != nullptr);
  REQUIRE(other.events.back().explanation->builds.size() == 1);
  CHECK(other.events.back().explanation->builds[0].status == BuildStatus::stale);
}
