// SPDX-License-Identifier: Apache-2.0
#include "local/record_cache.hpp"

#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <chrono>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct CountingFiles : ForwardingFiles {
  unsigned reads = 0;
  unsigned lists = 0;
  unsigned statuses = 0;

  CountingFiles() { keeps_open = true; }
  Result<std::optional<FileStatus>> status(const fs::path& path) override {
    ++statuses;
    return ForwardingFiles::status(path);
  }

  Result<OwnFile> read_own(const fs::path& path, std::uint64_t limit) override {
    ++reads;
    return ForwardingFiles::read_own(path, limit);
  }
  Result<Listing> list(const fs::path& path) override {
    ++lists;
    return ForwardingFiles::list(path);
  }
};

struct CacheFixture {
  HomeFixture home;
  std::shared_ptr<Home> registry = home.open();
  std::shared_ptr<CountingFiles> files = std::make_shared<CountingFiles>();
  FileStore store{files, HomeLayout(home.home), home.log.sink()};
  RecordCache cache{store};

  std::size_t found(const Cubin& cubin) {
    const auto records = cache.of_kernel(cubin.record->identity.kernel());
    REQUIRE_MESSAGE(records.has_value(), why_not(records));
    return records->size();
  }
  fs::path folder_of(const Cubin& cubin) {
    return store.home().record_folder(HomeLayout::record_folder_of(cubin.record->identity.kernel_hash()));
  }
  // As if nothing had happened for a while.
  void settle(const Cubin& cubin) {
    fs::last_write_time(folder_of(cubin), fs::file_time_type::clock::now() - std::chrono::seconds(60));
  }
};

TEST_CASE("a record is read once, and its folder is listed again only after a change") {
  CacheFixture fixture;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*fixture.registry, cubin));
  fixture.settle(cubin);
  CHECK(fixture.found(cubin) == 1);
  CHECK(fixture.files->reads == 1);
  const unsigned lists = fixture.files->lists;
  for (int i = 0; i < 10; ++i)
    CHECK(fixture.found(cubin) == 1);
  CHECK(fixture.files->reads == 1);
  CHECK(fixture.files->lists == lists);
  REQUIRE(publishes(*fixture.registry, cubin_of(1, "another")));
  CHECK(fixture.found(cubin) == 2);
  CHECK(fixture.files->reads == 2);
}

TEST_CASE("a folder kept open answers a hit alone, and one that was replaced is found by its path") {
  CacheFixture fixture;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*fixture.registry, cubin));
  fixture.settle(cubin);
  CHECK(fixture.found(cubin) == 1);
  const unsigned statuses = fixture.files->statuses;
  CHECK(fixture.found(cubin) == 1);
  CHECK(fixture.files->statuses == statuses);
  const fs::path folder = fixture.folder_of(cubin);
  const fs::path elsewhere = folder.native() + ".moved";
  fs::rename(folder, elsewhere);
  fs::create_directory(folder);
  const Cubin other = cubin_of(1, "another");
  REQUIRE(publishes(*fixture.registry, other));
  fs::remove_all(elsewhere);
  CHECK(fixture.found(cubin) == 1);
  const auto records = fixture.cache.of_kernel(cubin.record->identity.kernel());
  CHECK(*records->front().record == *other.record);
  fs::rename(folder, elsewhere);
  fs::create_directory(folder);
  fixture.settle(cubin);
  fs::remove(elsewhere / (entry_name(*other.record) + ".record"));
  REQUIRE(publishes(*fixture.registry, cubin));
  CHECK(fixture.found(cubin) == 1);
}

TEST_CASE(
    "the first look up reads all records of a small home, and of a large one those that are asked for") {
  for (const int count : {5, 70}) {
    CacheFixture fixture;
    for (int i = 0; i < count; ++i)
      REQUIRE(publishes(*fixture.registry, cubin_of(i)));
    CHECK(fixture.found(cubin_of(1)) == 1);
    CHECK(fixture.files->reads == (count == 5 ? 5 : 1));
    CHECK(fixture.found(cubin_of(2)) == 1);
    CHECK(fixture.files->reads == (count == 5 ? 5 : 2));
  }
}

TEST_CASE("a folder that changed a moment ago is listed again, since its clock may not have ticked") {
  CacheFixture fixture;
  const Cubin cubin = cubin_of(1);
  REQUIRE(publishes(*fixture.registry, cubin));
  CHECK(fixture.found(cubin) == 1);
  const auto time = fs::last_write_time(fixture.folder_of(cubin));
  REQUIRE(publishes(*fixture.registry, cubin_of(1, "another")));
  fs::last_write_time(fixture.folder_of(cubin), time);
  CHECK(fixture.found(cubin) == 2);
  REQUIRE(fixture.registry->remove({cubin.record}));
  fs::last_write_time(fixture.folder_of(cubin), time);
  CHECK(fixture.found(cubin) == 1);
  fs::remove_all(fixture.folder_of(cubin));
  CHECK(fixture.found(cubin) == 0);
}

TEST_CASE("a row of the index stands for its file, and one without a file for nothing") {
  CacheFixture fixture;
  RecordCache::Rows rows;
  for (int i = 0; i < 40; ++i) {
    REQUIRE(publishes(*fixture.registry, cubin_of(i)));
    const StoredRecord row{cubin_of(i).record, 7, entry_name(*cubin_of(i).record)};
    if (i != 3) rows.emplace(row.name, row);
  }
  const StoredRecord absent{cubin_of(99).record, 7, entry_name(*cubin_of(99).record)};
  rows.emplace(absent.name, absent);
  const auto all = fixture.cache.all([&] { return rows; });
  REQUIRE(all);
  CHECK(all->records.size() == 40);
  REQUIRE(all->from_files.size() == 1);
  CHECK(*all->from_files[0].record == *cubin_of(3).record);
  CHECK(all->gone == std::vector<std::string>{absent.name});
  CHECK(fixture.files->reads == 1);
  // Everything is known now: the index is not asked.
  const auto again = fixture.cache.all([]() -> RecordCache::Rows { throw 1; });
  CHECK(again->records.size() == 40);
  CHECK(again->gone.empty());
}

TEST_CASE("a record that is skipped is listed with its file, the reason and the remedy") {
  CacheFixture fixture;
  REQUIRE(publishes(*fixture.registry, cubin_of(1)));
  const fs::path file = fixture.home.only_file("records");
  REQUIRE(publishes(*fixture.registry, cubin_of(1, "another")));
  const KernelId kernel = cubin_of(1).record->identity.kernel();
  CHECK(fixture.registry->unreadable(kernel).empty());
  const auto size = fs::file_size(file);
  for (const std::size_t left : {std::size_t{0}, std::size_t{20}, static_cast<std::size_t>(size) - 1}) {
    fs::resize_file(file, left);
    const auto registry = fixture.home.open();
    CHECK(ok(registry->find(kernel)).size() == 1);
    const std::vector<Error> errors = registry->unreadable(kernel);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].code == ErrorCode::corruption);
    CHECK(errors[0].message.starts_with("'" + file.string() + "' is damaged: "));
    CHECK(errors[0].remedy == "call `Home::repair()`, which sets it aside");
  }
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  const std::vector<Error> untrusted = fixture.home.open()->unreadable(kernel);
  REQUIRE(untrusted.size() == 1);
  CHECK(untrusted[0].to_line() == "'" + file.string() +
                                      "' can be written by others (call `Home::repair()`, "
                                      "which sets it aside)");
  REQUIRE(fixture.registry->repair());
  CHECK_FALSE(fs::exists(file));
  CHECK(fixture.home.open()->unreadable(kernel).empty());
}

TEST_CASE("a file that cannot be read fails the answer, and one that is damaged is passed over") {
  CacheFixture fixture;
  REQUIRE(publishes(*fixture.registry, cubin_of(1)));
  const fs::path file = fixture.home.only_file("records");
  REQUIRE(publishes(*fixture.registry, cubin_of(1, "another")));
  fs::resize_file(file, 20);
  CHECK(fixture.found(cubin_of(1)) == 1);
  CHECK(fixture.home.log.count("record skipped") == 1);
  CHECK(fixture.cache.all([] { return RecordCache::Rows(); })->records.size() == 1);
}

}  // namespace
}  // namespace cubinet::test
