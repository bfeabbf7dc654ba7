// SPDX-License-Identifier: Apache-2.0
#include "api/device_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/journal.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/journal.hpp>
#include <cubinet/session/journal_writer.hpp>
#include <cubinet/session/prebuild.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

namespace {

struct JournalSetting {
  test::Stub stub;
  test::TempDir folder;
  SessionOptions options;

  JournalSetting() {
    test::write_file(folder / "scale.cu", as_bytes(test::kScaleTemplate));
    options.template_files = {(folder / "scale.cu").string()};
    options.home = (folder / "home").string();
    options.compiler = test::compiler_search();
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
  }
  std::shared_ptr<Session> open() const { return ok(Session::open(options)); }
};

}  // namespace

TEST_CASE_FIXTURE(JournalSetting, "each compilation for a request is noted once, and no hit or prebuild") {
  if (stub.missing()) return;
  {
    const auto session = open();
    ok(session->runtime().function(test::scale_spec(4), 0));
    ok(session->runtime().function(test::scale_spec(4), 0));
    ok(session->runtime().cubin(test::scale_spec(5), {9, 0, TargetKind::specific}));
  }
  const auto session = open();
  ok(session->runtime().function(test::scale_spec(4), 0));  // from the home
  ok(session->runtime().function(test::scale_spec(3), 0));
  const JournalReport report = ok(read_journal(*session->home()));
  REQUIRE(report.entries.size() == 2);
  CHECK(report.entries[0].kernel == "scale(factor=4, unroll=1)");
  const JournalEntry& entry = report.entries[1];
  CHECK(entry.kernel == "scale(factor=3, unroll=1)");
  CHECK(entry.compile_seconds > 0);
  CHECK(entry.seconds >= entry.compile_seconds);
  REQUIRE(entry.stores.size() == 2);
  CHECK(entry.stores[1].verdicts.empty());
  REQUIRE(entry.nearest.size() == 2);
  CHECK(entry.nearest[0].find("instead of 3") != std::string::npos);
  CHECK(entry.remedy().find("prebuild it for " + entry.target) != std::string::npos);
}

TEST_CASE_FIXTURE(JournalSetting, "a session without a journal notes nothing") {
  if (stub.missing()) return;
  options.journal = false;
  const auto session = open();
  ok(session->runtime().function(test::scale_spec(4), 0));
  CHECK(ok(read_journal(*session->home())).entries.empty());
}

TEST_CASE_FIXTURE(JournalSetting, "entries are selected by time and kernel, and damage is counted") {
  const auto home = ok(Home::open({.path = options.home}));
  JournalEntry entry;
  entry.kernel = "scale(factor=4)";
  entry.key = "0123456789abcdef";
  ok(home->journal().add(journal_text(entry)));
  entry.kernel = "rms_norm(hidden_size=64)";
  entry.key = "fedcba9876543210";
  ok(home->journal().add(journal_text(entry)));
  for (const char* text : {"no JSON", "[]", "{\"kernel\": 3, \"stores\": {}, \"device\": \"x\"}"})
    ok(home->journal().add(text));
  CHECK(ok(read_journal(*home, {.kernel = "scale"})).entries.size() == 1);
  CHECK(ok(read_journal(*home, {.kernel = "fedcba9876543210"})).entries.size() == 1);
  CHECK(ok(read_journal(*home, {.since = "1h", .kernel = "rms_norm"})).entries.size() == 1);
  CHECK(ok(read_journal(*home, {.since = "2999-01-01"})).entries.empty());
  const JournalReport report = ok(read_journal(*home, {.since = "1d"}));
  CHECK(report.entries.size() == 3);  // one has members of wrong types
  CHECK(report.damaged == 2);
  const auto wrong = read_journal(*home, {.since = "soon"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == ErrorCode::invalid_argument);
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["damaged"] == 2);
  CHECK(json["entries"][0]["key"] == "0123456789abcdef");
  CHECK(json["entries"][0]["time"].get<std::string>().ends_with("Z"));
}

TEST_CASE("an entry reads as it was written") {
  JournalEntry entry;
  entry.process = "python3";
  entry.pid = 7;
  entry.host = "pod-1";
  entry.kernel = "scale(factor=3)";
  entry.spec = KernelSpec{"scale", {}}.set("factor", 3);
  entry.stores = {{"bundle", "/b", {"sm_90a: foreign"}}};
  entry.nearest = {"0123456789abcdef for sm_90a: factor 4 instead of 3"};
  const JournalEntry read = ok(parse_journal_text(journal_text(entry)));
  CHECK(journal_text(read) == journal_text(entry));
  CHECK(read.spec == entry.spec);
}
