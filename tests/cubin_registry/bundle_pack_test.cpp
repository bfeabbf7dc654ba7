// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"

#include "cubin_registry/bundle_fixture.hpp"
#include "support/ok.hpp"

namespace cubinet::test {
namespace {

// A bundle of so many cubins, read through a source that counts.
struct PackFixture {
  BundleFixture file;
  std::shared_ptr<MemorySource> source;

  explicit PackFixture(int count) {
    file.create(cubins_up_to(count));
    source = std::make_shared<MemorySource>(read_file(file.path));
  }
  std::shared_ptr<const BundlePack> open() const {
    auto pack = BundlePack::open(source);
    REQUIRE_MESSAGE(pack.has_value(), why_not(pack));
    return *pack;
  }
};

TEST_CASE("opening reads the beginning once, and a page is read once while it is kept") {
  const PackFixture fixture(20);
  const auto pack = fixture.open();
  CHECK(fixture.source->take_reads() == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 8192}});
  CHECK(pack->root_bytes().size() == pack->map().root_bytes);
  REQUIRE(*pack->find_image(*cubin_of(3).record));
  CHECK(fixture.source->take_reads().size() == 2);  // its branch and itself
  REQUIRE(*pack->find_image(*cubin_of(3).record));
  CHECK(fixture.source->take_reads().empty());
}

TEST_CASE("a root that is larger than usual is read in two parts") {
  PackFixture fixture(1);
  fixture.file.create(cubins_up_to(1), {std::string(20'000, 'c'), 3});
  fixture.source = std::make_shared<MemorySource>(read_file(fixture.file.path));
  const auto pack = fixture.open();
  CHECK(pack->map().root_bytes > 20'000);
  CHECK(fixture.source->take_reads().size() == 2);
  CHECK(pack->map().root.options.channel.size() == 20'000);
}

TEST_CASE("an image is read alone, and what is not in the bundle is nothing") {
  const PackFixture fixture(5);
  const auto pack = fixture.open();
  const Cubin cubin = cubin_of(2);
  const auto image = pack->find_image(*cubin.record);
  REQUIRE((image && *image));
  fixture.source->take_reads();
  CHECK(*pack->read_image(**image) == *cubin.image);
  CHECK(fixture.source->take_reads() ==
        std::vector<std::pair<std::uint64_t, std::uint64_t>>{
            {pack->map().frames_offset + (*image)->frame_offset, cubin.image->size()}});
  CHECK_FALSE(*pack->find_image(*cubin_of(9).record));
}

TEST_CASE("errors name the part and the place, and say what to do") {
  PackFixture fixture(3);
  Bytes bytes = read_file(fixture.file.path);
  const auto whole = fixture.open();
  bytes[static_cast<std::size_t>(whole->map().pages_offset)] ^= std::byte{1};
  fixture.source = std::make_shared<MemorySource>(bytes);
  const auto found = fixture.open()->find_image(*cubin_of(1).record);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::corruption);
  CHECK(found.error().message.find("the page of its records, at byte ") != std::string::npos);
  CHECK(found.error().message.find("memory.bundle") != std::string::npos);
  CHECK_FALSE(found.error().remedy.empty());
}

}  // namespace
}  // namespace cubinet::test
