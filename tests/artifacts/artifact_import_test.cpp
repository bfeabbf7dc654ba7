// SPDX-License-Identifier: Apache-2.0
#include "artifacts/memory_imports.hpp"
#include "artifacts/published_folder.hpp"
#include "support/sampled.hpp"

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <sys/stat.h>
#include <thread>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct Fixture {
  TempDir root;
  PublishedFolder folder = sound_folder(root / "one/fmha");
  MemoryImports store;
  ArtifactImportOptions options;

  ArtifactImportReport import(const fs::path& path) {
    auto report = import_artifacts(path, options, store);
    REQUIRE_MESSAGE(report, report.error().message);
    return *std::move(report);
  }
  ArtifactImportReport import() { return import(root.path()); }
  // Returns the names of all files that the imports published.
  std::set<std::string> files_in() const {
    std::set<std::string> names;
    for (const auto& [number, published] : store.imports) {
      for (const ArtifactFile& file : published.files)
        names.insert(file.name);
    }
    return names;
  }
};

std::set<std::string> named(const ArtifactCounts& counts) {
  std::set<std::string> names;
  for (const ArtifactFindings& findings : counts.findings) {
    for (const ArtifactFinding& finding : findings.first)
      names.insert(finding.name);
  }
  return names;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a root is imported folder by folder and counted as one") {
  sound_folder(root / "two");
  fs::create_directories(root / "three");
  write_file(root / "three/checksums.txt", std::string(64, '0') + "  absent.so\n");
  const ArtifactImportReport report = import();
  CHECK(report.folders.size() == 3);
  CHECK(report.total.sound());
  CHECK(report.total.rows == 12);
  CHECK(report.total.cubins == 12);
  CHECK(report.specifications == 4);  // pages 16, 32, 64 and 256; the twins for 10.3 are equal
  CHECK(report.total.of(ArtifactFindingKind::ignored).count == 1);
  CHECK(store.imports.size() == 2);
  CHECK(report.folders[2].number == 2);
  CHECK(report.folders[1].number == 0);
  CHECK(store.imports[1].folder == fs::canonical(folder.path()));
  CHECK(store.imports[1].placement == ArtifactPlacement::in_place);
  CHECK(store.brought.empty());
}

TEST_CASE_FIXTURE(Fixture, "every file removed in turn is found and named, and the rest is in") {
  for (std::size_t number = 0; number < 6; ++number) {
    const std::string name = folder.kernel(number).function + ".cubin";
    fs::remove(folder / name);
    const ArtifactImportReport report = import();
    CHECK(named(report.total) == std::set<std::string>{name});
    CHECK(report.total.of(ArtifactFindingKind::missing).count == 1);
    CHECK(files_in().size() == 5);
    CHECK_FALSE(files_in().contains(name));
    folder.write();
  }
  CHECK(import().total.sound());
  CHECK(files_in().size() == 6);
  fs::remove(folder / "include/flashInferMetaInfo.h");
  store.imports.clear();
  CHECK(import().total.plain == 12);
  folder.write_header();
  fs::remove(folder / "checksums.txt");
  CHECK(import().total.rows == 6);
}

TEST_CASE_FIXTURE(Fixture, "a flipped bit anywhere in a cubin is found, and the rest is in" *
                               doctest::test_suite("loop")) {
  const std::string name = folder.kernel(2).function + ".cubin";
  const std::string content = read_file(folder / name);
  for (std::size_t offset = 0; offset < content.size(); offset += offset < 96 ? 1 : 61) {
    flip_bit_at(folder / name, offset);
    const ArtifactImportReport report = import();
    CHECK(report.total.of(ArtifactFindingKind::damaged).count == 1);
    CHECK(named(report.total) == std::set<std::string>{name});
    CHECK(report.total.rows == 5);
    CHECK_FALSE(files_in().contains(name));
    write_file(folder / name, content);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a flipped bit anywhere in the list or the header is found" * doctest::test_suite("loop")) {
  for (const char* name : {"checksums.txt", "include/flashInferMetaInfo.h"}) {
    const std::string content = read_file(folder / name);
    for (const std::size_t offset : test::sampled(content.size(), 21)) {
      flip_bit_at(folder / name, offset);
      const ArtifactImportReport report = import();
      CAPTURE(offset);
      // A listed file that is no longer a cubin is ignored. The row still states the file's digest.
      CHECK((!report.total.sound() || report.total.of(ArtifactFindingKind::ignored).count == 1));
      for (const auto& [number, published] : store.imports) {
        for (const KernelRow& row : published.rows)
          CHECK(row.digest == sha256(as_bytes(read_file(folder / (row.function_name + ".cubin")))));
      }
      write_file(folder / name, content);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "cancelled after any number of files nothing is in, and the next import goes on") {
  let_files_settle();
  options.files_per_batch = 1;
  for (std::size_t stop = 0; stop < 6; ++stop) {
    store.memory.clear();
    store.imports.clear();
    std::size_t asked = 0;
    options.cancelled = [&] { return asked++ >= stop; };
    const ArtifactImportReport part = import();
    CHECK(part.interrupted);
    CHECK(store.imports.empty());
    options.cancelled = nullptr;
    const ArtifactImportReport rest = import();
    CHECK_FALSE(rest.interrupted);
    CHECK(rest.total.sound());
    CHECK(rest.total.cubins == 6);
    CHECK(rest.total.read == 6 - stop);
  }
}

TEST_CASE_FIXTURE(Fixture, "a second import of an unchanged folder opens no cubin, unless it is to") {
  let_files_settle();
  CHECK(import().total.read == 6);
  const ArtifactImportReport again = import();
  CHECK(again.total.read == 0);
  CHECK(again.total.sound());
  CHECK(again.total.elf_targets ==
        std::map<std::string, std::uint64_t>{{"sm_100a", 1}, {"sm_100f", 3}, {"sm_103a", 2}});
  options.read_all = true;
  CHECK(import().total.read == 6);
}

TEST_CASE_FIXTURE(Fixture, "pieces may run on any threads and in any order") {
  options.files_per_batch = 1;
  std::atomic<int> lines = 0;
  options.run = [&](const fs::path& path, std::size_t count,
                    const std::function<std::string(std::size_t)>& work) {
    CHECK(path == fs::canonical(folder.path()));
    std::vector<std::thread> threads;
    for (std::size_t i = count; i-- > 0;)
      threads.emplace_back([&, i] { lines += work(i).empty() ? 0 : 1; });
    for (std::thread& thread : threads)
      thread.join();
  };
  options.placement = ArtifactPlacement::copied;
  CHECK(import().total.cubins == 6);
  CHECK(lines == 12);
  CHECK(store.brought.size() == 6);
}

TEST_CASE_FIXTURE(Fixture, "files are brought into the home before the folder is published") {
  fs::create_directories(root / "blobs");
  const std::string linked = folder.kernel(0).function + ".cubin";
  fs::rename(folder / linked, root / "blobs/blob");
  fs::create_symlink(fs::path("../../blobs/blob"), folder / linked);
  options.placement = ArtifactPlacement::linked;
  CHECK(import().total.cubins == 6);
  CHECK(store.imports.begin()->second.placement == ArtifactPlacement::linked);
  REQUIRE(store.brought.size() == 6);
  for (const auto& [file, how] : store.brought) {
    CHECK_FALSE(fs::is_symlink(file));
    CHECK(how.first == sha256(as_bytes(read_file(file))));
    CHECK(how.second == ArtifactPlacement::linked);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a home without room after any number of files is an error, and nothing is published") {
  options.placement = ArtifactPlacement::copied;
  for (std::size_t room = 0; room < 6; ++room) {
    store.brought.clear();
    store.room = room;
    const auto report = import_artifacts(root.path(), options, store);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::io);
    CHECK(store.imports.empty());
    CHECK(store.brought.size() == room);
  }
  store.brought.clear();
  store.room = 6;
  CHECK(import().total.cubins == 6);
}

TEST_CASE_FIXTURE(Fixture, "a folder of which nothing is good any more is withdrawn") {
  import();
  CHECK(store.imports.size() == 1);
  for (std::size_t number = 0; number < 6; ++number)
    fs::remove(folder / (folder.kernel(number).function + ".cubin"));
  CHECK(import().total.of(ArtifactFindingKind::missing).count == 6);
  CHECK(store.imports.empty());
}

TEST_CASE_FIXTURE(Fixture, "what only bears the name of a cubin is named, and hangs nobody") {
  const auto replace = [&](std::size_t number) {
    const fs::path path = folder / (folder.kernel(number).function + ".cubin");
    fs::remove(path);
    return path;
  };
  REQUIRE(::mkfifo(replace(0).c_str(), 0600) == 0);
  fs::create_symlink("self", replace(1).parent_path() / "self");
  fs::create_symlink("self", folder / (folder.kernel(1).function + ".cubin"));
  fs::create_symlink("nowhere", replace(2));
  fs::create_directory(replace(3));
  write_file(folder / "line\nbreak.cubin", "x");
  const ArtifactImportReport report = import();
  CHECK(report.total.cubins == 2);
  CHECK(report.total.of(ArtifactFindingKind::damaged).count == 2);
  CHECK(report.total.of(ArtifactFindingKind::missing).count == 2);
  CHECK(report.total.of(ArtifactFindingKind::extra).first.at(0).name == "line\nbreak.cubin");
}

TEST_CASE_FIXTURE(Fixture, "of thousands of findings all are counted and the first are named") {
  std::string list;
  for (int i = 0; i < 5000; ++i)
    list += std::string(64, '1') + "  " + std::to_string(i) + ".cubin\n";
  write_file(folder / "checksums.txt", list);
  const ArtifactImportReport report = import();
  CHECK(report.total.of(ArtifactFindingKind::missing).count == 5000);
  CHECK(report.total.of(ArtifactFindingKind::missing).first.size() == kMaximumListedFindings);
  CHECK(report.folders[0].counts.of(ArtifactFindingKind::missing).count == 5000);
}

TEST_CASE_FIXTURE(Fixture, "a path that holds no artifacts is an error") {
  fs::create_directories(root / "empty/inner");
  CHECK(import_artifacts(root / "none", options, store).error().code == ErrorCode::not_found);
  CHECK(import_artifacts(root / "empty", options, store).error().code == ErrorCode::invalid_argument);
  CHECK(import_artifacts(folder / "checksums.txt", options, store).error().code ==
        ErrorCode::invalid_argument);
}
