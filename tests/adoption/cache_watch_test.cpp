// SPDX-License-Identifier: Apache-2.0
#include "cache_entries.hpp"
#include "recorded_cache.hpp"
#include "support/text.hpp"

#include <cubinet/adoption/cache_watch.hpp>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using test::ok;
using test::TempDir;

constexpr seconds kNoRest{0};
constexpr seconds kLongRest{3600};
// A helper of Triton's, which states no version.
constexpr const char* kHelper = "AOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";

// A home, and a watched cache of Triton.
struct Watched {
  TempDir temp;
  std::shared_ptr<Home> home = test::open_home(temp);
  ToolCache cache{"triton", (temp / "cache").string()};
  CacheWatch watch{{cache}};

  void add(std::string_view entry) const {
    fs::create_directories(cache.folder);
    fs::copy(test::recorded("triton-3.9.0") / entry, temp / "cache" / entry, fs::copy_options::recursive);
  }
  void add_helper() const { test::write_file(temp / "cache" / kHelper / "cuda_utils.so", "ELF"); }
  std::uint64_t adopt(seconds rest = kNoRest) {
    const WatchReport report = watch.adopt(*home, rest);
    CHECK(report.errors.empty());
    const auto found = report.adopted.find(cache.tool);
    return found == report.adopted.end() ? 0 : found->second;
  }
};

TEST_CASE("a cache is a known tool and its folder") {
  CHECK(ok(ToolCache::parse("cuda.core=/a=b")) == ToolCache{"cuda.core", "/a=b"});
  for (const char* text : {"", "triton", "triton=", "=/a", "tritn=/a"})
    CHECK(ToolCache::parse(text).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("new entries are adopted once, in a cache that does not exist at first") {
  Watched watched;
  CHECK(watched.adopt() == 0);
  watched.add(test::kTritonHopper);
  CHECK(watched.adopt() == 1);
  CHECK(watched.adopt() == 0);
  watched.add(test::kTritonAmpere);
  CHECK(watched.adopt() == 1);
  CHECK(ok(watched.home->list()).size() == 2);
}

TEST_CASE("an entry that has changed lately is left for a later call") {
  Watched watched;
  watched.add(test::kTritonHopper);
  CHECK(watched.adopt(kLongRest) == 0);
  CHECK(watched.adopt(kNoRest) == 1);
}

TEST_CASE("an unfinished entry is left out, named once, and adopted when it is finished") {
  Watched watched;
  watched.add(test::kTritonHopper);
  const fs::path group = watched.temp / "cache" / test::kTritonHopper / "__grp__scale.json";
  fs::rename(group, watched.temp / "group");
  CHECK(watched.watch.adopt(*watched.home, kNoRest).left_out.size() == 1);
  CHECK(watched.watch.adopt(*watched.home, kNoRest).left_out.empty());
  fs::rename(watched.temp / "group", group);
  CHECK(watched.adopt() == 1);
}

TEST_CASE("entries that are left out are adopted when they change") {
  Watched watched;
  watched.add(test::kTritonHopper);
  watched.watch.leave_out(watched.cache, {std::string(test::kTritonHopper)});
  CHECK(watched.adopt() == 0);
  fs::remove_all(watched.temp / "cache" / test::kTritonHopper);
  watched.add(test::kTritonHopper);
  CHECK(watched.adopt() == 1);
}

TEST_CASE("the version of an entry that states none is that of the entries beside it") {
  Watched watched;
  watched.add_helper();
  watched.add(test::kTritonHopper);
  CHECK(watched.adopt() == 2);
  CHECK(ok(versions_in(*watched.home, "triton")) == std::set<std::string>{"3.9.0"});
}

TEST_CASE("without entries beside it the version is that of the store, and otherwise unstated") {
  Watched first;
  first.add_helper();
  CHECK(first.adopt() == 1);
  CHECK(ok(versions_in(*first.home, "triton")) == std::set<std::string>{kUnstatedVersion});
  Watched second;
  ok(adopt_cache(*second.home, test::recorded("triton-3.9.0").string(), ""));
  second.add_helper();
  CHECK(second.adopt() == 1);
  CHECK(ok(versions_in(*second.home, "triton")) == std::set<std::string>{"3.9.0"});
}

TEST_CASE("a store that takes nothing is an error, and the entry is tried again") {
  Watched watched;
  watched.add(test::kTritonHopper);
  HomeOptions options;
  options.path = (watched.temp / "home").string();
  options.access = HomeOptions::Access::read_only;
  const auto read_only = ok(Home::open(options));
  CHECK(watched.watch.adopt(*read_only, kNoRest).errors.size() == 1);
  CHECK(watched.adopt() == 1);
}

TEST_CASE("a folder that cannot be read is an error, and other folders are adopted") {
  Watched watched;
  test::write_file(watched.temp / "file", "");
  watched.watch = CacheWatch({{"triton", (watched.temp / "file").string()}, watched.cache});
  watched.add(test::kTritonHopper);
  const WatchReport report = watched.watch.adopt(*watched.home, kNoRest);
  CHECK(report.errors.size() == 1);
  CHECK(report.adopted.at("triton") == 1);
}

TEST_CASE("entries of DeepJIT and cuda core are adopted without a version") {
  Watched watched;
  test::write_deepjit_cache(watched.temp / "dj");
  watched.watch = CacheWatch({{"deepjit", (watched.temp / "dj").string()},
                              {"cuda.core", test::recorded("cuda.core-1.2.2").string()}});
  const WatchReport report = watched.watch.adopt(*watched.home, kNoRest);
  CHECK(report.adopted.at("deepjit") == 1);
  CHECK(report.adopted.at("cuda.core") == 1);
  CHECK(ok(versions_in(*watched.home, "deepjit")) == std::set<std::string>{kUnstatedVersion});
}

}  // namespace
}  // namespace cubinet
