// SPDX-License-Identifier: Apache-2.0
#include "session/served_channel.hpp"
#include "support/text.hpp"

#include <cubinet/report/subjects.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

void flip_bit_at(const std::string& file, std::streamoff offset) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(offset);
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(offset);
  stream.put(byte);
  REQUIRE(stream.flush());
}

}  // namespace

TEST_CASE("a home, a bundle, a server, a workload and results are each recognised") {
  const ServedChannel served;
  const auto open = [&](const std::string& place) { return ok(open_subject(served.session, place)); };
  ok(Home::open({.path = served.session.home}));
  CHECK(std::holds_alternative<HomeSubject>(open(served.session.home)));
  CHECK(std::holds_alternative<BundleSubject>(open(served.bundle(7))));
  served.push(8);
  const Subject server = open(served.reference());
  REQUIRE(std::holds_alternative<BundleSubject>(server));
  CHECK(std::get<BundleSubject>(server).bundle->root().options.version == 8);
  const std::string workload = (served.folder / "w.workload").string();
  ok(Workload().write(workload));
  CHECK(std::holds_alternative<WorkloadSubject>(open(workload)));
  write_file(served.folder / "r.json", "\n {\"rows\": [{\"name\": \"a\", \"x\": 1}]}");
  const Subject results = open((served.folder / "r.json").string());
  CHECK(std::holds_alternative<BenchmarkSubject>(results));
  CHECK(store_of(results) == nullptr);
  CHECK(store_of(server) != nullptr);
}

TEST_CASE("an empty folder is a home without content") {
  const ServedChannel served;
  std::filesystem::create_directories(served.folder / "empty");
  std::filesystem::permissions(served.folder / "empty", std::filesystem::perms::owner_all);
  CHECK(std::holds_alternative<HomeSubject>(
      ok(open_subject(served.session, (served.folder / "empty").string()))));
}

TEST_CASE("anything else is refused with what may be named") {
  const ServedChannel served;
  const auto refused = [&](const std::string& place) {
    const auto subject = open_subject(served.session, place);
    REQUIRE_FALSE(subject);
    return subject.error();
  };
  write_file(served.folder / "folder/file", "x");
  write_file(served.folder / "text", "neither");
  write_file(served.folder / "broken.json", "{\"rows\": [");
  write_file(served.folder / "nothing", "");
  for (const char* name : {"folder", "text", "broken.json", "nothing"}) {
    const Error error = refused((served.folder / name).string());
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(contains(error.message, name));
    CHECK_FALSE(error.remedy.empty());
  }
  CHECK(refused("").code == ErrorCode::invalid_argument);
  CHECK(refused((served.folder / "absent").string()).code == ErrorCode::not_found);
  const std::string damaged = served.bundle(7);
  flip_bit_at(damaged, 40);
  CHECK(refused(damaged).code == ErrorCode::corruption);
  write_file(served.folder / "newer.workload", "{\"cubinet_workload\":9,\"lines\":0}\n");
  CHECK(refused((served.folder / "newer.workload").string()).code == ErrorCode::unsupported);
}
