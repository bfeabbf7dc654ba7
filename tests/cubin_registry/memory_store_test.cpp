// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

Cubin kept_cubin(int number, std::string_view build = "build",
                 SmTarget target = {9, 0, TargetKind::specific}) {
  FakeCubin description;
  description.target = target;
  description.filler = static_cast<std::uint8_t>(number);
  return make_cubin(KernelSpec{"scale", {}}.set("factor", number), description, build);
}

Cubin with(const Cubin& cubin, CubinOrigin origin, std::uint64_t version) {
  CubinRecord record = *cubin.record;
  record.origin = origin;
  record.version = version;
  return {std::make_shared<const CubinRecord>(std::move(record)), cubin.image};
}

TEST_CASE("memory gives back what was published, by kernel, key and function") {
  const auto store = make_memory_store();
  CHECK(store->description().kind == "memory");
  CHECK(store->description().source == KernelSource::memory);
  CHECK(store->description().writable);
  const Cubin specific = kept_cubin(1);
  const Cubin baseline = kept_cubin(1, "build", {9, 0, TargetKind::baseline});
  const Cubin other = kept_cubin(2);
  for (const Cubin& cubin : {specific, baseline, other})
    REQUIRE(store->publish(cubin));
  CHECK(store->find(specific.record->identity.kernel())->size() == 2);
  CHECK(store->find(identify(KernelSpec{"other", {}}))->empty());
  const auto by_key = store->find_key(other.record->identity.key());
  REQUIRE(by_key->size() == 1);
  CHECK(by_key->front() == other.record);
  CHECK(store->find_function("kernel")->size() == 3);
  CHECK(store->find_function("nothing")->empty());
  CHECK(store->list()->size() == 3);
  const auto loaded = store->load(specific.record);
  REQUIRE(loaded);
  REQUIRE(*loaded);
  CHECK((*loaded)->image == specific.image);
}

TEST_CASE("memory keeps one build of an identity and fingerprint, a local one before a bundle") {
  const auto store = make_memory_store();
  const Cubin first = kept_cubin(1);
  REQUIRE(store->publish(with(first, CubinOrigin::bundle, 3)));
  REQUIRE(store->publish(with(first, CubinOrigin::bundle, 2)));
  CHECK(store->list()->front()->version == 3);
  REQUIRE(store->publish(with(first, CubinOrigin::bundle, 4)));
  CHECK(store->list()->front()->version == 4);
  REQUIRE(store->publish(first));
  REQUIRE(store->publish(with(first, CubinOrigin::bundle, 9)));
  CHECK(store->list()->size() == 1);
  CHECK(store->list()->front()->origin == CubinOrigin::compiled);
  REQUIRE(store->publish(kept_cubin(1, "another build")));
  CHECK(store->list()->size() == 2);
}

TEST_CASE("a record that is not of its image is not kept in memory") {
  const auto store = make_memory_store();
  Cubin cubin = kept_cubin(1);
  cubin.image = kept_cubin(2).image;
  const auto published = store->publish(cubin);
  REQUIRE_FALSE(published);
  CHECK(published.error().code == ErrorCode::invalid_argument);
  CHECK(store->list()->empty());
}

TEST_CASE("the rows of memory are one object until something changes") {
  const auto store = make_memory_store();
  RowTable& table = *row_table_of(*store);
  Cubin cubin = kept_cubin(1);
  CubinRecord record = *cubin.record;
  KernelRow row;
  row.implementation = "attention_decode";
  record.row = encode_row(row);
  cubin.record = std::make_shared<const CubinRecord>(std::move(record));
  REQUIRE(store->publish(cubin));
  REQUIRE(store->publish(kept_cubin(2)));
  const auto rows = *table.rows();
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().record == cubin.record);
  CHECK(rows->front().row->digest == cubin.record->digest);
  CHECK(*table.rows() == rows);
  CHECK(*store->remove({cubin.record, cubin.record}) == 1);
  CHECK((*table.rows())->empty());
  CHECK(rows->size() == 1);
  CHECK_FALSE(store->load(cubin.record)->has_value());
}

TEST_CASE("a forked child is refused what its parent keeps in memory") {
  const auto store = make_memory_store();
  REQUIRE(store->publish(kept_cubin(1)));
  const pid_t child = fork();
  if (child == 0) {
    const auto listed = store->list();
    const bool refused = !listed && listed.error().code == ErrorCode::unavailable &&
                         !store->publish(kept_cubin(2)) && !row_table_of(*store)->rows();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace cubinet::test
