// SPDX-License-Identifier: Apache-2.0
#include "local/file_store.hpp"

#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "local/record_cache.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"

#include <set>
#include <sys/stat.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct StoreFixture {
  HomeFixture home;
  std::shared_ptr<Home> registry = home.open();  // creates the folders
  FileStore store{posix_file_system(), HomeLayout(home.home), home.log.sink()};
  Cubin cubin = cubin_of(1);
  std::string name = entry_name(*cubin.record);
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
  CHECK(read->name == fixture.name);
  const auto folder = HomeLayout::record_folder_of(fixture.cubin.record->identity.kernel_hash());
  CHECK(fixture.store.list_records(folder)->names == std::vector<std::string>{fixture.name});
  CHECK(*fixture.store.remove_records({&fixture.name, 1}) == 1);
  CHECK(*fixture.store.remove_records({&fixture.name, 1}) == 0);
  CHECK(fixture.store.list_records(folder)->names.empty());
}

TEST_CASE("every flipped bit and every truncation of a record is damage, and is passed over" *
          doctest::test_suite("loop")) {
  StoreFixture fixture;
  REQUIRE(fixture.store.write_record(fixture.cubin.record));
  const Bytes whole = read_file(fixture.file);
  const KernelId kernel = fixture.cubin.record->identity.kernel();
  RecordCache cache(fixture.store);
  std::size_t mutants = 0;
  const auto positions = sampled(whole.size(), 1);
  for (const std::size_t i : positions) {
    for (const std::byte change : changes(i, 8)) {
      Bytes damaged = whole;
      damaged[i] ^= change;
      write_file(fixture.file, damaged);
      REQUIRE_FALSE(fixture.store.read_record(fixture.name).has_value());
      ++mutants;
    }
    ++mutants;
    write_file(fixture.file, ByteView(whole).first(i));
    REQUIRE_FALSE(fixture.store.read_record(fixture.name).has_value());
    REQUIRE(cache.of_kernel(kernel)->empty());
  }
  CHECK(fixture.home.log.lines.size() >= positions.size());
  counted(mutants, "mutants");
}

TEST_CASE("the record of another entry under this name is damage") {
  StoreFixture fixture;
  write_file(fixture.file, encode_record(*cubin_of(2).record));
  CHECK(fixture.store.read_record(fixture.name).error().code == ErrorCode::corruption);
}

TEST_CASE("an image is read in the folder kept open, and by its path where that was moved") {
  StoreFixture fixture;
  const Sha256Digest digest = fixture.cubin.record->digest;
  REQUIRE(fixture.store.write_image(digest, *fixture.cubin.image));
  const auto read = [&] {
    const auto image = fixture.store.read_image(digest, fixture.cubin.record->size);
    return image && **image == *fixture.cubin.image;
  };
  CHECK(read());
  const fs::path moved = fixture.home.home / "moved";
  fs::rename(fixture.store.home().cubins(), moved);
  CHECK(read());  // it is the image, regardless of its folder
  fs::remove_all(moved);
  CHECK_FALSE(read());
  REQUIRE(fixture.store.write_image(digest, *fixture.cubin.image));
  CHECK(read());
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

TEST_CASE("planted links, folders and pipes are refused as records, and as images whatever is no file") {
  StoreFixture fixture;
  const auto& cubin = fixture.cubin;
  REQUIRE(fixture.store.write_record(cubin.record));
  REQUIRE(fixture.store.write_image(cubin.record->digest, *cubin.image));
  const fs::path image = fixture.store.home().cubin(cubin.record->digest);
  const auto record_code = [&] { return fixture.store.read_record(fixture.name).error().code; };
  const auto image_read = [&] { return fixture.store.read_image(cubin.record->digest, cubin.record->size); };
  const fs::path elsewhere = fixture.home.folder / "elsewhere";
  fs::rename(fixture.file, elsewhere);
  fs::create_symlink(elsewhere, fixture.file);
  CHECK(record_code() == ErrorCode::untrusted);
  fs::remove(fixture.file);
  fs::create_hard_link(elsewhere, fixture.file);
  CHECK(record_code() == ErrorCode::untrusted);
  fs::remove(elsewhere);
  fs::permissions(fixture.file, fs::perms::group_write, fs::perm_options::add);
  CHECK(record_code() == ErrorCode::untrusted);
  for (const fs::path& file : {fixture.file, image}) {
    const auto refused = [&] {
      return file == image ? is_no_image(image_read().error()) : record_code() == ErrorCode::untrusted;
    };
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK(refused());
    fs::remove(file);
    fs::create_directory(file);
    CHECK(refused());
  }
  fs::remove(image);
  write_file(elsewhere, *cubin.image);
  fs::create_hard_link(elsewhere, image);
  CHECK(image_read());
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
  CHECK(fixture.home.log.count("warning: moved '") == 2);  // an action that was carried out is no error
}

// A file system that names quarantined files as if the clock stood still.
class StoppedClock final : public ForwardingFiles {
 public:
  explicit StoppedClock(Path quarantine) : quarantine_(std::move(quarantine)) {}

  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    return ForwardingFiles::create(stopped(path));
  }
  Result<void> rename(const Path& from, const Path& to) override {
    return ForwardingFiles::rename(stopped(from), stopped(to));
  }
  Result<bool> remove(const Path& path) override { return ForwardingFiles::remove(stopped(path)); }
  Result<std::optional<FileStatus>> status(const Path& path) override {
    return ForwardingFiles::status(stopped(path));
  }

 private:
  // Returns x.record.0-1.reason for "x.record.1700000000000000000-1.reason".
  Path stopped(const Path& path) const {
    constexpr std::size_t kDigits = 19;
    std::string name = path.filename().string();
    const std::size_t time = name.find(".record.") + std::string_view(".record.").size();
    if (path.parent_path() != quarantine_ || time + kDigits > name.size()) return path;
    REQUIRE(name.find_first_not_of("0123456789", time) >= time + kDigits);
    return quarantine_ / name.replace(time, kDigits, "0");
  }

  Path quarantine_;
};

TEST_CASE("no evidence replaces other while the clock stands still, nor does its reason") {
  StoreFixture fixture;
  const fs::path quarantine = fixture.home.home / "quarantine";
  FileStore store(std::make_shared<StoppedClock>(quarantine), HomeLayout(fixture.home.home),
                  fixture.home.log.sink());
  // This quarantined file has lost its note.
  write_file(quarantine / (fixture.file.filename().string() + ".0-1"), as_bytes("there before"));
  std::set<std::string> expected = {"there before"};
  for (const std::string& word : {std::string("first"), std::string("second"), std::string("third")}) {
    write_file(fixture.file, as_bytes(word));
    REQUIRE(store.set_aside(fixture.file, "reason of the " + word));
    expected.insert({word, "reason of the " + word + "\n"});
  }
  std::set<std::string> kept;
  for (const auto& entry : fs::directory_iterator(quarantine))
    kept.insert(std::string(as_text(read_file(entry.path()))));
  kept.erase("");  // the note that was made beside a quarantined file without one
  CHECK(kept == expected);
}

TEST_CASE("files that are no records are not visited") {
  StoreFixture fixture;
  REQUIRE(fixture.store.write_record(fixture.cubin.record));
  write_file(fixture.home.home / "records/stray", Bytes(1));
  write_file(fixture.home.home / "records/2/.x.1.2.3.tmp", Bytes(1));
  const fs::path elsewhere =
      fixture.store.home().record_folder(fixture.cubin.record->identity.kernel_hash() >> 62U == 2 ? 3 : 2);
  write_file(elsewhere / (fixture.name + ".record"), Bytes(1));
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
