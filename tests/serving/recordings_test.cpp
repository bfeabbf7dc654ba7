// SPDX-License-Identifier: Apache-2.0
#include "recordings.hpp"

#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/session/workload.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::ok;
using test::TempDir;

constexpr const char* kFirst = R"({"cubinet_workload":1,"lines":0})";

std::string kernel_line(const std::string& name, int order) {
  return R"({"devices":[{"capability":"9.0"}],"kernel":{"maker":"template","name":")" + name +
         R"(","parameters":{}},"order":)" + std::to_string(order) + "}";
}

// Writes the file of a Session that has recorded.
void record(const Recordings& recordings, const std::string& name, const std::string& lines) {
  test::write_file(fs::path(recordings.folder()) / name, std::string(kFirst) + "\n" + lines);
}

std::size_t files_in_folder(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("the recordings of all processes are merged into the workload, and their folder goes") {
  const TempDir temp;
  const std::string workload = (temp / "w.workload").string();
  const Recordings recordings = ok(Recordings::open(workload));
  record(recordings, "1.workload", kernel_line("one", 0) + "\n" + kernel_line("two", 1) + "\n");
  ok(recordings.merge({}));
  CHECK(ok(Workload::read(workload)).size() == 2);
  record(recordings, "2.workload", kernel_line("two", 0) + "\n" + kernel_line("three", 1) + "\n");
  ok(recordings.close({}));
  CHECK(ok(Workload::read(workload)).size() == 3);
  CHECK(ok(Workload::read(workload)).rejected().empty());
  CHECK(files_in_folder(temp.path()) == 1);
}

TEST_CASE("a workload of an earlier run is continued") {
  const TempDir temp;
  const std::string workload = (temp / "w.workload").string();
  for (const char* name : {"one", "two"}) {
    const Recordings recordings = ok(Recordings::open(workload));
    record(recordings, "1.workload", kernel_line(name, 0) + "\n");
    ok(recordings.close({}));
  }
  CHECK(ok(Workload::read(workload)).size() == 2);
}

TEST_CASE("a process that was killed while it wrote a line loses that line alone" *
          doctest::test_suite("loop")) {
  const std::string line = kernel_line("two", 1) + "\n";
  for (std::size_t written = 0; written < line.size(); ++written) {
    const TempDir temp;
    const std::string workload = (temp / "w.workload").string();
    const Recordings recordings = ok(Recordings::open(workload));
    record(recordings, "1.workload", kernel_line("one", 0) + "\n" + line.substr(0, written));
    ok(recordings.close({}));
    const Workload merged = ok(Workload::read(workload));
    // Only its newline may be missing.
    CHECK(merged.size() == (written + 1 == line.size() ? 2 : 1));
    CHECK(merged.rejected().empty());
    CHECK_FALSE(fs::exists(recordings.folder()));
  }
}

TEST_CASE("a process that was killed while it wrote the first line leaves nothing") {
  const std::string first = std::string(kFirst) + "\n";
  for (std::size_t written = 0; written < first.size(); ++written) {
    const TempDir temp;
    const Recordings recordings = ok(Recordings::open((temp / "w.workload").string()));
    test::write_file(fs::path(recordings.folder()) / "1.workload", first.substr(0, written));
    ok(recordings.close({}));
    CHECK_FALSE(fs::exists(recordings.folder()));
  }
}

TEST_CASE("a file that is no workload is kept, and so are the recordings") {
  const TempDir temp;
  const std::string workload = (temp / "w.workload").string();
  for (const std::string& content : {std::string("mine"), std::string(kFirst) + "\nx\n",
                                     std::string(R"({"cubinet_workload":9,"lines":0})")}) {
    test::write_file(temp / "w.workload", content);
    const Recordings recordings = ok(Recordings::open(workload));
    record(recordings, "1.workload", kernel_line("one", 0) + "\n");
    CHECK_FALSE(recordings.close({}));
    CHECK(fs::file_size(workload) == content.size());
    CHECK(files_in_folder(recordings.folder()) == 1);
  }
}

TEST_CASE("a folder that does not exist is an error that names it") {
  const TempDir temp;
  const auto opened = Recordings::open((temp / "none" / "w.workload").string());
  REQUIRE_FALSE(opened);
  CHECK(test::contains(opened.error().message, "none"));
}

TEST_CASE("recordings that are not merged whole are kept, and the others go") {
  for (const std::string& damaged : {std::string("no recording"), std::string(kFirst) + "\nx\n",
                                     std::string(R"({"cubinet_workload":9,"lines":0})")}) {
    const TempDir temp;
    const std::string workload = (temp / "w.workload").string();
    const Recordings recordings = ok(Recordings::open(workload));
    record(recordings, "1.workload", kernel_line("one", 0) + "\n");
    test::write_file(fs::path(recordings.folder()) / "2.workload", damaged);
    std::string logged;
    ok(recordings.close([&](const LogRecord& line) { logged += line.message; }));
    CHECK(ok(Workload::read(workload)).size() == 1);
    REQUIRE(fs::exists(recordings.folder()));
    CHECK(files_in_folder(recordings.folder()) == 1);
    CHECK(test::read_file(fs::path(recordings.folder()) / "2.workload") == damaged);
    CHECK(test::contains(logged, recordings.folder()));
  }
}

}  // namespace
}  // namespace cubinet
