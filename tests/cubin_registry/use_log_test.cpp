// SPDX-License-Identifier: Apache-2.0
#include "local/use_log.hpp"

#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct CountedAppends : ForwardingFiles {
  int appends = 0;
  int error = 0;
  Result<void> append(const Path& path, ByteView bytes) override {
    ++appends;
    if (error != 0) return io_error("append", error);
    return ForwardingFiles::append(path, bytes);
  }
};

struct CountedHome : HomeFixture {
  std::shared_ptr<CountedAppends> files = std::make_shared<CountedAppends>();
  std::shared_ptr<Home> open_counted() {
    HomeOptions counted = options();
    counted.files = files;
    return *Home::open(counted);
  }
};

void use(Home& registry, const Cubin& cubin) {
  REQUIRE(registry.find(cubin.record->identity.kernel()));
  REQUIRE(serves(registry, cubin));  // looks it up once more
}

TEST_CASE("marks read as they were written, and one that is torn or damaged costs no other") {
  const std::vector<UseMark> marks = {
      {kAskedSubject, 3, 100}, {sha256(as_bytes("a")), 1, 101}, {sha256(as_bytes("b")), 2, 102}};
  const Bytes whole = encode_marks(marks);
  const auto same = [](const UseMark& a, const UseMark& b) {
    return a.subject == b.subject && a.count == b.count && a.minute == b.minute;
  };
  CHECK(std::equal(marks.begin(), marks.end(), decode_marks(whole).begin(), same));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= std::byte{1};
    CHECK(decode_marks(damaged).size() == 2);
    // A write that was cut short, and then others.
    Bytes torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at));
    torn.insert(torn.end(), whole.begin(), whole.end());
    CHECK(decode_marks(torn).size() == at / (whole.size() / 3) + 3);
  }
}

TEST_CASE("the bytes of a mark are those that the format says") {
  const Bytes bytes = encode_marks(std::vector<UseMark>{{kFoundSubject, 0x01020304, 0x05060708}});
  REQUIRE(bytes.size() == 48);
  CHECK(to_hex(ByteView(bytes).first(40)) == "01" + std::string(62, '0') +
                                                 "04030201"
                                                 "08070605");
  CHECK(to_hex(ByteView(bytes).last(8)) == "5031accacf4346e2");
}

TEST_CASE("what is asked, found and used is counted over processes, and written behind the requests") {
  CountedHome home;
  {
    const auto registry = home.open_counted();
    REQUIRE(publishes(*registry, cubin_of(1)));
    home.files->appends = 0;
    for (int i = 0; i < 100; ++i)
      use(*registry, cubin_of(1));
    CHECK(home.files->appends == 0);
    CHECK(registry->find(cubin_of(2).record->identity.kernel())->empty());
    CHECK(registry->stats()->uses.used == 100);
  }
  CHECK(home.files->appends == 1);  // at the end
  const auto registry = home.open_counted();
  use(*registry, cubin_of(1));
  const auto stats = registry->stats();
  CHECK(stats->uses.asked == 203);
  CHECK(stats->uses.found == 202);
  CHECK(stats->uses.used == 101);
  REQUIRE(stats->last_used.size() == 1);
  CHECK(stats->last_used.begin()->first == cubin_of(1).record->digest);
}

TEST_CASE("as many images as make a batch are noted at once, and again when their marks are an hour old") {
  CountedHome home;
  const int batch = static_cast<int>(UseLog::kBatch);
  {
    const auto registry = home.open();
    for (int i = 0; i < batch; ++i)
      REQUIRE(publishes(*registry, cubin_of(i)));
  }
  const auto use_all = [&](Home& registry) {
    home.files->appends = 0;
    for (int i = 0; i < batch; ++i) {
      CHECK(home.files->appends == 0);
      use(registry, cubin_of(i));
    }
  };
  std::vector<UseMark> marks;
  for (int i = 0; i < batch; ++i)
    marks.push_back({cubin_of(i).record->digest, 1, 0});
  for (const std::uint32_t minute : {0xFFFFFFF0U, std::uint32_t{1000}}) {  // in the future, and long ago
    for (UseMark& mark : marks)
      mark.minute = minute;
    write_file(home.home / "uses", encode_marks(marks));
    const auto registry = home.open_counted();
    use_all(*registry);
    CHECK(home.files->appends == 1);
    use_all(*registry);
    CHECK(home.files->appends == 0);
  }
  const auto registry = home.open_counted();
  use_all(*registry);
  CHECK(home.files->appends == 0);  // another process has noted them within the hour
}

TEST_CASE("a home that cannot be written, or whose log cannot be, serves and notes nothing") {
  CountedHome home;
  REQUIRE(publishes(*home.open(), cubin_of(1)));
  use(*home.open(HomeOptions::Access::read_only), cubin_of(1));
  CHECK_FALSE(fs::exists(home.home / "uses"));
  home.files->error = ENOSPC;
  for (int i = 0; i < 3; ++i)
    use(*home.open_counted(), cubin_of(1));
  CHECK(home.files->appends == 3);  // once a process
  CHECK(home.log.count("uses are not noted") == 3);
  CHECK(home.open()->stats()->uses.used == 0);
}

TEST_CASE("a log is made shorter when it says the same often, and nothing of it is lost") {
  HomeFixture home;
  REQUIRE(publishes(*home.open(), cubin_of(1)));
  const Sha256Digest image = cubin_of(1).record->digest;
  const std::vector<UseMark> marks(3'000, UseMark{image, 2, 1000});
  write_file(home.home / "uses", encode_marks(marks));
  use(*home.open(), cubin_of(1));
  CHECK(fs::file_size(home.home / "uses") < 1'000);
  CHECK(home.open()->stats()->uses.used == 6'001);
}

TEST_CASE("what is used of images that are gone is still counted") {
  HomeFixture home;
  const auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  use(*registry, cubin_of(1));
  REQUIRE(registry->remove({cubin_of(1).record}));
  REQUIRE(registry->sweep());
  CHECK(registry->stats()->last_used.empty());
  CHECK(registry->stats()->uses.used == 1);
}

}  // namespace
}  // namespace cubinet::test
