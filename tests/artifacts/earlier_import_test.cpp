// SPDX-License-Identifier: Apache-2.0
#include "earlier_import.hpp"

#include "artifacts/memory_imports.hpp"
#include "artifacts/published_folder.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = "include/flashInferMetaInfo.h";
constexpr const char* kStays = "the folder's earlier import stays as it is";

struct EarlierImportFixture {
  TempDir root;
  PublishedFolder folder = sound_folder(root / "fmha");
  MemoryImports store;
  ArtifactImportOptions options;

  ArtifactImportReport import() {
    auto report = import_artifacts(root.path(), options, store);
    REQUIRE_MESSAGE(report, report.error().message);
    return *std::move(report);
  }
  // The import that was there first, and no other, with all it had.
  void check_kept(const ArtifactImportReport& report, ArtifactFindingKind kind, const std::string& name) {
    REQUIRE(store.imports.size() == 1);
    CHECK(store.imports.begin()->first == 1);
    CHECK(store.imports.begin()->second.rows.size() == 6);
    CHECK(report.total.rows == 6);
    CHECK(report.total.cubins == 6);
    CHECK(report.folders.at(0).number == 1);
    CHECK_FALSE(report.total.sound());
    bool said = false;
    for (const ArtifactFinding& finding : report.total.of(kind).first)
      said = said || (finding.name == name && finding.reason.find(kStays) != std::string::npos);
    CHECK(said);
  }
  // It is there, and to open it is an error that says nothing about its content. Files without
  // permission do not serve: root opens them.
  void make_unreadable(const std::string& name) const {
    fs::remove(folder / name);
    fs::create_symlink((folder / name).filename(), folder / name);
  }
};

}  // namespace

TEST_CASE_FIXTURE(EarlierImportFixture, "without its header a folder does not replace the rows that it had") {
  import();
  fs::remove(folder / kHeader);
  check_kept(import(), ArtifactFindingKind::missing, kHeader);
  write_file(folder / kHeader, "struct { nothing");
  check_kept(import(), ArtifactFindingKind::damaged, kHeader);
  fs::remove(folder / kHeader);
  fs::create_symlink("nowhere", folder / kHeader);
  check_kept(import(), ArtifactFindingKind::damaged, kHeader);
  // Nobody lists it.
  fs::remove(folder / kHeader);
  folder.write_list();
  check_kept(import(), ArtifactFindingKind::missing, "*MetaInfo.h");
  fs::remove(folder / "checksums.txt");
  check_kept(import(), ArtifactFindingKind::missing, "*MetaInfo.h");
  folder.write();
  CHECK(import().total.sound());
}

TEST_CASE_FIXTURE(EarlierImportFixture, "a folder that never had its header is imported again by name") {
  fs::remove(folder / kHeader);
  CHECK(import().total.plain == 12);
  fs::remove(folder / (folder.kernel(0).function + ".cubin"));
  const ArtifactImportReport report = import();
  CHECK(report.total.plain == 10);
  CHECK(report.folders.at(0).number == 2);
  CHECK(store.imports.begin()->second.plain.size() == 10);
}

TEST_CASE_FIXTURE(EarlierImportFixture,
                  "a file that cannot be read removes and replaces nothing, whichever it is") {
  for (const ArtifactPlacement placement : {ArtifactPlacement::in_place, ArtifactPlacement::copied}) {
    store.imports.clear();
    store.last = 0;
    options.placement = placement;
    import();
    std::vector<std::string> names = {kHeader, "checksums.txt"};
    for (std::size_t number = 0; number < 6; ++number)
      names.push_back(folder.kernel(number).function + ".cubin");
    for (const std::string& name : names) {
      make_unreadable(name);
      check_kept(import(), ArtifactFindingKind::damaged, name);
      fs::remove(folder / name);
      folder.write();
    }
    // All cubins at once: nothing of the folder is good, and the home's own copies stay.
    for (std::size_t i = 2; i < names.size(); ++i)
      make_unreadable(names[i]);
    check_kept(import(), ArtifactFindingKind::damaged, names.back());
    for (const std::string& name : {names[0], names[1]})
      make_unreadable(name);
    check_kept(import(), ArtifactFindingKind::damaged, kHeader);
    for (const std::string& name : names)
      fs::remove(folder / name);
    folder.write();
  }
}

TEST_CASE_FIXTURE(EarlierImportFixture, "what can be read comes in where there is no earlier import") {
  make_unreadable(folder.kernel(0).function + ".cubin");
  const ArtifactImportReport report = import();
  CHECK(report.total.rows == 5);
  CHECK(report.total.of(ArtifactFindingKind::damaged).count == 1);
  CHECK(report.total.of(ArtifactFindingKind::damaged).first.at(0).reason.find(kStays) == std::string::npos);
}

TEST_CASE_FIXTURE(EarlierImportFixture,
                  "bytes that were read and are wrong still replace the earlier import") {
  import();
  flip_bit_at(folder / (folder.kernel(0).function + ".cubin"), 500);
  CHECK(import().total.rows == 5);
  CHECK(store.imports.begin()->second.rows.size() == 5);
}

TEST_CASE_FIXTURE(EarlierImportFixture, "folders within that cannot be read keep the import, others do not") {
  const ImportSummary earlier{1, folder.path(), "", "", ArtifactPlacement::copied, 0, 3, 3, 30, false};
  ArtifactFolder found;
  found.path = folder.path();
  found.headers = {kHeader};
  ArtifactCounts counts;
  FindingSink findings(found.path, counts);
  const auto reasons = [&](const fs::path& unreadable) {
    const std::vector<UnreadableFolder> folders = {{unreadable, "Input/output error"}};
    return reasons_to_keep(earlier, found, {}, {}, folders, findings);
  };
  CHECK(reasons(folder / "include") == std::vector<fs::path>{folder / "include"});
  CHECK(reasons(root / "fmha2").empty());
  CHECK(reasons(root / "other").empty());
}
