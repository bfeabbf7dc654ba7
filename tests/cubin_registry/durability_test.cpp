// SPDX-License-Identifier: Apache-2.0
// Watches the calls on which a file's survival depends, because no test can switch off a machine:
// content is synced before its name, and the name before the files that refer to it.
#include "cubin_registry/aged_home.hpp"
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <utility>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

// The calls in order. Consecutive equal calls are one line.
struct Calls {
  std::vector<std::string> lines;
  void add(std::string line) {
    if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
  }
};

class WatchedFile final : public WritableFile {
 public:
  WatchedFile(std::unique_ptr<WritableFile> file, Calls& calls) : file_(std::move(file)), calls_(calls) {}

  Result<void> write(ByteView bytes) override {
    calls_.add("write");
    return file_->write(bytes);
  }
  Result<void> sync() override {
    calls_.add("sync");
    return file_->sync();
  }
  Result<void> close() override {
    calls_.add("close");
    return file_->close();
  }

 private:
  std::unique_ptr<WritableFile> file_;
  Calls& calls_;
};

class WatchedFiles final : public ForwardingFiles {
 public:
  WatchedFiles(Path root, Calls& calls) : root_(std::move(root)), calls_(calls) {}

  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    calls_.add("create in " + name_of(path.parent_path()));
    auto file = ForwardingFiles::create(path);
    if (!file) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<WatchedFile>(*std::move(file), calls_));
  }
  Result<void> link(const Path& from, const Path& to) override {
    calls_.add("link in " + name_of(to.parent_path()));
    return ForwardingFiles::link(from, to);
  }
  Result<void> rename(const Path& from, const Path& to) override {
    CHECK(from.parent_path() == to.parent_path());
    calls_.add("rename in " + name_of(to.parent_path()));
    return ForwardingFiles::rename(from, to);
  }
  Result<void> sync_directory(const Path& path) override {
    calls_.add("sync " + name_of(path));
    return ForwardingFiles::sync_directory(path);
  }
  Result<std::unique_ptr<FileLock>> lock(const Path& path, Sharing sharing) override {
    calls_.add((sharing == Sharing::shared ? "share " : "exclude ") + path.filename().string());
    return ForwardingFiles::lock(path, sharing);
  }
  Result<void> create_directories(const Path& path, Mode mode) override {
    calls_.add("make " + name_of(path));
    return ForwardingFiles::create_directories(path, mode);
  }

 private:
  // Returns "cubins", and "cubins/*" for its folders, whose names are digests.
  std::string name_of(const Path& folder) const {
    const Path relative = folder.lexically_relative(root_);
    return relative.has_parent_path() ? (relative.parent_path() / "*").string() : relative.string();
  }

  Path root_;
  Calls& calls_;
};

// A new home whose calls are all watched. Calls of SQLite are logged as "index".
struct WatchedHome : HomeFixture {
  Calls calls;
  std::shared_ptr<FaultPlan> plan = std::make_shared<FaultPlan>();
  FaultyVfs vfs{plan};
  std::shared_ptr<FileSystem> files = std::make_shared<WatchedFiles>(home, calls);
  std::shared_ptr<Home> registry;

  WatchedHome() {
    plan->watch([this](FaultPlan::Call) { calls.add("index"); });
    reopen();
  }
  // Reopens the home and returns the calls that this took.
  std::vector<std::string> reopen() {
    registry.reset();
    calls.lines.clear();
    HomeOptions watched = options();
    watched.files = files;
    auto opened = Home::open(watched);
    REQUIRE_MESSAGE(opened.has_value(), why_not(opened));
    registry = *std::move(opened);
    return std::exchange(calls.lines, {});
  }
};

using Lines = std::vector<std::string>;

Lines stored_in(const std::string& folder) {
  return {"create in " + folder, "write", "sync", "close", "rename in " + folder, "sync " + folder};
}

Lines joined(std::initializer_list<Lines> parts) {
  Lines all;
  for (const Lines& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST_CASE("a publish makes the image durable, then the record, then writes the index") {
  WatchedHome home;
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  CHECK(home.calls.lines == joined({{"share store.lock", "make cubins/*"},
                                    stored_in("cubins/*"),
                                    {"sync cubins", "sync .", "make records/*"},
                                    stored_in("records/*"),
                                    {"sync records", "sync .", "index"}}));
}

TEST_CASE(
    "what another process has left there and may not have synced is durable when a publish of it returns") {
  WatchedHome home;
  home.leave(cubin_of(1));
  home.leave(cubin_of(2));
  fs::remove(HomeLayout(home.home).record(entry_name(*cubin_of(2).record)));
  home.reopen();
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  CHECK(home.calls.lines == Lines{"share store.lock", "sync cubins/*", "sync records/*"});
  home.calls.lines.clear();
  REQUIRE(publishes(*home.registry, cubin_of(2)));
  CHECK(home.calls.lines ==
        joined({{"share store.lock", "sync cubins/*"}, stored_in("records/*"), {"index"}}));
  // An old entry is on the disk by now, so it is not synced again.
  make_published(home.home, cubin_of(1), 1);
  home.reopen();
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  CHECK(home.calls.lines == Lines{"share store.lock"});
  const KernelKey key = cubin_of(1).record->identity.key();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(home.registry->pin(key));
    CHECK(std::find(home.calls.lines.begin(), home.calls.lines.end(), "sync pins") != home.calls.lines.end());
    home.calls.lines.clear();
  }
}

TEST_CASE("an empty home is made, and its index is written, without waiting for the disk") {
  WatchedHome home;
  fs::remove_all(home.home);
  for (const std::string& call : home.reopen())
    CHECK_MESSAGE(!call.starts_with("sync"), call);
  unsigned syncs = 0;
  home.plan->watch([&](FaultPlan::Call call) { syncs += call.syncs ? 1U : 0U; });
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  CHECK(fs::exists(home.home / "index.sqlite"));
  CHECK(syncs == 0);
}

TEST_CASE("an import makes its images durable, then itself") {
  const Lines before = {"share import.lock", "make cubins/*"};
  const Lines behind = {"sync cubins", "sync ."};
  const Lines import = joined({{"exclude store.lock", "make imports"}, stored_in("imports"), {"sync ."}});
  {
    WatchedHome home;
    const ArtifactFolder folder(home.folder / "published", 0, 1, ArtifactPlacement::copied);
    REQUIRE(folder.publish(*home.registry));
    CHECK(home.calls.lines == joined({before, stored_in("cubins/*"), behind, import}));
  }
  WatchedHome home;
  const ArtifactFolder folder(home.folder / "published", 0, 1, ArtifactPlacement::linked);
  REQUIRE(folder.publish(*home.registry));
  const Lines linked = {"link in cubins/*", "rename in cubins/*", "sync cubins/*"};
  CHECK(home.calls.lines == joined({before, linked, behind, import}));
}

TEST_CASE("what is removed is gone from the disk before its row and its image are") {
  WatchedHome home;
  const ArtifactFolder folder(home.folder / "published", 0, 1);
  REQUIRE(folder.publish(*home.registry));
  home.calls.lines.clear();
  REQUIRE(*home.registry->imports().remove(1));
  CHECK(home.calls.lines == Lines{"exclude store.lock", "sync imports"});
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  home.calls.lines.clear();
  REQUIRE(*home.registry->remove({cubin_of(1).record}));
  CHECK(home.calls.lines == Lines{"exclude store.lock", "sync records/*", "index", "exclude import.lock"});
}

TEST_CASE("looking up asks no index, and the index is made and written under the store lock") {
  WatchedHome home;
  REQUIRE(publishes(*home.registry, cubin_of(1)));
  CHECK(home.reopen().empty());
  CHECK(home.registry->find(cubin_of(1).record->identity.kernel())->size() == 1);
  CHECK(home.calls.lines.empty());
  REQUIRE(home.registry->imports().remember("/published", std::vector<VerifiedFile>(1)));
  CHECK(home.calls.lines == Lines{"share store.lock", "index"});
  fs::remove(home.home / "index.sqlite");
  home.reopen();
  CHECK(home.registry->list()->size() == 1);
  CHECK(home.calls.lines == Lines{"share store.lock", "index", "share store.lock", "index"});
}

TEST_CASE("a bundle is durable when it has been created") {
  WatchedHome home;
  REQUIRE(create_bundle(home.home / "kernels.bundle", {cubin_of(1), cubin_of(2)}, {}, home.files));
  CHECK(home.calls.lines == stored_in("."));
}

}  // namespace
}  // namespace cubinet::test
