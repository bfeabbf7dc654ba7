// SPDX-License-Identifier: Apache-2.0
#include "cache_writer.hpp"

#include "recorded_cache.hpp"
#include "support/file_size_limit.hpp"

#include <algorithm>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;
using Outcome = CacheWriter::Outcome;

const std::string kFirst(test::kTritonHopper);
const std::string kSecond(test::kTritonAmpere);

std::vector<CacheFile> some_files(std::string_view content = "ELF") {
  return {test::cache_file("x.so", content)};
}

CacheWriter open_writer(const TempDir& temp, const CacheTool& tool = kTritonCache) {
  return ok(CacheWriter::open(tool, (temp / "cache").string()));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("staged entries appear together under their names, and the stage goes") {
  const TempDir temp;
  CacheWriter writer = open_writer(temp);
  ok(writer.stage(kFirst, some_files()));
  ok(writer.stage(kSecond, some_files()));
  CHECK(writer.staged() == 2);
  for (const std::string& name : names_in(temp / "cache"))
    CHECK(name.starts_with(".cubinet."));
  for (const auto& each : writer.publish())
    CHECK(ok(each.outcome) == Outcome::written);
  CHECK(names_in(temp / "cache") == std::vector<std::string>{kSecond, kFirst});
  CHECK(writer.has(kFirst, some_files()));
  CHECK_FALSE(writer.has(kFirst, some_files("other")));
  CHECK(writer.staged() == 0);
  CHECK(writer.publish().empty());
}

TEST_CASE("an entry that another writer has put meanwhile is present, and other content takes its name") {
  for (const CacheTool* tool : {&kTritonCache, &kCudaCoreCache}) {
    const TempDir temp;
    const bool is_file = tool->shape == CacheTool::Shape::file;
    const std::string entry = is_file ? std::string(test::kCudaCoreHopper) : kFirst;
    CacheWriter writer = open_writer(temp, *tool);
    CacheWriter same = open_writer(temp, *tool);
    CacheWriter different = open_writer(temp, *tool);
    ok(writer.stage(entry, some_files()));
    ok(same.stage(entry, some_files()));
    ok(different.stage(entry, some_files("other")));
    CHECK(ok(writer.publish().at(0).outcome) == Outcome::written);
    CHECK(ok(same.publish().at(0).outcome) == Outcome::present);
    CHECK(ok(different.publish().at(0).outcome) == Outcome::taken);
    CHECK(writer.has(entry, some_files()));
  }
}

TEST_CASE("an entry that cannot be written leaves nothing, and the others are published") {
  const TempDir temp;
  CacheWriter writer = open_writer(temp);
  ok(writer.stage(kFirst, some_files()));
  {
    const test::FileSizeLimit limit(8);
    CHECK(writer.stage(kSecond, some_files("more than eight bytes")).error().code == ErrorCode::io);
  }
  REQUIRE(writer.publish().size() == 1);
  CHECK(names_in(temp / "cache") == std::vector<std::string>{kFirst});
}

TEST_CASE("a writer that ends before it publishes leaves nothing") {
  const TempDir temp;
  ok(open_writer(temp).stage(kFirst, some_files()));
  CHECK(fs::is_empty(temp / "cache"));
}

}  // namespace
}  // namespace cubinet
