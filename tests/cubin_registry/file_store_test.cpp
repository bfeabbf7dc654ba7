// SPDX-License-Identifier: Apache-2.0
#include "file_store.hpp"

#include "cubin_registry/registry_fixture.hpp"

#include <sys/stat.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct StoreFixture {
  HomeFixture home;
  std::unique_ptr<Registry> registry = home.open();  // makes the folders
  FileStore store{posix_file_system(), Home(home.home), home.log.sink()};
  Cubin cubin = cubin_of(1);
  std::string name = entry_name(cubin.record->identity, cubin.record->fingerprint);
  fs::path file = store.home().record(name);
};

TEST_CASE("a record is written under its own name and read back") {
  StoreFixture fixture;
  CHECK(fixture.store.read_record(fixture.name).error().code == ErrorCode::not_found);
  const auto written = fixture.store.write_record(fixture.cubin.record);
  REQUIRE(written);
  const auto read = fixture.store.read_record(fixture.name);
  REQUIRE(read);
  CHECK(*read->record == *fixture.cubin.record);
  CHECK(read->published_ns == written->published_ns);
  CHECK(fixture.store.records_of(fixture.cubin.record->identity.key())->size() == 1);
  CHECK(fixture.store.records_of(KernelKey{1})->empty());
}

TEST_CASE("every flipped bit and every truncation of a record is damage, and is passed over" *
          doctest::test_suite("loop")) {
  StoreFixture fixture;
  REQUIRE(fixture.store.write_record(fixture.cubin.record));
  const Bytes whole = read_file(fixture.file);
  const KernelKey key = fixture.cubin.record->identity.key();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = whole;
      damaged[i] ^= static_cast<std::byte>(1U << bit);
      write_file(fixture.file, damaged);
      REQUIRE_FALSE(fixture.store.read_record(fixture.name).has_value());
    }
    write_file(fixture.file, ByteView(whole).first(i));
    REQUIRE_FALSE(fixture.store.read_record(fixture.name).has_value());
    REQUIRE(fixture.store.records_of(key)->empty());
  }
  CHECK(fixture.home.log.lines.size() >= whole.size());
}

TEST_CASE("the record of another entry under this name is damage") {
  StoreFixture fixture;
  write_file(fixture.file, encode_record(*cubin_of(2).record));
  CHECK(fixture.store.read_record(fixture.name).error().code == ErrorCode::corruption);
}

TEST_CASE("an image that has grown is refused before it is read") {
  StoreFixture fixture;
  const CubinRecord& record = *fixture.cubin.record;
  REQUIRE(fixture.store.write_image(record.digest, *fixture.cubin.image));
  fs::resize_file(fixture.store.home().cubin(record.digest), std::uintmax_t{1} << 30);
  const auto grown = fixture.store.read_image(record.digest, record.size);
  REQUIRE_FALSE(grown);
  CHECK(grown.error().message.find("more than the " + std::to_string(record.size)) != std::string::npos);
  REQUIRE(publishes(*fixture.registry, fixture.cubin));
  CHECK(serves(*fixture.registry, fixture.cubin));
  CHECK(fixture.registry->stats()->quarantined == 1);
}

TEST_CASE("planted links, folders and pipes are refused, as records and as images") {
  StoreFixture fixture;
  REQUIRE(fixture.store.write_record(fixture.cubin.record));
  REQUIRE(fixture.store.write_image(fixture.cubin.record->digest, *fixture.cubin.image));
  const fs::path image = fixture.store.home().cubin(fixture.cubin.record->digest);
  for (const fs::path& file : {fixture.file, image}) {
    const auto code = [&] {
      return file == image
                 ? fixture.store.read_image(fixture.cubin.record->digest, fixture.cubin.record->size)
                       .error()
                       .code
                 : fixture.store.read_record(fixture.name).error().code;
    };
    const fs::path elsewhere = fixture.home.folder / "elsewhere";
    fs::rename(file, elsewhere);
    fs::create_symlink(elsewhere, file);
    CHECK(code() == ErrorCode::untrusted);
    fs::remove(file);
    fs::create_hard_link(elsewhere, file);
    CHECK(code() == ErrorCode::untrusted);
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK(code() == ErrorCode::untrusted);
    fs::remove(file);
    fs::create_directory(file);
    CHECK(code() == ErrorCode::untrusted);
    fs::remove(file);
    fs::rename(elsewhere, file);
    fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
    CHECK(code() == ErrorCode::untrusted);
    fs::permissions(file, fs::perms::group_write, fs::perm_options::remove);
  }
  CHECK(fixture.store.read_record(fixture.name).has_value());
  CHECK(fixture.store.read_image(fixture.cubin.record->digest, fixture.cubin.record->size).has_value());
}

TEST_CASE("what is set aside lies in the quarantine with its reason, twice without a clash") {
  StoreFixture fixture;
  for (int i = 0; i < 2; ++i) {
    write_file(fixture.file, Bytes(3));
    CHECK(fixture.store.set_aside(fixture.file, "because of the test"));
    CHECK_FALSE(fs::exists(fixture.file));
  }
  CHECK_FALSE(fixture.store.set_aside(fixture.file, "not there"));
  std::size_t notes = 0;
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fixture.home.home / "quarantine")) {
    const bool note = entry.path().extension() == ".reason";
    ++(note ? notes : files);
    if (note) CHECK(as_text(read_file(entry.path())) == "because of the test\n");
  }
  CHECK(notes == 2);
  CHECK(files == 2);
  CHECK(fixture.home.log.count("because of the test") == 2);
}

TEST_CASE("files that are no records are not visited") {
  StoreFixture fixture;
  REQUIRE(fixture.store.write_record(fixture.cubin.record));
  write_file(fixture.home.home / "records/stray", Bytes(1));
  write_file(fixture.home.home / "records/ab/.x.tmp", Bytes(1));
  write_file(fixture.home.home / "records/ab/" / (fixture.name + ".record"), Bytes(1));
  std::vector<std::string> visited;
  REQUIRE(fixture.store.for_each_record(
      [&](const std::string& name, Result<StoredRecord> record) -> Result<void> {
        CHECK(record.has_value());
        visited.push_back(name);
        return {};
      }));
  CHECK(visited == std::vector<std::string>{fixture.name});
}

}  // namespace
}  // namespace cubinet::test
