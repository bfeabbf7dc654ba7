// SPDX-License-Identifier: Apache-2.0
#include "tuning/tuning_place.hpp"

#include "support/measured_row.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <thread>

using namespace cubinet;
using test::measured_row;
using test::ok;
using test::table_of;

TEST_CASE("a table file is made by the first rows, and later rows are merged into it") {
  const test::TempDir folder;
  const std::string file = folder / "t.tuning";
  const TuningPlace place = ok(TuningPlace::open({}, file));
  CHECK(place.name() == file);
  ok(place.add(table_of(measured_row(1))));
  ok(place.add(table_of(measured_row(2))));
  CHECK(ok(read_tuning_file(*posix_file_system(), file, false)).rows().size() == 2);
}

TEST_CASE("without a file the rows go to the home, and without a home that is an error") {
  const test::TempDir folder;
  SessionOptions options;
  options.home = (folder / "home").string();
  const TuningPlace place = ok(TuningPlace::open(options, ""));
  ok(place.add(table_of(measured_row(1))));
  HomeOptions home;
  home.path = options.home;
  CHECK(ok(ok(Home::open(home))->tuning()).rows().size() == 1);
  CHECK(TuningPlace::open({}, "").error().code == ErrorCode::unavailable);
}

TEST_CASE("a row that was measured now is dated after an older measurement with a later date") {
  const test::TempDir folder;
  const TuningPlace place = ok(TuningPlace::open({}, (folder / "t").string()));
  ok(place.add(table_of(measured_row(1, 4'000'000'000))));
  TuningTable::Row now = measured_row(1, 1'800'000'000);
  now.candidates = 5;
  ok(place.add_measured(now));
  CHECK(now.measured == 4'000'000'001);
  const TuningTable kept = ok(read_tuning_file(*posix_file_system(), place.name(), false));
  REQUIRE(kept.rows().size() == 1);
  CHECK(kept.rows().front().candidates == 5);
}

TEST_CASE("a file that is no table is an error with its name, and a missing one only if it must exist") {
  const test::TempDir folder;
  const std::string file = folder / "t";
  const auto files = posix_file_system();
  CHECK(ok(read_tuning_file(*files, file, true)).rows().empty());
  CHECK(read_tuning_file(*files, file, false).error().code == ErrorCode::not_found);
  std::ofstream(file) << "not a table";
  for (const bool may_be_missing : {false, true}) {
    const auto refused = read_tuning_file(*files, file, may_be_missing);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(file) != std::string::npos);
  }
  CHECK_FALSE(TuningPlace::open({}, file));
}

TEST_CASE("threads that add to one file at the same time lose no row and leave no lock") {
  const test::TempDir folder;
  const std::string file = folder / "t";
  std::vector<std::thread> threads;
  for (std::uint32_t first : {1U, 11U, 21U}) {
    threads.emplace_back([&file, first] {
      const TuningPlace place = ok(TuningPlace::open({}, file));
      for (std::uint32_t batch = first; batch < first + 5; ++batch)
        ok(place.add(table_of(measured_row(batch))));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(ok(read_tuning_file(*posix_file_system(), file, false)).rows().size() == 15);
  const std::filesystem::directory_iterator left(folder.path());
  CHECK(std::distance(begin(left), end(left)) == 1);
}
