// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"
#include "support/skip.hpp"

#include <cubinet/base/binary_format.hpp>

#include <atomic>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a bundle gives back what it was made of, marked with its bundle") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2, "a"), cubin_of(2, "b")});
  const auto bundle = fixture.open();
  CHECK(bundle->root().options.channel == "test");
  CHECK(bundle->root().options.version == 3);
  CHECK(bundle->list()->size() == 3);
  CHECK(bundle->find(cubin_of(2).record->identity.kernel())->size() == 2);
  CHECK(bundle->find(cubin_of(3).record->identity.kernel())->empty());
  const auto record = bundle->find(cubin_of(1).record->identity.kernel())->front();
  CHECK(record->origin == CubinOrigin::bundle);
  CHECK(record->version == 3);
  const auto loaded = bundle->load(record);
  REQUIRE((loaded && *loaded));
  CHECK(*(*loaded)->image == *cubin_of(1).image);
  const auto report = bundle->verify();
  CHECK(report->findings.empty());
  CHECK(report->entries == 3);
  CHECK(bundle->load(cubin_of(9).record).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("the bytes of a bundle do not depend on the order or the repetition of its entries") {
  BundleFixture fixture;
  fixture.create({cubin_of(1), cubin_of(2), cubin_of(3)});
  const Bytes first = read_file(fixture.path);
  fixture.create({cubin_of(3), cubin_of(1), cubin_of(2), cubin_of(1)});
  CHECK(read_file(fixture.path) == first);
}

TEST_CASE("a name of several lines, and a record that could not be read back, make no bundle") {
  BundleFixture fixture;
  for (const char* name : {"a\nb", "\x1b[31m", "a\tb"}) {
    const auto created = create_bundle(fixture.path, {cubin_of(1)}, {name, 1}, fixture.files);
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::invalid_argument);
    CHECK(created.error().message.find(name) == std::string::npos);
  }
  Cubin cubin = cubin_of(1);
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->warnings.assign(kMaximumRecordBytes, 'w');
  cubin.record = record;
  const auto created = create_bundle(fixture.path, {cubin}, {"name", 1}, fixture.files);
  REQUIRE_FALSE(created);
  CHECK(created.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(fs::exists(fixture.path));
}

TEST_CASE("equal images are stored once") {
  BundleFixture fixture;
  fixture.create({cubin_of(1, "a")});
  const auto one = fs::file_size(fixture.path);
  fixture.create({cubin_of(1, "a"), cubin_of(1, "b"), cubin_of(1, "c")});
  CHECK(fs::file_size(fixture.path) < one + 2 * cubin_of(1).image->size());
  CHECK(fixture.open()->verify()->bytes == cubin_of(1).image->size());
}

TEST_CASE("an intact bundle has nothing that cannot be read") {
  BundleFixture fixture;
  fixture.create(cubins_up_to(3));
  CHECK(fixture.open()->unreadable(cubin_of(1).record->identity.kernel()).empty());
}

TEST_CASE("a bundle answers for its kernels by key, by function and as a list") {
  BundleFixture fixture;
  fixture.create({cubin_of(3), cubin_of(1), cubin_of(2)});
  const auto bundle = fixture.open();
  const CubinRecord record = *cubin_of(2).record;
  REQUIRE(bundle->find_key(record.identity.key())->size() == 1);
  CHECK(bundle->find_key(record.identity.key())->front()->identity == record.identity);
  CHECK(bundle->find_function(record.entry_points.front().symbol)->size() == 3);
  CHECK(bundle->find_function("nothing")->empty());
  const auto listed = *bundle->list();
  REQUIRE(listed.size() == 3);
  CHECK(listed[0]->identity.key() < listed[1]->identity.key());
  CHECK(listed[1]->identity.key() < listed[2]->identity.key());
  CHECK((*bundle->rows())->empty());
  CHECK(bundle->description().kind == "bundle");
  CHECK(bundle->description().place == fixture.path);
}

TEST_CASE("an empty bundle is a bundle") {
  BundleFixture fixture;
  fixture.create({}, {});
  CHECK(fixture.open()->list()->empty());
  CHECK(fixture.open()->verify()->findings.empty());
}

TEST_CASE("what contradicts itself is not bundled, and no file is left") {
  BundleFixture fixture;
  Cubin other = cubin_of(2);
  auto record = std::make_shared<CubinRecord>(*other.record);
  record->identity = cubin_of(1).record->identity;
  other.record = record;
  for (const std::vector<Cubin>& cubins :
       {std::vector<Cubin>{cubin_of(1), other},
        std::vector<Cubin>{Cubin{cubin_of(1).record, cubin_of(2).image}}, std::vector<Cubin>{Cubin{}}}) {
    const auto created = create_bundle(fixture.path, cubins, {}, fixture.files);
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::invalid_argument);
    CHECK(fs::is_empty(fixture.folder.path()));
  }
}

// Checks that every query returns the right entries, fewer entries, or an error.
void check_answers(Bundle& bundle, const std::vector<Cubin>& cubins) {
  for (const Cubin& cubin : cubins) {
    const KernelIdentity& identity = cubin.record->identity;
    for (const auto& found : {bundle.find(identity.kernel()), bundle.find_key(identity.key())}) {
      REQUIRE(found);
      REQUIRE(found->size() <= 1);
      if (found->empty()) continue;
      REQUIRE(found->front()->identity == identity);
      REQUIRE(found->front()->digest == cubin.record->digest);
    }
    const auto loaded = bundle.read(cubin.record);
    REQUIRE((!loaded || *loaded->image == *cubin.image));
    const auto passed_over = bundle.load(cubin.record);
    REQUIRE((!passed_over || !*passed_over || *(**passed_over).image == *cubin.image));
  }
  const auto named = bundle.find_function(cubins.front().record->entry_points.front().symbol);
  REQUIRE((named && named->size() <= cubins.size()));
  const auto listed = bundle.list();
  REQUIRE((!listed || listed->size() == cubins.size()));
  REQUIRE(bundle.rows().has_value() == listed.has_value());
}

// Opens a bundle from memory. Files would take hours.
Result<std::shared_ptr<Bundle>> open_bytes(Bytes bytes) {
  return open_bundle(std::make_shared<MemorySource>(std::move(bytes)), {});
}

struct Profiled {
  BundleProfile profile;
  std::vector<Cubin> cubins;
  std::size_t step;  // the distance of the changed bytes, and of the truncated lengths
  bool small = true;
};

// Returns small bundles and one with a dictionary.
std::vector<Profiled> profiled() {
  std::vector<Profiled> all = {{BundleProfile::plain, cubins_up_to(2), 47},
                               {BundleProfile::ship, cubins_up_to(2), 47},
                               {BundleProfile::archive, cubins_up_to(3), 47}};
  all.push_back({BundleProfile::ship, alike_cubins(130, 26000), 5003, false});
  return all;
}

TEST_CASE("every flipped byte of a bundle is found, and nothing wrong is given out" *
          doctest::test_suite("loop")) {
  for (const Profiled& one : profiled()) {
    BundleFixture fixture;
    fixture.create(one.cubins, {"test", 3, 0, 0, one.profile});
    const Bytes whole = read_file(fixture.path);
    CHECK((*open_bytes(whole))->verify()->findings.empty());
    const std::vector<Cubin> asked(one.cubins.begin(), one.cubins.begin() + 2);
    std::size_t mutants = 0;
    for (const std::size_t i : test::sampled(whole.size(), one.step)) {
      // The large bundle has 2.6 MB of similar bytes, so only every seventh line is changed.
      if (test::at_full_size() && !one.small && i / 64 % 7 != 0) continue;
      for (const std::byte change : test::changes(i, 1, one.small ? 8 : 1)) {
        CAPTURE(i);
        CAPTURE(change);
        ++mutants;
        Bytes damaged = whole;
        damaged[i] ^= change;
        const auto bundle = open_bytes(damaged);
        if (!bundle) continue;
        if (one.small) {
          REQUIRE_FALSE((*bundle)->verify()->findings.empty());
          check_answers(**bundle, one.cubins);
        }
        for (const Cubin& cubin : asked) {
          const auto read = (*bundle)->read(cubin.record);
          REQUIRE((!read || *read->image == *cubin.image));
        }
      }
    }
    test::counted(mutants, "mutants");
  }
}

TEST_CASE("every truncation of a bundle is found, and what is whole can still be loaded" *
          doctest::test_suite("loop")) {
  for (const Profiled& one : profiled()) {
    if (!one.small) continue;
    BundleFixture fixture;
    fixture.create(one.cubins, {"test", 3, 0, 0, one.profile});
    const Bytes whole = read_file(fixture.path);
    std::size_t partly_usable = 0;
    const auto sizes = test::sampled(whole.size(), one.step);
    test::counted(sizes.size(), "mutants");
    for (const std::size_t size : sizes) {
      const auto bundle = open_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
      if (!bundle) continue;
      const auto report = (*bundle)->verify();
      REQUIRE_FALSE(report->findings.empty());
      partly_usable += report->bytes > 0 ? 1U : 0U;
      check_answers(**bundle, one.cubins);
    }
    CHECK((partly_usable > 0 || one.profile == BundleProfile::archive));
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    const auto report = (*open_bytes(longer))->verify();
    REQUIRE(report->findings.size() == 1);
    CHECK(report->findings.front().kind == StoreFinding::Kind::stray_file);
  }
}

TEST_CASE("opening reads the root alone, finding a branch and a page, and fetching the frame") {
  BundleFixture fixture;
  fixture.create(cubins_up_to(200));
  const auto source = std::make_shared<MemorySource>(read_file(fixture.path));
  const auto bundle = *open_bundle(source, {});
  CHECK(source->take_reads().size() == 1);
  const Cubin cubin = cubin_of(77);
  const auto found = *bundle->find(cubin.record->identity.kernel());
  REQUIRE(found.size() == 1);
  CHECK(source->take_reads().size() == 2);
  CHECK(*bundle->read(found.front())->image == *cubin.image);
  CHECK(source->take_reads().size() == 1);
  CHECK(bundle->find_key(cubin.record->identity.key())->size() == 1);
  CHECK(source->take_reads().size() == 2);
  CHECK(bundle->root_bytes().size() < 1024);
  CHECK(sha256(bundle->root_bytes().first(bundle->root_bytes().size() - 32)) ==
        as_digest(bundle->root_bytes().last(32)));
}

TEST_CASE("a damaged page is a miss for those on it and told, and an error for whoever lists") {
  BundleFixture fixture;
  fixture.create(cubins_up_to(3));
  Bytes bytes = read_file(fixture.path);
  bytes[static_cast<std::size_t>(fixture.open()->pack().map().pages_offset) + 100] ^= std::byte{1};
  write_file(fixture.path, bytes);
  LogLines log;
  const auto bundle = *Bundle::open(fixture.path, fixture.files, log.sink());
  CHECK(bundle->find(cubin_of(1).record->identity.kernel())->empty());
  CHECK(log.count("the page of its records") == 1);
  const std::vector<Error> unreadable = bundle->unreadable(cubin_of(1).record->identity.kernel());
  REQUIRE(unreadable.size() == 1);
  CHECK(unreadable[0].message.find("bundle '" + fixture.path.string() + "': the page of its records") == 0);
  CHECK_FALSE(unreadable[0].remedy.empty());
  CHECK(log.count("the page of its records") == 1);  // listed, and not logged again
  CHECK(bundle->list().error().code == ErrorCode::corruption);
  CHECK(bundle->rows().error().code == ErrorCode::corruption);
  CHECK(bundle->read(cubin_of(1).record).error().code == ErrorCode::corruption);
  CHECK_FALSE(bundle->verify()->findings.empty());
}

TEST_CASE("many threads ask one bundle, and each gets what is right") {
  BundleFixture fixture;
  const std::vector<Cubin> cubins = cubins_up_to(40);
  fixture.create(cubins, {"test", 3, 0, 0, BundleProfile::archive});
  const auto bundle = fixture.open();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 200; ++i) {
        const Cubin& cubin = cubins[(i * 7 + thread) % cubins.size()];
        const auto found = bundle->find(cubin.record->identity.kernel());
        const auto read = bundle->read(cubin.record);
        if (!found || found->size() != 1 || !read || *read->image != *cubin.image) ++wrong;
        if (i % 50 == 0 && (*bundle->rows() != *bundle->rows() || bundle->list()->size() != cubins.size()))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a bundle answers not in a forked child") {
  if (!can_fork()) return skip("forks");
  BundleFixture fixture;
  fixture.create(cubins_up_to(1));
  const auto bundle = fixture.open();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto found = bundle->find(cubin_of(0).record->identity.kernel());
    ::_exit(!found && found.error().code == ErrorCode::unavailable ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a bundle replaced or cut off while it is open gives errors, not wrong bytes") {
  BundleFixture fixture;
  fixture.create({cubin_of(1)});
  const auto bundle = fixture.open();
  const auto record = bundle->list()->front();
  fixture.create({cubin_of(4), cubin_of(5)});
  CHECK(bundle->read(record).error().code == ErrorCode::corruption);
  CHECK_FALSE(*bundle->load(record));
  CHECK_FALSE(bundle->verify()->findings.empty());
  fs::resize_file(fixture.path, 0);
  CHECK(bundle->read(record).error().code == ErrorCode::corruption);
  fs::remove(fixture.path);
  CHECK(bundle->read(record).error().code == ErrorCode::not_found);
  CHECK_FALSE(*bundle->load(record));
}

TEST_CASE("what is no bundle is refused") {
  BundleFixture fixture;
  CHECK(Bundle::open(fixture.path, fixture.files).error().code == ErrorCode::not_found);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{64}, std::size_t{5000}}) {
    write_file(fixture.path, Bytes(size));
    const auto bundle = Bundle::open(fixture.path, fixture.files);
    REQUIRE_FALSE(bundle);
    CHECK(bundle.error().code == ErrorCode::invalid_argument);
    CHECK(bundle.error().message.find("is not a bundle of cubinet") != std::string::npos);
    CHECK(bundle.error().message.find("kernels.bundle") != std::string::npos);
  }
  fs::remove(fixture.path);
  fs::create_directory(fixture.path);
  CHECK_FALSE(Bundle::open(fixture.path, fixture.files).has_value());
  fs::remove(fixture.path);
  REQUIRE(::mkfifo(fixture.path.c_str(), 0600) == 0);
  CHECK_FALSE(Bundle::open(fixture.path, fixture.files).has_value());
}

}  // namespace
}  // namespace cubinet::test
