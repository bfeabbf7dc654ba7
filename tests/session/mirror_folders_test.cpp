// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/mirror_folders.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

namespace {

struct FolderToMirror {
  MirrorFoldersOptions options() const {
    MirrorFoldersOptions options{(folder / "cubins").string()};
    options.destination = folder / "www";
    options.run = [](const auto&, std::size_t count, const auto& work) {
      for (std::size_t i = 0; i < count; ++i)
        work(i);
    };
    return options;
  }

  test::TempDir folder;
  test::PublishedFolder published = test::sound_folder(folder / "cubins/c0ffee/fmha");
};

}  // namespace

TEST_CASE_FIXTURE(FolderToMirror, "folders are copied once, and the result says what was there") {
  const MirrorFoldersResult first = ok(mirror_folders({}, options()));
  REQUIRE(first.folders.size() == 1);
  CHECK(first.sound());
  CHECK(first.folders.front().fetched == first.folders.front().listed);
  const MirrorFoldersResult again = ok(mirror_folders({}, options()));
  CHECK(again.folders.front().fetched == 0);
  CHECK(again.folders.front().there == again.folders.front().listed);
}

TEST_CASE_FIXTURE(FolderToMirror, "a device limits the targets, and contradicting targets are refused") {
  MirrorFoldersOptions chosen = options();
  chosen.device.emplace().device.capability = {10, 0};
  CHECK(ok(mirror_folders({}, chosen)).folders.front().fetched == 5);
  chosen.targets = {{9, 0, TargetKind::specific}};
  CHECK(mirror_folders({}, chosen).error().code == ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(FolderToMirror, "a file that is missing makes the mirror unsound") {
  std::filesystem::remove(published / (test::published_name("100f", 32) + ".cubin"));
  const MirrorFoldersResult result = ok(mirror_folders({}, options()));
  CHECK_FALSE(result.sound());
  CHECK(result.folders.front().missing.count == 1);
}

TEST_CASE_FIXTURE(FolderToMirror, "an interrupted mirror is a result with an error, also in JSON") {
  MirrorFoldersOptions interrupted = options();
  interrupted.cancelled = [] { return true; };
  const MirrorFoldersResult result = ok(mirror_folders({}, interrupted));
  CHECK(result.interrupted);
  REQUIRE(result.error());
  CHECK(nlohmann::json::parse(to_json(result))["error"]["code"] == "unavailable");
}

TEST_CASE("a server needs the digests of its lists, and only a folder is a destination") {
  MirrorFoldersOptions options{"https://host.invalid/a"};
  CHECK(mirror_folders({}, options).error().code == ErrorCode::invalid_argument);
  CHECK(ok(mirror_destination("/srv/cubins")) == "/srv/cubins");
  for (const char* other : {"https://host/a", "/srv/cubins#stable"})
    CHECK(mirror_destination(other).error().code == ErrorCode::invalid_argument);
}
