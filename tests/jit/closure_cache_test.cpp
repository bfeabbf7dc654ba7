// SPDX-License-Identifier: Apache-2.0
#include "closure_cache.hpp"

#include "jit/test_templates.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// A file system whose times stand still, so that no edit to the same size shows, and a clock that
// is set.
struct CoarseFiles {
  test::TempDir folder;
  HeaderSearch search = {{folder.path()}, {}};
  std::shared_ptr<const KernelTemplate> source =
      test::parse_template(test::scale_source("#include <tile.h>\n"));
  std::int64_t edited_ns = 1'700'000'000'123'456'789;
  std::int64_t now_ns = edited_ns;
  ClosureCache cache{FileProbe{[this](const fs::path& path) {
                                 FileStamp stamp = FileStamp::take(path);
                                 stamp.inode = 1;
                                 stamp.modified_ns = edited_ns;
                                 stamp.changed_ns = edited_ns;
                                 return stamp;
                               },
                               [this] { return now_ns; }}};

  void edit(const char* text) const { std::ofstream(folder / "tile.h", std::ios::trunc) << text; }
  std::shared_ptr<const IncludeClosure> closure() {
    const auto made = cache.get(source, search);
    REQUIRE(made);
    return *made;
  }
};

}  // namespace

TEST_CASE("an edit that no file time shows is seen right after another edit") {
  CoarseFiles files;
  files.edit("#define TILE 16\n");
  files.now_ns += 4 * kMillisecond;
  const auto before = files.closure();
  CHECK_FALSE(before->settled);
  files.edit("#define TILE 32\n");
  const auto after = files.closure();
  CHECK(after->digest != before->digest);
  files.edit("#define TILE 16\n");
  CHECK(files.closure()->digest == before->digest);
}

TEST_CASE("a closure over quiet files is kept, and read again when a stamp differs") {
  CoarseFiles files;
  files.edit("#define TILE 16\n");
  files.now_ns += 60 * kMillisecond;
  const auto kept = files.closure();
  CHECK(kept->settled);
  CHECK(files.closure() == kept);
  files.edit("#define TILE 128\n");
  CHECK(files.closure()->digest != kept->digest);
}

TEST_CASE("templates and include directories have closures of their own") {
  CoarseFiles files;
  files.edit("#define TILE 16\n");
  files.now_ns += 60 * kMillisecond;
  const auto kept = files.closure();
  files.source = test::parse_template(test::scale_source("#include <tile.h>\n// another\n"));
  CHECK(files.closure()->digest != kept->digest);
  files.search = {};
  CHECK(files.closure()->stamps.empty());
}

TEST_CASE("what was read for a look up is what is compiled after it, and no longer kept then") {
  CoarseFiles files;
  files.edit("#define TILE 16\n");
  files.now_ns += 60 * kMillisecond;
  const auto looked_up = files.closure();
  CHECK(looked_up->headers.empty());
  files.edit("#define TILE 32\n");  // to the same size: no stamp shows it, so the text that was read counts
  const auto taken = files.cache.take(files.source, files.search);
  REQUIRE(taken);
  CHECK((*taken)->digest == looked_up->digest);
  REQUIRE((*taken)->headers.size() > 0);
  const auto again = files.cache.take(files.source, files.search);
  REQUIRE(again);
  CHECK((*again)->digest != looked_up->digest);
}

TEST_CASE("what was edited between look up and compilation is read again") {
  CoarseFiles files;
  files.edit("#define TILE 16\n");
  files.now_ns += 60 * kMillisecond;
  const auto looked_up = files.closure();
  files.edit("#define TILE 128\n");
  const auto taken = files.cache.take(files.source, files.search);
  REQUIRE(taken);
  CHECK((*taken)->digest != looked_up->digest);
}

TEST_CASE("of the texts that wait for a compilation only the newest are kept") {
  CoarseFiles files;
  const std::string large = "//" + std::string(20 << 20, ' ');  // a comment is gone through fastest
  files.edit((large + "\n#define TILE 16\n").c_str());
  files.now_ns += 60 * kMillisecond;
  const auto first = files.source;
  const auto looked_up = files.closure();
  files.source = test::parse_template(test::scale_source("#include <tile.h>\n// another\n"));
  static_cast<void>(files.closure());
  files.edit((large + "\n#define TILE 32\n").c_str());
  const auto of_first = files.cache.take(first, files.search);
  REQUIRE(of_first);
  CHECK((*of_first)->digest != looked_up->digest);
}
