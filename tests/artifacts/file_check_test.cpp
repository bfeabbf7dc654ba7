// SPDX-License-Identifier: Apache-2.0
#include "file_check.hpp"

#include "artifacts/memory_imports.hpp"
#include "artifacts/published_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct FileCheckFixture {
  TempDir root;
  PublishedFolder folder = sound_folder(root / "a");
  MemoryImports store;
  ArtifactImportOptions options;

  FileCheckFixture() {
    options.files_per_batch = 1;
    let_files_settle();
  }

  FolderPlan plan() const {
    const auto found = find_artifact_folders(folder.path());
    REQUIRE(found);
    ArtifactCounts counts;
    FindingSink findings(folder.path(), counts);
    return plan_folder(found->folders.front(), findings);
  }

  FolderCheck check() {
    auto checked = check_files(folder.path(), plan(), options, store);
    REQUIRE(checked);
    return *std::move(checked);
  }
};

std::size_t reads(const FolderCheck& check) {
  return static_cast<std::size_t>(
      std::count_if(check.files.begin(), check.files.end(), [](const FileCheck& file) { return file.read; }));
}

}  // namespace

TEST_CASE_FIXTURE(FileCheckFixture, "every file is read once, and not again while it is unchanged") {
  const FolderCheck first = check();
  CHECK(first.complete);
  CHECK(reads(first) == 6);
  for (const FileCheck& file : first.files) {
    CHECK(file.file.digest == sha256(as_bytes(read_file(folder / file.file.name))));
    CHECK(file.file.inspection.kernels.size() == 2);
  }
  const FolderCheck second = check();
  CHECK(second.complete);
  CHECK(reads(second) == 0);
  for (std::size_t i = 0; i < first.files.size(); ++i) {
    CHECK(second.files[i].file.digest == first.files[i].file.digest);
    CHECK(second.files[i].file.inspection.kernels == first.files[i].file.inspection.kernels);
  }
  options.read_all = true;
  CHECK(reads(check()) == 6);
}

TEST_CASE_FIXTURE(FileCheckFixture, "a file that changed is read again, whatever its times say") {
  check();
  const std::string name = folder.kernel(0).function + ".cubin";
  const auto modified = std::filesystem::last_write_time(folder / name);
  flip_bit_at(folder / name, 700);
  std::filesystem::last_write_time(folder / name, modified);
  const FolderCheck again = check();
  CHECK(reads(again) == 1);
}

TEST_CASE_FIXTURE(FileCheckFixture, "a file that was changed a moment ago is not remembered") {
  folder.write_cubins();
  check();
  CHECK(store.memory[folder.path()].empty());
}

TEST_CASE_FIXTURE(FileCheckFixture, "cancelled after any number of files, the next check goes on there") {
  for (std::size_t stop = 0; stop <= 6; ++stop) {
    store.memory.clear();
    std::size_t asked = 0;
    options.cancelled = [&] { return asked++ >= stop; };
    const FolderCheck part = check();
    CHECK(part.complete == (stop == 6));
    CHECK(reads(part) == stop);
    options.cancelled = nullptr;
    const FolderCheck rest = check();
    CHECK(rest.complete);
    CHECK(reads(rest) == 6 - stop);
  }
}

TEST_CASE_FIXTURE(FileCheckFixture, "a store that cannot remember costs time and nothing else") {
  store.forgets = true;
  std::string warning;
  options.log = [&](const LogRecord& record) { warning = record.message; };
  CHECK(check().complete);
  CHECK(warning.find("no space") != std::string::npos);
  CHECK(reads(check()) == 6);
}

TEST_CASE_FIXTURE(FileCheckFixture,
                  "what cannot be read, and what is no cubin, is told apart and not remembered") {
  const std::string none = folder.kernel(0).function + ".cubin";
  const std::string text = folder.kernel(1).function + ".cubin";
  const FolderPlan planned = plan();
  std::filesystem::remove(folder / none);
  write_file(folder / text, "no ELF");
  const auto checked = check_files(folder.path(), planned, options, store);
  REQUIRE(checked);
  CHECK(checked->complete);
  for (std::size_t i = 0; i < planned.files.size(); ++i) {
    const FileCheck& file = checked->files[i];
    CHECK(file.error.has_value() == (planned.files[i].name == none));
    CHECK(file.not_cubin.has_value() == (planned.files[i].name == text));
  }
  CHECK(store.memory[folder.path()].size() == 4);
}
