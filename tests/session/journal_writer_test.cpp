// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/journal.hpp>
#include <cubinet/session/journal_writer.hpp>

#include <doctest/doctest.h>

#include <map>
#include <unistd.h>

using namespace cubinet;
using test::ok;

namespace {

KernelEvent compiled_event() {
  KernelEvent event;
  event.spec = KernelSpec{"scale", {}}.set("factor", 3);
  event.target = SmTarget{9, 0, TargetKind::specific};
  event.device = 2;
  event.caller = "decode";
  event.capability = ComputeCapability{9, 0};
  event.source = KernelSource::compiled;
  event.total_seconds = 1.5;
  auto why = std::make_shared<KernelExplanation>();
  ExplainedBuild stale;
  CubinRecord record;
  record.target = {9, 0, TargetKind::specific};
  stale.record = std::make_shared<const CubinRecord>(record);
  stale.store = 1;
  stale.verdict = "stale: \x1b[31m another compiler";
  why->builds.push_back(std::move(stale));
  why->unreadable.push_back({0, Error{ErrorCode::corruption, "'/r' is damaged", "repair it"}});
  why->unreadable.push_back({99, Error{ErrorCode::io, "of no known store"}});
  event.explanation = std::move(why);
  return event;
}

std::shared_ptr<Home> home_in(const test::TempDir& folder) {
  return ok(Home::open({.path = (folder / "home").string()}));
}

}  // namespace

TEST_CASE("a compilation is noted with the stores that were searched and their verdicts") {
  const test::TempDir folder;
  const auto home = home_in(folder);
  JournalWriter writer(home, {home}, {}, {});
  writer.note(compiled_event());
  KernelEvent found = compiled_event();
  found.explanation = nullptr;
  writer.note(found);
  const JournalReport report = ok(read_journal(*home));
  REQUIRE(report.entries.size() == 1);
  const JournalEntry& entry = report.entries[0];
  CHECK(entry.kernel == "scale(factor=3)");
  CHECK(entry.spec == compiled_event().spec);
  CHECK(entry.target == "sm_90a");
  CHECK(entry.device == 2);
  CHECK(entry.caller == "decode");
  CHECK(entry.capability == "9.0");
  CHECK(entry.seconds == 1.5);
  CHECK(entry.pid == ::getpid());
  CHECK_FALSE(entry.process.empty());
  REQUIRE(entry.stores.size() == 2);
  CHECK(entry.stores[0].kind == "memory");
  CHECK(entry.stores[0].verdicts == std::vector<std::string>{"'/r' is damaged (repair it)"});
  CHECK(entry.stores[1].place == (folder / "home").string());
  CHECK(entry.stores[1].verdicts == std::vector<std::string>{"sm_90a: stale: \\x1b[31m another compiler"});
  const std::string text = to_text(entry);
  CHECK(text.find("memory: '/r' is damaged (repair it)") != std::string::npos);
  CHECK(text.find("was compiled in") != std::string::npos);
}

TEST_CASE("the files of the own templates of a program are noted by absolute path, and none for the others") {
  const test::TempDir folder;
  const auto home = home_in(folder);
  JournalWriter writer(home, {home}, {}, {}, {{"own/scale.cu"}, {"/include"}, {"/lib"}});
  writer.note(compiled_event());
  KernelEvent builtin = compiled_event();
  builtin.spec = KernelSpec{"rms_norm", {}}.set("hidden_size", 64);
  writer.note(builtin);
  const JournalReport report = ok(read_journal(*home));
  REQUIRE(report.entries.size() == 2);
  const JournalSources& own = report.entries[0].sources;
  CHECK(own.template_files ==
        std::vector<std::string>{(std::filesystem::current_path() / "own/scale.cu").string()});
  CHECK(own.include_directories == std::vector<std::string>{"/include"});
  CHECK(own.library_directories == std::vector<std::string>{"/lib"});
  CHECK(report.entries[1].sources.template_files.empty());
}

TEST_CASE("without a home that can be written the entry goes to the log") {
  const test::TempDir folder;
  static_cast<void>(home_in(folder));
  const auto home =
      ok(Home::open({.path = (folder / "home").string(), .access = HomeOptions::Access::read_only}));
  for (const std::shared_ptr<Home>& place : {home, std::shared_ptr<Home>()}) {
    std::string logged;
    JournalWriter writer(place, {}, {}, [&](const LogRecord& record) {
      REQUIRE(record.fields.size() == 2);
      CHECK(std::get<std::string_view>(record.fields[0].value) == "compilation");
      logged = std::get<std::string_view>(record.fields[1].value);
    });
    writer.note(compiled_event());
    CHECK(ok(parse_journal_text(logged)).kernel == "scale(factor=3)");
  }
  CHECK(ok(read_journal(*home)).entries.empty());
}

TEST_CASE("a journal that cannot be written is a warning once and no failure") {
  const test::TempDir folder;
  const auto home = home_in(folder);
  std::filesystem::create_directory(folder / "home" / "journal");
  std::map<LogLevel, int> levels;
  JournalWriter writer(home, {home}, {}, [&](const LogRecord& record) { ++levels[record.level]; });
  for (int i = 0; i < 3; ++i)
    writer.note(compiled_event());
  CHECK(levels[LogLevel::warning] == 1);
  CHECK(levels[LogLevel::debug] == 2);
}

TEST_CASE("an entry whose specification is too large is kept without it") {
  const test::TempDir folder;
  const auto home = home_in(folder);
  JournalWriter writer(home, {home}, {}, {});
  KernelEvent event = compiled_event();
  event.spec.set("text", std::string(HomeJournal::kMaximumLineBytes, 'x'));
  writer.note(event);
  const JournalReport report = ok(read_journal(*home));
  REQUIRE(report.entries.size() == 1);
  CHECK_FALSE(report.entries[0].spec);
  CHECK(report.entries[0].kernel.size() < 500);
}
