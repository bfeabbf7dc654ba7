// SPDX-License-Identifier: Apache-2.0
#include "local/left_overs.hpp"

#include "cubin_registry/home_fixture.hpp"

#include <chrono>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("what an interrupted write left is removed after an hour, and nothing else is") {
  HomeFixture fixture;
  FileStore store(posix_file_system(), HomeLayout(fixture.open()->description().place), fixture.log.sink());
  const fs::path folder = fixture.home / "cubins";
  const fs::path old_one = folder / "00" / ".x.1.2.tmp";
  const fs::path fresh = folder / ".y.1.2.tmp";
  const fs::path named = folder / "00" / "x.cubin";
  for (const fs::path& path : {old_one, fresh, named})
    write_file(path, Bytes(10));
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(old_one, long_ago);
  fs::last_write_time(named, long_ago);
  CHECK(*is_stray(store, old_one));
  CHECK_FALSE(*is_stray(store, fresh));
  CHECK(*is_stray(store, named));
  CHECK_FALSE(*is_stray(store, folder / "none"));
  CHECK(is_temporary(fresh));
  CHECK_FALSE(is_temporary(named));
  FileSweep count(store, SweepMode::count);
  CHECK(remove_left_overs(count, folder));
  CHECK(count.report.files == 1);
  CHECK(count.report.bytes == 10);
  CHECK(fs::exists(old_one));
  FileSweep sweep(store, SweepMode::remove);
  CHECK(remove_left_overs(sweep, folder));
  CHECK(sweep.report.bytes == 10);
  CHECK_FALSE(fs::exists(old_one));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(named));
  CHECK(remove_left_overs(sweep, fixture.home / "none"));
  CHECK(sweep.report.files == 1);
}

}  // namespace
}  // namespace cubinet::test
