// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include "store_fixture.hpp"
#include "support/measured_row.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/judge.hpp>

namespace cubinet {
namespace {

using namespace test;

constexpr ImageTarget kTarget{{9, 0, TargetKind::specific}, ImageKind::cubin};

BuildRequest build_request_of(std::string_view today) {
  BuildRequest build_request;
  build_request.targets = {kTarget};
  build_request.interface_version = 1;
  build_request.compiler = "here";
  build_request.today = {{kTarget, fake_fingerprint(today)}};
  return build_request;
}

KernelId kernel() {
  return identify(ShelfBuild().spec);
}

TEST_CASE("what the stores hold of a kernel is handed to the judge, memory first") {
  const auto home = std::make_shared<ShelfStore>();
  const auto bundle = std::make_shared<ShelfStore>(KernelSource::bundle, "/x.bundle", false);
  const ShelfBuild today;
  ShelfBuild shipped;
  shipped.word = "elsewhere";
  shipped.origin = CubinOrigin::bundle;
  bundle->put(shipped.make());
  Library library({home, bundle}, {});
  CHECK(library.stores().size() == 3);
  CHECK(library.stores().front()->description().kind == "memory");
  auto found = library.choose(library.candidates(kernel()), build_request_of("today"));
  CHECK(digest_of(found) == digest_of(shipped));
  CHECK(found->source == KernelSource::bundle);
  home->put(today.make());
  found = library.choose(library.candidates(kernel()), build_request_of("today"));
  CHECK(digest_of(found) == digest_of(today));
  CHECK(found->source == KernelSource::registry);
  CHECK_FALSE(
      library.choose(library.candidates(identify(KernelSpec{"other", {}})), build_request_of("today")));
}

TEST_CASE("of each store it is counted how often it was asked, had something, and was used") {
  const auto home = std::make_shared<ShelfStore>();
  const auto bundle = std::make_shared<ShelfStore>(KernelSource::bundle, "/x.bundle", false);
  ShelfBuild stale;
  stale.word = "elsewhere";
  home->put(stale.make());
  ShelfBuild shipped;
  shipped.origin = CubinOrigin::bundle;
  bundle->put(shipped.make());
  Library library({home, bundle}, {});
  REQUIRE(library.choose(library.candidates(kernel()), build_request_of("today")));
  static_cast<void>(library.candidates(identify(KernelSpec{"other", {}})));
  const auto uses = library.uses();
  REQUIRE(uses.size() == library.stores().size());
  for (const StoreUses& store : uses)
    CHECK(store.asked == 2);
  CHECK(uses[0].found == 0);
  CHECK(uses[1].found == 1);
  CHECK(uses[1].used == 0);  // its build is stale
  CHECK(uses[2].found == 1);
  CHECK(uses[2].used == 1);
}

TEST_CASE("the order in which bundles are given does not matter, the newest goes first") {
  const auto older = std::make_shared<ShelfStore>(KernelSource::bundle, "/a", false);
  const auto newer = std::make_shared<ShelfStore>(KernelSource::bundle, "/b", false);
  ShelfBuild build{.word = "a", .origin = CubinOrigin::bundle, .version = 1};
  older->put(build.make());
  build.word = "b";
  build.version = 2;
  newer->put(build.make());
  Library forward({older, newer}, {});
  Library backward({newer, older}, {});
  CHECK(digest_of(forward.choose(forward.candidates(kernel()), build_request_of("today"))) ==
        digest_of(build));
  CHECK(digest_of(backward.choose(backward.candidates(kernel()), build_request_of("today"))) ==
        digest_of(build));
}

TEST_CASE("what is damaged or gone is skipped for the next best, and damage is logged") {
  std::string said;
  const auto shelf = std::make_shared<ShelfStore>();
  Library library({shelf}, [&](const LogRecord& record) { said += record.message; });
  const ShelfBuild best;
  const ShelfBuild second{.word = "a", .origin = CubinOrigin::bundle, .version = 2};
  const ShelfBuild third{.word = "b", .origin = CubinOrigin::bundle, .version = 1};
  for (const ShelfBuild& build : {best, second, third})
    shelf->put(build.make());
  const auto chosen = [&] {
    return digest_of(library.choose(library.candidates(kernel()), build_request_of("today")));
  };
  shelf->lost.insert(best.make().record->digest);
  CHECK(chosen() == digest_of(second));
  CHECK(said.empty());
  shelf->damaged.insert(second.make().record->digest);
  CHECK(chosen() == digest_of(third));
  CHECK(said.find("damaged on the shelf") != std::string::npos);
  shelf->lost.insert(third.make().record->digest);
  CHECK(chosen() == "none");
}

TEST_CASE("what no query could read is listed in the order of the stores") {
  const auto first = std::make_shared<ShelfStore>();
  const auto second = std::make_shared<ShelfStore>();
  first->torn = {Error{ErrorCode::corruption, "'/a' is damaged", "repair it"}};
  second->silent = true;
  Library library({first, second, std::make_shared<ShelfStore>()}, {});
  const auto unreadable = library.unreadable(kernel(), library.candidates(kernel()));
  REQUIRE(unreadable.size() == 2);
  CHECK(unreadable[0].store == 1);  // after the memory
  CHECK(unreadable[0].error.to_line() == "'/a' is damaged (repair it)");
  CHECK(unreadable[1].store == 2);
  CHECK(unreadable[1].error.message == "the shelf does not answer");
}

TEST_CASE("what was refused is skipped wherever it lies, the same bytes under a better record are not") {
  const auto shelf = std::make_shared<ShelfStore>();
  const auto other = std::make_shared<ShelfStore>();
  const ShelfBuild build{.origin = CubinOrigin::bundle, .version = 1};
  const Cubin honest = build.make();
  CubinRecord lie = *honest.record;
  lie.entry_points.front().symbol = "gone";
  const Cubin forged{std::make_shared<const CubinRecord>(lie), honest.image};
  shelf->put(forged);
  other->put(honest);
  Library library({shelf, other}, {});
  CubinRecords refused;
  const auto chosen = [&] {
    return library.choose(library.candidates(kernel()), build_request_of("today"), refused);
  };
  CHECK(chosen()->cubin.record->entry_points.front().symbol == "gone");
  refused.push_back(forged.record);
  CHECK(chosen()->cubin.record->entry_points == honest.record->entry_points);
  refused.push_back(honest.record);
  CHECK_FALSE(chosen());
}

TEST_CASE("a build is kept in the first store that takes it, else in memory, which is said once") {
  int warnings = 0;
  const auto reader = std::make_shared<ShelfStore>(KernelSource::registry, "/site", false);
  const auto first = std::make_shared<ShelfStore>();
  const auto second = std::make_shared<ShelfStore>();
  Library library({reader, first, second},
                  [&](const LogRecord& record) { warnings += record.level == LogLevel::warning ? 1 : 0; });
  CHECK(library.keep(ShelfBuild{.word = "a"}.make()) == KernelSource::registry);
  CHECK(reader->published == 0);
  CHECK(first->list()->size() == 1);
  CHECK(second->published == 0);
  first->full = true;
  CHECK(library.keep(ShelfBuild{.word = "b"}.make()) == KernelSource::registry);
  CHECK(second->list()->size() == 1);
  CHECK(warnings == 0);
  second->full = true;
  for (const char* word : {"c", "d"}) {
    CHECK(library.keep(ShelfBuild{.word = word}.make()) == KernelSource::memory);
    const auto found = library.choose(library.candidates(kernel()), build_request_of(word));
    REQUIRE(found);
    CHECK(found->source == KernelSource::memory);
  }
  CHECK(warnings == 1);
}

TEST_CASE("a home that cannot be written is warned of once with the reason, when a build is not kept") {
  std::vector<std::string> warnings;
  const auto home = std::make_shared<ShelfStore>(KernelSource::registry, "/shelf", false);
  home->describe_read_only("the home '/shelf' cannot be written: Read-only file system");
  Library library({home}, [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) warnings.emplace_back(record.message);
  });
  CHECK(warnings.empty());
  for (const char* word : {"a", "b"})
    CHECK(library.keep(ShelfBuild{.word = word}.make()) == KernelSource::memory);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().find("cannot be written: Read-only file system") != std::string::npos);
  CHECK(warnings.front().find("`HomeOptions::path`") != std::string::npos);
}

TEST_CASE("a build is kept after all if its lock had the last file descriptor") {
  struct LastDescriptor final : BuildLock {
    explicit LastDescriptor(ShelfStore& owner) : store(owner) { store.no_descriptor = true; }
    ~LastDescriptor() override { store.no_descriptor = false; }
    LastDescriptor(const LastDescriptor&) = delete;
    LastDescriptor& operator=(const LastDescriptor&) = delete;
    ShelfStore& store;
  };
  int warnings = 0;
  const auto home = std::make_shared<ShelfStore>();
  Library library({home},
                  [&](const LogRecord& record) { warnings += record.level == LogLevel::warning ? 1 : 0; });
  CHECK(library.keep(ShelfBuild().make(), std::make_unique<LastDescriptor>(*home)) == KernelSource::registry);
  CHECK(home->published == 2);
  CHECK(warnings == 0);
  home->no_descriptor = true;  // another part of the process holds the last descriptor
  CHECK(library.keep(ShelfBuild{.word = "b"}.make()) == KernelSource::memory);
  CHECK(warnings == 1);
}

TEST_CASE("without a store a build is kept in memory, where only one that is current is used") {
  Library library({}, {});
  CHECK(library.keep(ShelfBuild{.word = "old"}.make()) == KernelSource::memory);
  CHECK_FALSE(library.choose(library.candidates(kernel()), build_request_of("new")));
  CHECK(library.choose(library.candidates(kernel()), build_request_of("old")));
  CHECK(library.lock_for_build(ShelfBuild().make().record->identity, fake_fingerprint("x")) == nullptr);
}

TEST_CASE("a server that is out stops nothing that stands without it, and is told once until it answers") {
  int warnings = 0;
  const auto server = std::make_shared<ShelfStore>(KernelSource::server, "oci://host/kernels:stable", false);
  const auto home = std::make_shared<ShelfStore>();
  const ShelfBuild build{.has_row = true};
  home->put(build.make());
  server->put(ShelfBuild{.word = "shipped", .origin = CubinOrigin::bundle}.make());
  Library library({home, server},
                  [&](const LogRecord& record) { warnings += record.level == LogLevel::warning ? 1 : 0; });
  server->silent = true;
  for (int i = 0; i < 3; ++i)
    CHECK(digest_of(library.choose(library.candidates(kernel()), build_request_of("today"))) ==
          digest_of(build));
  CHECK(library.all()->records.size() == 1);
  CHECK(library.with_function("kernel")->records.size() == 1);
  CHECK(library.rows()->size() == 3);
  CHECK(warnings == 1);
  server->silent = false;
  CHECK(library.all()->records.size() == 2);
  const auto found = library.choose(library.candidates(kernel()), build_request_of("tomorrow"));
  REQUIRE(found);
  CHECK(found->source == KernelSource::server);
  server->silent = true;
  static_cast<void>(library.candidates(kernel()));
  CHECK(warnings == 2);
}

TEST_CASE("a cache is asked for one build alone, counted, and told once while it does not answer") {
  int warnings = 0;
  const auto cache = std::make_shared<ShelfCache>();
  Library library({}, [&](const LogRecord& record) { warnings += record.level == LogLevel::warning ? 1 : 0; },
                  {cache});
  const Cubin build = ShelfBuild().make();
  const auto ask = [&] {
    return library.find_build(build.record->identity, build.record->kind, build.record->fingerprint);
  };
  CHECK_FALSE(ask());
  library.share(build);
  const auto found = ask();
  REQUIRE(found);
  CHECK(digest_of(found->found) == digest_of(ShelfBuild()));
  CHECK(found->found.source == KernelSource::server);
  cache->silent = true;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(ask());
    // Lists and look-ups of a kernel do not query the cache, so they neither fail nor log again.
    CHECK(library.candidates(kernel()).records.empty());
  }
  CHECK(library.all());
  CHECK(cache->asked == 5);
  CHECK(warnings == 1);
  REQUIRE(library.uses().size() == 2);
  const StoreUses uses = library.uses().back();
  CHECK(uses.asked == 5);
  CHECK(uses.found == 1);
  CHECK(uses.used == 1);
}

TEST_CASE("a store that does not answer is told and stops no request, but a list of rows fails") {
  std::string said;
  const auto shelf = std::make_shared<ShelfStore>();
  const auto other = std::make_shared<ShelfStore>();
  const ShelfBuild build{.has_row = true};
  shelf->put(build.make());
  other->put(build.make());
  Library library({shelf, other}, [&](const LogRecord& record) { said += record.message; });
  CHECK(library.rows()->size() == 3);
  shelf->silent = true;
  CHECK(digest_of(library.choose(library.candidates(kernel()), build_request_of("today"))) ==
        digest_of(build));
  CHECK(said.find("/shelf") != std::string::npos);
  // A name could seem to be unique if one of the stores were left out.
  CHECK(library.with_key(build.make().record->identity.key()).error().code == ErrorCode::io);
  CHECK(library.with_function("kernel").error().code == ErrorCode::io);
  CHECK(library.all().error().code == ErrorCode::io);
  CHECK(library.all_of(kernel()).error().code == ErrorCode::io);
  const auto rows = library.rows();
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == ErrorCode::io);
}

TEST_CASE("measurements are those of all stores, and one that does not answer is told") {
  const auto home = std::make_shared<ShelfStore>();
  const auto bundle = std::make_shared<ShelfStore>(KernelSource::bundle, "/b.bundle", false);
  ok(home->add_tuning(table_of(measured_row(64))));
  TuningTable newer = table_of(measured_row(64, 1'900'000'000));
  newer.add(measured_row(1));
  ok(bundle->add_tuning(newer));
  std::string said;
  Library library({home, bundle}, [&](const LogRecord& record) { said += record.message; });
  CHECK(library.tuning() == newer);
  bundle->silent = true;
  CHECK(library.tuning() == table_of(measured_row(64)));
  CHECK(said.find("/b.bundle skipped") != std::string::npos);
}

// A store of a kind that the library does not know: it implements Store alone.
class TapeStore final : public Store {
 public:
  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId&) override { return list(); }
  Result<CubinRecords> find_key(KernelKey) override { return list(); }
  Result<CubinRecords> find_function(std::string_view) override { return list(); }
  Result<CubinRecords> list() override {
    if (ejected) return Error{ErrorCode::unavailable, "no tape"};
    return CubinRecords{build.record};
  }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord>) override {
    return std::optional(build);
  }

  Cubin build = ShelfBuild{.has_row = true}.make();
  bool ejected = false;

 private:
  StoreDescription description_{
      .kind = "tape", .place = "/dev/tape", .source = KernelSource::bundle, .remote = true};
};

TEST_CASE("a store of a new kind needs nothing but itself, and its kind is only printed") {
  std::string said;
  const auto tape = std::make_shared<TapeStore>();
  Library library({tape}, [&](const LogRecord& record) { said += record.message; });
  const auto found = library.choose(library.candidates(kernel()), build_request_of("today"));
  REQUIRE(found);
  CHECK(found->source == KernelSource::bundle);
  CHECK(library.all()->records.size() == 1);
  // It has no row table.
  REQUIRE(library.rows()->size() == 2);
  CHECK(library.rows()->back()->empty());
  CHECK(library.tuning().empty());
  CHECK(said.empty());
  tape->ejected = true;
  CHECK(library.candidates(kernel()).records.empty());
  CHECK(library.all()->records.empty());
  CHECK(said.find("tape /dev/tape skipped: ") == 0);
}

TEST_CASE("where a build lies tells its source, and an import is one wherever it lies") {
  Library library({std::make_shared<ShelfStore>(), std::make_shared<ShelfStore>(KernelSource::bundle),
                   std::make_shared<ShelfStore>(KernelSource::imported)},
                  {});
  CubinRecord record;
  CHECK(library.source_of(record, 0) == KernelSource::memory);
  CHECK(library.source_of(record, 1) == KernelSource::registry);
  CHECK(library.source_of(record, 2) == KernelSource::bundle);
  CHECK(library.source_of(record, 3) == KernelSource::imported);
  record.origin = CubinOrigin::imported;
  CHECK(library.source_of(record, 1) == KernelSource::imported);
}

}  // namespace
}  // namespace cubinet
