// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/sources/source_catalogs.hpp>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;

struct Saved {
  Saved() { ok(catalogs.save(manifest, contents)); }

  std::size_t stored_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(home / "sources/files"))
      count += entry.is_regular_file() ? 1U : 0U;
    return count;
  }
  fs::path stored(const std::string& path) const {
    return home / "sources/files" / manifest.find(path)->digest.to_hex();
  }

  test::TempDir home;
  SourceCatalogs catalogs{home.path()};
  std::map<std::string, Bytes> contents;
  SourceManifest manifest = test::own_catalog(contents);
};

TEST_CASE("A home without catalogs has none") {
  const test::TempDir home;
  CHECK(ok(SourceCatalogs(home.path()).list()).empty());
  CHECK(ok(SourceCatalogs({}).list()).empty());
}

TEST_CASE("A catalog and its files are kept") {
  const Saved saved;
  const auto listed = ok(saved.catalogs.list());
  REQUIRE(listed.size() == 1);
  CHECK(to_json(listed.front()) == to_json(saved.manifest));
  CHECK(ok(saved.catalogs.read(saved.manifest.files.front())) == saved.contents.at("csrc/twice.h"));
  CHECK(saved.stored_files() == 2);
}

TEST_CASE("A later catalog of the same name replaces the earlier, whose files are removed") {
  Saved saved;
  saved.contents["csrc/twice.h"].push_back(std::byte{'\n'});
  saved.manifest.files.front().digest = sha256(saved.contents.at("csrc/twice.h"));
  ok(saved.catalogs.save(saved.manifest, saved.contents));
  CHECK(ok(saved.catalogs.list()).size() == 1);
  CHECK(saved.stored_files() == 2);
  CHECK(ok(saved.catalogs.read(saved.manifest.files.front())) == saved.contents.at("csrc/twice.h"));
}

TEST_CASE("Files that another catalog lists stay when one is removed") {
  Saved saved;
  SourceManifest second = saved.manifest;
  second.name = "second";
  second.kernels.front().name = "other";
  second.licences.clear();
  ok(saved.catalogs.save(second, saved.contents));
  ok(saved.catalogs.remove("own"));
  CHECK(saved.stored_files() == 1);
  CHECK(saved.catalogs.read(second.files.front()).has_value());
  const auto again = saved.catalogs.remove("own");
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code == ErrorCode::not_found);
  CHECK(again.error().remedy == "it has second");
}

TEST_CASE("A change waits for another process, and gives up after the stated time") {
  const Saved saved;
  auto lock = ok(posix_file_system()->lock(saved.home / "sources/lock"));
  REQUIRE(lock != nullptr);
  const SourceCatalogs hasty(saved.home.path(), nullptr, std::chrono::milliseconds(10));
  CHECK(hasty.save(saved.manifest, saved.contents).error().code == ErrorCode::busy);
  CHECK(hasty.remove("own").error().code == ErrorCode::busy);
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    lock.reset();
  });
  CHECK(saved.catalogs.save(saved.manifest, saved.contents).has_value());
  holder.join();
}

TEST_CASE("A catalog with a kernel of another one is not saved") {
  Saved saved;
  saved.manifest.name = "second";
  const auto second = saved.catalogs.save(saved.manifest, saved.contents);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == ErrorCode::invalid_argument);
  CHECK(second.error().message == "its kernel 'twice_kernel' is also in the catalog 'own'");
  CHECK(ok(saved.catalogs.list()).size() == 1);
}

TEST_CASE("A damaged file is not read, and saving the catalog again repairs it") {
  const Saved saved;
  test::write_file(saved.stored("csrc/twice.h"), "other text");
  CHECK(saved.catalogs.read(saved.manifest.files.front()).error().code == ErrorCode::corruption);
  ok(saved.catalogs.save(saved.manifest, saved.contents));
  CHECK(saved.catalogs.read(saved.manifest.files.front()).has_value());
}

TEST_CASE("A catalog or file that others can write is not used") {
  const Saved saved;
  REQUIRE(::chmod(saved.stored("csrc/twice.h").c_str(), 0666) == 0);
  CHECK(saved.catalogs.read(saved.manifest.files.front()).error().code == ErrorCode::untrusted);
  REQUIRE(::chmod((saved.home / "sources/own.json").c_str(), 0666) == 0);
  std::vector<std::string> log;
  CHECK(ok(saved.catalogs.list([&](const LogRecord& record) { log.emplace_back(record.message); })).empty());
  REQUIRE(log.size() == 1);
  CHECK(log.front().find("a catalog of sources is skipped") == 0);
}

TEST_CASE("A damaged catalog is skipped, and the files of the others stay") {
  Saved saved;
  test::write_file(saved.home / "sources/broken.json", "{");
  CHECK(ok(saved.catalogs.list()).size() == 1);
  ok(saved.catalogs.remove("own"));
  // Which files the broken one lists is not known.
  CHECK(saved.stored_files() == 2);
}

}  // namespace
}  // namespace cubinet
