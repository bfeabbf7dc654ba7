// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/aged_home.hpp"
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

#include <chrono>
#include <set>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

const std::uint64_t kBytes = cubin_of(1).image->size();  // of each image

// Builds 1 to `count`, published so many days ago as their number says, and not used since.
std::shared_ptr<Home> aged(HomeFixture& home, int count) {
  auto registry = home.open();
  for (int number = 1; number <= count; ++number) {
    REQUIRE(publishes(*registry, cubin_of(number)));
    make_published(home.home, cubin_of(number), number);
  }
  return home.open();
}

std::set<int> numbers_of(const CubinRecords& records) {
  std::set<int> numbers;
  for (const auto& record : records) {
    for (int number = 1; number < 20; ++number) {
      if (record->digest == cubin_of(number).record->digest) numbers.insert(number);
    }
  }
  return numbers;
}

SweepOptions down_to(std::uint64_t images, bool dry_run = false) {
  return {dry_run, SizeLimit{images * kBytes, images * kBytes}, false};
}

using Left = std::set<int>;

TEST_CASE("what was not used for longest goes, uses counting before publication") {
  HomeFixture home;
  const auto registry = aged(home, 5);
  note_use(home.home, cubin_of(5), 1);
  const auto dry = registry->sweep(down_to(3, true));
  CHECK(numbers_of(dry->evicted) == Left{3, 4});
  CHECK(dry->evicted_bytes == 2 * kBytes);
  CHECK(dry->kept_bytes == 3 * kBytes);
  CHECK(registry->list()->size() == 5);
  CHECK(numbers_of(registry->sweep(down_to(3))->evicted) == Left{3, 4});
  CHECK(numbers_of(*registry->list()) == Left{1, 2, 5});
  CHECK_FALSE(fs::exists(home.image_of(cubin_of(4))));
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->sweep(down_to(3))->evicted.empty());
}

TEST_CASE("pinned and recent builds stay whatever the limit, and pins hold for builds to come") {
  HomeFixture home;
  const auto registry = aged(home, 3);
  REQUIRE(registry->pin(cubin_of(3).record->identity.key()));
  REQUIRE(publishes(*registry, cubin_of(4)));
  REQUIRE(publishes(*registry, cubin_of(3, "another build")));
  make_published(home.home, cubin_of(3, "another build"), 9);
  note_use(home.home, cubin_of(1), 0);
  const auto swept = home.open()->sweep(down_to(0));
  CHECK(numbers_of(swept->evicted) == Left{2});
  CHECK(swept->pinned_bytes == kBytes);
  CHECK(swept->recent_bytes == 2 * kBytes);
  CHECK(registry->stats()->pins == std::vector<KernelKey>{cubin_of(3).record->identity.key()});
  CHECK(*registry->unpin(cubin_of(3).record->identity.key()));
  CHECK(numbers_of(home.open()->sweep(down_to(0))->evicted) == Left{3});
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("an image goes with all records that name it, as recent as the latest of them") {
  HomeFixture home;
  const auto registry = aged(home, 2);
  REQUIRE(publishes(*registry, cubin_of(2, "another build")));  // the same bytes, today
  CHECK(numbers_of(home.open()->sweep(down_to(0))->evicted) == Left{1});
  make_published(home.home, cubin_of(2, "another build"), 1);
  const auto swept = home.open()->sweep(down_to(0));
  CHECK(swept->evicted.size() == 2);
  CHECK(swept->evicted_bytes == kBytes);
}

TEST_CASE("eviction brings no build back that another took over") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(9)));
  home.leave(shipped(5, 1));
  home.leave(shipped(6, 2));
  make_published(home.home, shipped(6, 2), 3);
  const auto swept = home.open()->sweep(down_to(1));
  CHECK(numbers_of(swept->evicted) == Left{6});
  CHECK(numbers_of(*home.open()->list()) == Left{9});
}

TEST_CASE(
    "imports are evicted only when that is asked for, whole, and not when one of their kernels is pinned") {
  HomeFixture home;
  const auto registry = aged(home, 1);
  const ArtifactFolder folder(home.folder / "published", 0, 2, ArtifactPlacement::copied);
  REQUIRE(folder.publish(*registry));
  const auto limit = SizeLimit{0, 0};
  const auto age = [&] {
    fs::last_write_time(home.home / "imports/1.import",
                        fs::file_time_type::clock::now() - std::chrono::hours(48));
  };
  age();
  const auto imported = home.open()->list();
  REQUIRE(imported->size() == 3);
  const auto only_builds = home.open()->sweep({true, limit, false});
  CHECK(only_builds->evicted.size() == 1);
  CHECK(only_builds->evicted_imports.empty());
  const auto both = home.open()->sweep({true, limit, true});
  CHECK(both->evicted_imports == std::vector<std::uint64_t>{1});
  CHECK(both->evicted_bytes > only_builds->evicted_bytes);
  for (const auto& record : *imported) {
    if (record->origin != CubinOrigin::imported) continue;
    REQUIRE(registry->pin(record->identity.key()));
    break;
  }
  CHECK(home.open()->sweep({true, limit, true})->evicted_imports.empty());
  const auto pins = registry->stats()->pins;
  for (const KernelKey pin : pins)
    CHECK(*registry->unpin(pin));
  CHECK(home.open()->sweep({false, limit, true})->evicted_imports.size() == 1);
  CHECK(home.open()->list()->empty());
  CHECK(home.open()->verify()->findings.empty());
}

TEST_CASE("whoever publishes keeps the limit of the home, and never at the cost of what it publishes") {
  HomeFixture home;
  auto registry = aged(home, 4);
  REQUIRE(registry->set_limit(SizeLimit{4 * kBytes, 2 * kBytes}));
  CHECK(registry->stats()->limit->low == 2 * kBytes);
  registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(10)));
  CHECK(numbers_of(*registry->list()) == Left{1, 10});
  for (int number = 11; number < 16; ++number)
    REQUIRE(publishes(*registry, cubin_of(number)));
  CHECK(numbers_of(*registry->list()) == Left{10, 11, 12, 13, 14, 15});  // the recent ones stay
  CHECK(registry->set_limit(SizeLimit{1, 2}).error().code == ErrorCode::invalid_argument);
  REQUIRE(registry->set_limit(std::nullopt));
  CHECK_FALSE(registry->stats()->limit);
}

TEST_CASE("a limit that cannot be read, or a home that somebody holds, stops no publish") {
  HomeFixture home;
  auto registry = aged(home, 2);
  write_file(home.home / "limit", as_bytes("high"));
  REQUIRE(publishes(*registry, cubin_of(3)));
  CHECK(home.log.count("the home's limit is not kept") == 1);
  write_file(home.home / "limit", as_bytes("high 1 low 1\n"));
  const auto held = posix_file_system()->lock(home.home / "locks/store.lock", FileSystem::Sharing::shared);
  REQUIRE(*held != nullptr);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(publishes(*home.open(), cubin_of(4)));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(home.open()->list()->size() == 4);
}

// Removes what is being read, between the look at the record and that at the image.
struct RemovedMeanwhile : ForwardingFiles {
  Path image;
  Home* other = nullptr;
  int locks = 0;
  Result<Bytes> read(const Path& path, std::uint64_t limit) override {
    if (path == image && other != nullptr)
      REQUIRE(std::exchange(other, nullptr)->sweep({false, SizeLimit{}, false}));
    return ForwardingFiles::read(path, limit);
  }
  Result<std::unique_ptr<FileLock>> lock(const Path& path, Sharing sharing) override {
    ++locks;
    return ForwardingFiles::lock(path, sharing);
  }
};

TEST_CASE("a reader whose entry is evicted meanwhile has a miss, and waits for nobody") {
  HomeFixture home;
  const auto other = aged(home, 1);
  const auto files = std::make_shared<RemovedMeanwhile>();
  files->image = home.image_of(cubin_of(1));
  HomeOptions options = home.options();
  options.files = files;
  const auto reader = *Home::open(options);
  const auto found = reader->find(cubin_of(1).record->identity.kernel());
  REQUIRE(found->size() == 1);
  files->other = other.get();
  const auto loaded = reader->load(found->front());
  REQUIRE(loaded);
  CHECK_FALSE(*loaded);
  CHECK(files->locks == 0);
  CHECK(home.log.count("error") == 0);
}

TEST_CASE("nothing is evicted while a record cannot be read or a folder is being imported") {
  HomeFixture home;
  auto registry = aged(home, 2);
  const ArtifactFolder folder(home.folder / "published", 0, 1, ArtifactPlacement::copied);
  {
    const auto importing = home.open();
    for (const ArtifactFile& file : folder.content.files)
      REQUIRE(importing->imports().bring((folder.path / file.name).native(), file.digest,
                                         ArtifactPlacement::copied));
    CHECK(registry->sweep(down_to(0))->evicted.empty());
  }
  const auto record = HomeLayout(home.home).record(entry_name(*cubin_of(1).record));
  Bytes newer = read_file(record);
  newer[4] = std::byte{0xff};  // the version
  write_file(record, newer);
  CHECK(home.open()->sweep(down_to(0))->evicted.empty());
}

// A file that was written so long ago that it would be swept, if it were the home's.
void write_old(const fs::path& path) {
  write_file(path, Bytes(4));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * 400));
}

std::string download_name() {
  const std::string hex = sha256(as_bytes("a download")).to_hex();
  return hex.substr(0, 2) + "/" + hex;
}

TEST_CASE("a sweep removes files of its home alone, by their whole names") {
  HomeFixture home;
  const auto registry = home.open();
  const std::vector<fs::path> others = {
      "downloads/thesis.pdf", "downloads/d/f",         "downloads/ab/" + std::string(64, 'a'),
      "records/.notes.tmp",   "locks/yarn.lock",       "locks/d/store.lock",
      "cubins/.x.1.2.tmp",    "quarantine/.bashrc.tmp"};
  for (const fs::path& other : others)
    write_old(home.home / other);
  const std::vector<fs::path> own = {"downloads/" + download_name(), "records/.x.record.1.2.3.tmp",
                                     "locks/" + std::string(32, 'b') + ".lock", "downloads/ab/.x.1.2.3.tmp"};
  for (const fs::path& each : own)
    write_old(home.home / each);
  REQUIRE(registry->sweep());
  for (const fs::path& other : others)
    CHECK_MESSAGE(fs::exists(home.home / other), other.string());
  for (const fs::path& each : own)
    CHECK_MESSAGE(!fs::exists(home.home / each), each.string());
}

TEST_CASE("a folder that is named like a file of the home stays, and the sweep goes on") {
  HomeFixture home;
  const auto registry = home.open();
  const std::string image = std::string(64, 'c') + ".cubin";
  const std::vector<fs::path> folders = {"downloads/" + download_name(), "cubins/cc/" + image,
                                         "locks/" + std::string(32, 'a') + ".lock",
                                         "downloads/ab/.x.1.2.3.tmp"};
  for (const fs::path& folder : folders) {
    fs::create_directories(home.home / folder);
    write_old(home.home / folder / "f");
    fs::last_write_time(home.home / folder, fs::file_time_type::clock::now() - std::chrono::hours(24 * 400));
  }
  const fs::path own = home.home / "locks" / (std::string(32, 'b') + ".lock");
  write_old(own);
  const auto swept = registry->sweep();
  REQUIRE(swept);
  CHECK(swept->files == 0);  // locks do not count
  CHECK_FALSE(fs::exists(own));
  for (const fs::path& folder : folders)
    CHECK_MESSAGE(fs::exists(home.home / folder / "f"), folder.string());
}

TEST_CASE("a sweep follows no link that is put into its home while it is open") {
  for (const char* name : {"downloads", "locks", "cubins", "records"}) {
    HomeFixture home;
    const auto registry = home.open();
    const std::vector<fs::path> victims = {download_name(), std::string(32, 'b') + ".lock",
                                           "ab/.x.1.2.3.tmp"};
    for (const fs::path& victim : victims)
      write_old(home.folder / "docs" / victim);
    fs::remove_all(home.home / name);
    fs::create_directory_symlink(home.folder / "docs", home.home / name);
    static_cast<void>(registry->sweep());
    for (const fs::path& victim : victims)
      CHECK_MESSAGE(fs::exists(home.folder / "docs" / victim), name << " " << victim.string());
  }
}

TEST_CASE("nothing is removed from a home that another user has put in the place of an open one") {
  if (::geteuid() != 0) return skip("needs root");
  HomeFixture home;
  const auto registry = home.open();
  const fs::path victim = home.folder / "docs" / download_name();
  write_old(victim);
  fs::rename(home.home, home.folder / "before");
  fs::create_directories(home.home / "locks");
  fs::create_directory_symlink(home.folder / "docs", home.home / "downloads");
  REQUIRE(::chown(home.home.c_str(), 1, 1) == 0);
  CHECK(registry->sweep().error().code == ErrorCode::untrusted);
  CHECK_FALSE(registry->downloads().forget(sha256(as_bytes("a download"))));
  CHECK(fs::exists(victim));
}

}  // namespace
}  // namespace cubinet::test
