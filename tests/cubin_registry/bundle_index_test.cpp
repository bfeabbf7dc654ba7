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

TEST_CASE("pages grow for a record that needs it, and are of the usual size otherwise") {
  CHECK(make_index({"test", 3}, records_up_to(3), {}, {}, 0)->map.page_bytes == kDefaultPageBytes);
  const auto large = make_index({"test", 3}, records_up_to(3, kDefaultPageBytes), {}, {}, 0);
  REQUIRE(large);
  CHECK(large->map.page_bytes == 2 * kDefaultPageBytes);
  CHECK(large->map.pages(BundleTable::records).size() == 3);
}

TEST_CASE("pages grow where the root has no room for so many") {
  const auto index = make_index({"test", 3}, records_up_to(250, std::size_t{1} << 20), {}, {}, 0);
  REQUIRE(index);
  CHECK(index->root.size() <= kMaximumRootBytes);
  CHECK(decode_root(index->root));
  std::vector<BundleImage> images(200000);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string number = std::to_string(i);
    images[i].digest = sha256(as_bytes(number));
  }
  std::sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return a.digest < b.digest; });
  const auto many = make_index({"test", 3}, {}, images, {}, 0);
  REQUIRE(many);
  CHECK(many->root.size() <= kMaximumRootBytes);
}

TEST_CASE("a root says its targets and compilers, and libzstd where it packed") {
  const CubinRecords records = records_up_to(3);
  const auto plain = make_index({"test", 3}, records, {}, {}, 0);
  CHECK(plain->map.root.targets == std::vector<std::string>{"sm_90a"});
  CHECK(plain->map.root.toolchain == toolchain_of(records, BundleProfile::plain));
  BundleOptions options{"test", 3};
  options.profile = BundleProfile::ship;
  const auto tools = make_index(options, records, {}, {}, 0)->map.root.toolchain;
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
  const auto index = make_index({"test", 3}, records, {}, {}, 0);
  CHECK(index.error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cubinet::test
