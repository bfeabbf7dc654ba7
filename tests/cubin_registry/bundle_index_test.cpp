// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_index.hpp"

#include "cubin_registry/bundle_fixture.hpp"

namespace cubinet::test {
namespace {

CubinRecords records_up_to(int count, std::size_t warning_bytes = 0) {
  CubinRecords records;
  for (const Cubin& cubin : cubins_up_to(count)) {
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->origin = CubinOrigin::bundle;
    record->version = 3;
    record->warnings.assign(warning_bytes, 'w');
    record->compiler = "compiler " + std::to_string(record->size % 3);
    records.push_back(std::move(record));
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  return records;
}

TEST_CASE("a record that has no room in a page has one alone") {
  const auto small = make_index({"test", 3}, records_up_to(3), {}, {}, {}, 0);
  CHECK(small->pages.size() == 6);  // a branch and a page of each table
  const auto large = make_index({"test", 3}, records_up_to(3, kPageBytes), {}, {}, {}, 0);
  REQUIRE(large);
  CHECK(large->pages.size() == 8);
  CHECK(large->map.branches_of(BundleTable::records).size() == 1);
}

TEST_CASE("a root stays as small however many records there are, and its branches grow where it has to be") {
  const auto few = make_index({"test", 3}, records_up_to(100), {}, {}, {}, 0);
  const auto many = make_index({"test", 3}, records_up_to(2000), {}, {}, {}, 0);
  REQUIRE((few && many));
  CHECK(few->root.size() < 1024);
  CHECK(many->root.size() < 2 * few->root.size());
  CHECK(many->map.branches_of(BundleTable::records)[0].stored <= kBranchBytes);
}

TEST_CASE("a root says its targets and compilers, and libzstd where it packed") {
  const CubinRecords records = records_up_to(3);
  const auto plain = make_index({"test", 3}, records, {}, {}, {}, 0);
  CHECK(plain->map.root.targets == std::vector<std::string>{"sm_90a"});
  CHECK(plain->map.root.toolchain == std::vector<std::string>{records.front()->compiler});
  BundleOptions options{"test", 3};
  options.profile = BundleProfile::ship;
  const auto tools = make_index(options, records, {}, {}, {}, 0)->map.root.toolchain;
  CHECK(tools.size() == plain->map.root.toolchain.size() + 1);
  CHECK(tools.back().starts_with("libzstd "));
}

TEST_CASE("more compilers than a root can name make no bundle") {
  CubinRecords records;
  for (const auto& record : records_up_to(30)) {
    auto changed = std::make_shared<CubinRecord>(*record);
    changed->compiler = std::to_string(records.size()) + std::string(4000, 'c');
    records.push_back(std::move(changed));
  }
  const auto index = make_index({"test", 3}, records, {}, {}, {}, 0);
  CHECK(index.error().code == ErrorCode::invalid_argument);
  CHECK(index.error().message.find("30 compilers: its root names them in 120050 bytes") != std::string::npos);
}

TEST_CASE("images that pack to less than a 256th make no bundle of a profile that packs") {
  BundleImage image;
  image.size = image.frame_bytes = 64U << 20;
  image.frame_stored = 1000;
  image.codec = FrameCodec::zstd;
  BundleOptions options{"test", 3};
  options.profile = BundleProfile::ship;
  CHECK(make_index(options, records_up_to(1), {image}, {}, {}, 1000));
  const auto index = make_index(options, records_up_to(2), {image, image}, {}, {}, 2000);
  CHECK(index.error().code == ErrorCode::invalid_argument);
  CHECK(index.error().remedy.find("plain") != std::string::npos);
}

}  // namespace
}  // namespace cubinet::test
