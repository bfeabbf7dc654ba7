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
  const fs::path old_one = folder / "00" / ".x.1.2.3.tmp";
  const fs::path fresh = folder / ".y.1.2.3.tmp";
  const fs::path named = folder / "00" / "x.cubin";
  for (const fs::path& path : {old_one, fresh, named})
    write_file(path, Bytes(10));
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(old_one, long_ago);
  fs::last_write_time(named, long_ago);
  CHECK(is_interrupted_write(fresh));
  CHECK_FALSE(is_interrupted_write(named));
  const std::vector<fs::path> paths = {old_one, fresh, named, folder / ".none.1.2.3.tmp"};
  FileSweep count(store, true);
  CHECK(remove_left_overs(count, paths));
  CHECK(count.report.files == 1);
  CHECK(count.report.bytes == 10);
  CHECK(fs::exists(old_one));
  FileSweep sweep(store, false);
  CHECK(remove_left_overs(sweep, paths));
  CHECK(sweep.report.bytes == 10);
  CHECK_FALSE(fs::exists(old_one));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(named));
}

TEST_CASE(
    "what a rebuild writes beside the index is temporary, with its journal, and nothing else there is") {
  HomeFixture fixture;
  FileStore store(posix_file_system(), HomeLayout(fixture.open()->description().place), fixture.log.sink());
  for (const char* name : {"index.sqlite", "index.sqlite-journal", ".other.1.2.3.tmp"})
    write_file(fixture.home / name, Bytes(10));
  CHECK(temporaries_beside_index(store)->empty());
  const fs::path fresh = temporary_path_beside(store.home().index());
  const fs::path journal = fresh.native() + "-journal";
  for (const fs::path& file : {fresh, journal})
    write_file(file, Bytes(10));
  CHECK(*temporaries_beside_index(store) == std::vector<fs::path>{fresh, journal});
}

}  // namespace
}  // namespace cubinet::test
