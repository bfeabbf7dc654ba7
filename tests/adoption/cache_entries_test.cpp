// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"

#include "recorded_cache.hpp"
#include "support/text.hpp"

#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

std::vector<std::string> entries_of(const CacheTool& tool, const fs::path& folder) {
  std::vector<std::string> entries;
  ok(visit_entries(tool, ok(CacheFolder::open(folder.string())),
                   [&](const CacheFolder&, const std::string&, const std::string& entry) -> Result<void> {
                     entries.push_back(entry);
                     return {};
                   }));
  return entries;
}

TEST_CASE("the entries of each tool are visited in the order of their names") {
  const TempDir temp;
  test::write_deepjit_cache(temp.path());
  CHECK(entries_of(kTritonCache, test::recorded("triton-3.9.0")) ==
        std::vector<std::string>{std::string(test::kTritonAmpere), std::string(test::kTritonHopper)});
  CHECK(entries_of(kDeepJitCache, temp.path()) == std::vector<std::string>{std::string(test::kDeepJit)});
  CHECK(entries_of(kCudaCoreCache, test::recorded("cuda.core-1.2.2")) ==
        std::vector<std::string>{std::string(test::kCudaCoreHopper)});
  CHECK(entries_of(kTritonCache, temp.path()).empty());
}

TEST_CASE("temporary files and locks are no files of an entry") {
  const TempDir temp;
  for (const char* name : {"a.so", "lock", "tmp.pid_1_x"})
    test::write_file(temp / "entry" / name, name);
  const auto files = ok(read_entry(kTritonCache, ok(CacheFolder::open(temp.path().string())), "entry"));
  REQUIRE(files.size() == 1);
  CHECK(files.front().name == "a.so");
}

TEST_CASE("an image needs one version, from its files or its caller") {
  const std::vector<CacheFile> files = {test::cache_file("a.so", "ELF")};
  EntryFacts facts;
  facts.target = known_targets().front();
  facts.host_code = true;
  CHECK_FALSE(image_of_entry(kTritonCache, "entry", files, facts, ""));
  const Cubin image = ok(image_of_entry(kTritonCache, "entry", files, facts, "3.6.0"));
  CHECK(image.record->kind == ImageKind::cache_entry);
  const auto spec = ok(entry_of(*image.record, "triton"));
  REQUIRE(spec);
  CHECK(parameter_text(*spec, "version") == "3.6.0");
  CHECK(parameter_text(*spec, "kernel").empty());
  CHECK_FALSE(ok(entry_of(*image.record, "deepjit")));
  facts.version = "3.9.0";
  CHECK(
      test::contains(image_of_entry(kTritonCache, "entry", files, facts, "3.6.0").error().message, "3.9.0"));
}

TEST_CASE("an entry is kept once, and other bytes of it replace the earlier ones") {
  const TempDir temp;
  const auto home = test::open_home(temp);
  EntryFacts facts;
  facts.target = known_targets().front();
  facts.host_code = true;
  const auto image = [&](const char* content) {
    return ok(image_of_entry(kTritonCache, std::string(test::kTritonHopper),
                             {test::cache_file("a.so", content)}, facts, "3.6.0"));
  };
  CHECK(ok(keep_entry(*home, image("one"))));
  CHECK_FALSE(ok(keep_entry(*home, image("one"))));
  CHECK(ok(keep_entry(*home, image("two"))));
  const auto kept = ok(home->list());
  REQUIRE(kept.size() == 1);
  CHECK(kept.front()->digest == image("two").record->digest);
  CHECK(ok(versions_in(*home, "triton")) == std::set<std::string>{"3.6.0"});
  CHECK(ok(versions_in(*home, "deepjit")).empty());
}

TEST_CASE("of other bytes that several keep at once one is left" * doctest::test_suite("loop")) {
  for (int round = 0; round < 20; ++round) {
    const TempDir temp;
    EntryFacts facts;
    facts.target = known_targets().front();
    facts.host_code = true;
    std::vector<std::thread> threads;
    for (const char* content : {"one", "two", "three"}) {
      threads.emplace_back([&, content, home = test::open_home(temp)] {
        const auto image = image_of_entry(kTritonCache, std::string(test::kTritonHopper),
                                          {test::cache_file("a.so", content)}, facts, "3.6.0");
        CHECK(keep_entry(*home, *image));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(ok(test::open_home(temp)->list()).size() == 1);
  }
}

}  // namespace
}  // namespace cubinet
