// SPDX-License-Identifier: Apache-2.0
#include "file_stamp.hpp"

#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace cubinet;

TEST_CASE("a stamp is settled once a later edit has to show in its times") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kOneMillisecond = 1'000'000;
  FileStamp stamp;
  CHECK(stamp.settled(0));  // no file: one that appears shows
  stamp.exists = true;
  stamp.changed_ns = 1000 * kSecond + 1;
  CHECK_FALSE(stamp.settled(stamp.changed_ns));
  CHECK_FALSE(stamp.settled(stamp.changed_ns + 10 * kOneMillisecond));
  CHECK(stamp.settled(stamp.changed_ns + 51 * kOneMillisecond));
  stamp.modified_ns = stamp.changed_ns + 10 * kSecond;  // set by somebody
  CHECK_FALSE(stamp.settled(stamp.changed_ns + 51 * kOneMillisecond));
  CHECK(stamp.settled(stamp.modified_ns + 51 * kOneMillisecond));
  // Whole seconds may be all that the file system keeps.
  stamp.modified_ns = 1000 * kSecond;
  stamp.changed_ns = 1000 * kSecond;
  CHECK_FALSE(stamp.settled(1001 * kSecond));
  CHECK(stamp.settled(1003 * kSecond));
}

TEST_CASE("the same name on another file system is another file") {
  const test::TempDir folder;
  std::ofstream(folder / "a.h") << "int a;\n";
  const FileStamp stamp = FileStamp::take(folder / "a.h");
  FileStamp other = stamp;
  ++other.device;
  CHECK(stamp.device != 0);
  CHECK(other != stamp);
}
