// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include "artifacts/memory_imports.hpp"
#include "artifacts/published_folder.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct Judged {
  ArtifactImport import;
  ArtifactCounts counts;

  std::uint64_t count(ArtifactFindingKind kind) const { return counts.of(kind).count; }
  // "missing 0, extra 0, …" of those that are not zero.
  std::string findings() const {
    std::string text;
    for (std::size_t kind = 0; kind < kArtifactFindingKinds; ++kind) {
      if (counts.findings[kind].count == 0) continue;
      text += std::string(to_string(static_cast<ArtifactFindingKind>(kind))) + " " +
              std::to_string(counts.findings[kind].count) + " ";
    }
    return text;
  }
  bool names(ArtifactFindingKind kind, const std::string& name) const {
    for (const ArtifactFinding& finding : counts.of(kind).first) {
      if (finding.name == name) return true;
    }
    return false;
  }
};

// `pin`: that of the header, where it is not its content's.
Judged judge_at(const fs::path& path, const std::string& pin = "") {
  const auto found = find_artifact_folders(path);
  REQUIRE(found);
  REQUIRE(found->folders.size() == 1);
  Judged judged;
  FindingSink findings(path, judged.counts);
  FolderPlan plan = plan_folder(found->folders.front(), findings);
  if (!pin.empty()) {
    plan.pin = pin;
    plan.known = find_published_header(pin);
    for (KernelRow& row : plan.rows)
      row.layout = "0.6.13";
  }
  MemoryImports store;
  const auto check = check_files(path, plan, {}, store);
  REQUIRE(check);
  judged.import = judge(path, std::move(plan), *check, judged.counts);
  return judged;
}

std::string file_of(const PublishedKernel& kernel) {
  return kernel.function + ".cubin";
}

struct JudgementFixture {
  TempDir root;
  PublishedFolder folder = sound_folder(root / "a");
  std::string first = file_of(folder.kernel(0));
  std::string second = file_of(folder.kernel(1));

  Judged judged() const { return judge_at(folder.path()); }
  void write_metadata() const {
    folder.write_header();
    folder.write_list();
  }
};

}  // namespace

TEST_CASE_FIXTURE(JudgementFixture, "a sound folder is in whole") {
  const Judged sound = judged();
  CHECK(sound.findings().empty());
  CHECK(sound.counts.rows == 6);
  CHECK(sound.counts.cubins == 6);
  CHECK(sound.counts.unchecked_names == 0);
  CHECK(sound.counts.targets ==
        std::map<std::string, std::uint64_t>{{"sm_100a", 1}, {"sm_100f", 3}, {"sm_103a", 2}});
  CHECK(sound.counts.elf_targets == sound.counts.targets);
  REQUIRE(sound.import.files.size() == 6);
  for (const ArtifactFile& file : sound.import.files)
    CHECK(file.digest == sha256(as_bytes(read_file(folder / file.name))));
}

TEST_CASE_FIXTURE(JudgementFixture,
                  "bytes that are not those of list and row are damaged, and a swapped pair is two") {
  fs::rename(folder / first, folder / "t");
  fs::rename(folder / second, folder / first);
  fs::rename(folder / "t", folder / second);
  for (const bool with_list : {true, false}) {
    if (!with_list) fs::remove(folder / "checksums.txt");
    const Judged swapped = judged();
    CHECK(swapped.findings() == "damaged 2 ");
    CHECK(swapped.names(ArtifactFindingKind::damaged, first));
    CHECK(swapped.names(ArtifactFindingKind::damaged, second));
    CHECK(swapped.counts.rows == 4);
    CHECK(swapped.counts.cubins == 4);
  }
}

TEST_CASE_FIXTURE(JudgementFixture, "a file that holds the bytes of another is not in") {
  fs::copy_file(folder / second, folder / first, fs::copy_options::overwrite_existing);
  const Judged copied = judged();
  CHECK(copied.findings() == "damaged 1 ");
  CHECK(copied.counts.cubins == 5);
  for (const ArtifactFile& file : copied.import.files)
    CHECK(file.name != first);
}

TEST_CASE_FIXTURE(JudgementFixture,
                  "a target that the ELF contradicts is a conflict, for every pair of targets") {
  const char* stated[] = {"kSM_100f", "kSM_100", "kSM_103", "kSM_103f",
                          "kSM_90",   "kSM_120", "10100",   "kSM_80"};
  for (std::size_t number = 0; number < 6; ++number) {
    const std::string right = folder.kernel(number).target;
    for (const std::string target : stated) {
      folder.kernel(number).target = target;
      write_metadata();
      const Judged judged_now = judged();
      const bool same = target == right || (target == "10100" && right == "kSM_100f");
      CAPTURE(target);
      CHECK(judged_now.findings() == (same ? "" : "conflict 1 "));
      CHECK(judged_now.counts.cubins == (same ? 6 : 5));
      if (!same) CHECK(judged_now.names(ArtifactFindingKind::conflict, file_of(folder.kernel(number))));
    }
    folder.kernel(number).target = right;
  }
}

TEST_CASE_FIXTURE(JudgementFixture, "a function that the cubin does not hold is a conflict") {
  folder.kernel(0).image = published_image("another", {10, 0, TargetKind::family});
  folder.write();
  const Judged renamed = judged();
  CHECK(renamed.findings() == "conflict 1 ");
  CHECK(renamed.names(ArtifactFindingKind::conflict, first));
}

TEST_CASE_FIXTURE(JudgementFixture, "a row that its name contradicts is a conflict") {
  folder.kernel(0).page = 64;
  folder.kernel(2).page = 16;
  write_metadata();
  const Judged judged_now = judged();
  CHECK(judged_now.findings() == "conflict 2 ");
  CHECK(judged_now.counts.of(ArtifactFindingKind::conflict).first[0].reason ==
        "its name says page 16, the row 64");
}

TEST_CASE_FIXTURE(JudgementFixture,
                  "a row under a name that no file has, with the digest of one, has a false name") {
  folder.kernel(0).function = published_name("100f", 32, "Persistent");
  folder.kernel(0).page = 32;
  folder.kernel(0).scheduler = 1;
  write_metadata();
  Judged judged_now = judged();
  CHECK(judged_now.findings() == "conflict 1 ");
  CHECK(judged_now.names(ArtifactFindingKind::conflict, file_of(folder.kernel(0))));
  // The listed cubin that lost its row is still found by name.
  CHECK(judged_now.counts.rows == 5);
  CHECK(judged_now.counts.plain == 2);
  CHECK(judged_now.counts.cubins == 6);
  fs::remove(folder / "checksums.txt");
  judged_now = judged();
  CHECK(judged_now.findings() == "missing 1 extra 1 ");
}

TEST_CASE_FIXTURE(JudgementFixture, "a row and a list that disagree are a conflict") {
  const std::string right = sha256(folder.kernel(0).image).to_hex();
  folder.kernel(0).digest = std::string(64, '0');
  folder.write_header();
  folder.write_list();
  Judged judged_now = judged();
  CHECK(judged_now.findings() == "damaged 1 conflict 1 ");
  CHECK(judged_now.names(ArtifactFindingKind::conflict, first));
  CHECK(judged_now.counts.rows == 5);
  // The other way round: the list is wrong about bytes that the row vouches for.
  folder.kernel(0).digest.clear();
  folder.write_header();
  folder.write_list();
  std::string list = read_file(folder / "checksums.txt");
  list.replace(list.find(right), 64, std::string(64, '0'));
  write_file(folder / "checksums.txt", list);
  judged_now = judged();
  CHECK(judged_now.findings() == "damaged 1 conflict 1 ");
  CHECK(judged_now.counts.cubins == 5);
}

TEST_CASE_FIXTURE(JudgementFixture, "two rows may name one cubin") {
  PublishedKernel twin = folder.kernel(0);
  twin.scheduler = 1;
  folder.add(twin);
  write_metadata();
  Judged judged_now = judged();
  // The name says which scheduler: the other row is refused, the file stays.
  CHECK(judged_now.findings() == "conflict 1 ");
  CHECK(judged_now.counts.cubins == 6);
  // Names outside the grammar say nothing.
  PublishedFolder plain(root / "b");
  PublishedKernel kernel{"kernel_one", published_image("kernel_one", {10, 0, TargetKind::family})};
  plain.add(kernel);
  kernel.scheduler = 1;
  plain.add(kernel);
  plain.add(kernel);  // and a row that is there twice says the same twice
  plain.write();
  judged_now = judge_at(plain.path());
  CHECK(judged_now.findings().empty());
  CHECK(judged_now.counts.rows == 2);
  CHECK(judged_now.counts.cubins == 1);
  CHECK(judged_now.counts.unchecked_names == 3);
}

TEST_CASE_FIXTURE(JudgementFixture, "rows of one identity and different bytes refuse each other") {
  PublishedFolder twins(root / "b");
  for (const char* name : {"one", "two", "three"})
    twins.add({name, published_image(name, {10, 0, TargetKind::family})});
  twins.kernel(2).page = 64;
  twins.write();
  const Judged judged_now = judge_at(twins.path());
  CHECK(judged_now.findings() == "conflict 2 ");
  CHECK(judged_now.names(ArtifactFindingKind::conflict, "one.cubin"));
  CHECK(judged_now.names(ArtifactFindingKind::conflict, "two.cubin"));
  CHECK(judged_now.counts.rows == 1);
  CHECK(judged_now.counts.cubins == 1);
}

TEST_CASE_FIXTURE(JudgementFixture, "rows of the same bytes and another launch refuse each other") {
  PublishedFolder twins(root / "b");
  PublishedKernel kernel{"kernel_one", published_image("kernel_one", {10, 0, TargetKind::family})};
  twins.add(kernel);
  kernel.threads = 384;
  twins.add(kernel);
  twins.write();
  const Judged judged_now = judge_at(twins.path());
  CHECK(judged_now.findings() == "conflict 2 ");
  CHECK(judged_now.counts.rows == 0);
  CHECK(judged_now.counts.cubins == 0);
}

TEST_CASE_FIXTURE(JudgementFixture, "a file that is gone is missing, one that nobody names is extra") {
  fs::remove(folder / first);
  write_file(folder / "stray.cubin", published_image("stray", {10, 0, TargetKind::family}));
  for (const bool with_list : {true, false}) {
    if (!with_list) fs::remove(folder / "checksums.txt");
    const Judged judged_now = judged();
    CHECK(judged_now.findings() == "missing 1 extra 1 ");
    CHECK(judged_now.names(ArtifactFindingKind::missing, first));
    CHECK(judged_now.names(ArtifactFindingKind::extra, "stray.cubin"));
    CHECK(judged_now.counts.cubins == 5);
  }
}

TEST_CASE_FIXTURE(JudgementFixture,
                  "without a header the listed cubins are found by the names of their functions") {
  fs::remove_all(folder / "include");
  const Judged listed = judged();
  CHECK(listed.findings() == "missing 1 ");  // the header is listed and absent
  CHECK(listed.counts.rows == 0);
  CHECK(listed.counts.plain == 12);
  CHECK(listed.counts.cubins == 6);
  fs::remove(folder / "checksums.txt");
  write_file(folder / "text.cubin", "no ELF");
  write_file(folder / "empty.cubin", make_fake_cubin({{9, 0, TargetKind::specific}, {}, 8, 1}));
  write_file(folder / "nameless.cubin", published_image("", {9, 0, TargetKind::specific}));
  const Judged bare = judged();
  CHECK(bare.findings() == "damaged 3 ");
  CHECK(bare.counts.plain == 12);
  for (const PlainKernel& kernel : bare.import.plain) {
    if (kernel.function_name == folder.kernel(4).function) CHECK(kernel.target.to_string() == "sm_103a");
  }
}

TEST_CASE(
    "kernels of one function and target and different bytes are all left out, whatever the order of files") {
  const TempDir root;
  const SmTarget target{10, 0, TargetKind::family};
  for (const bool with_list : {true, false}) {
    const PublishedFolder folder(root / (with_list ? "listed" : "bare"));
    fs::create_directories(folder.path());
    write_file(folder / "a.cubin", published_image("twice", target, 1));
    write_file(folder / "b.cubin", published_image("twice", target, 2));
    write_file(folder / "c.cubin", published_image("once", target));
    write_file(folder / "d.cubin", published_image("twice", {9, 0, TargetKind::specific}));
    if (with_list) folder.write_list();
    const Judged judged = judge_at(folder.path());
    CHECK(judged.findings() == "conflict 4 ");  // the function and its companion, in two files
    for (const auto& [name, other] : {std::pair("a.cubin", "b.cubin"), std::pair("b.cubin", "a.cubin")}) {
      std::size_t said = 0;
      for (const ArtifactFinding& finding : judged.counts.of(ArtifactFindingKind::conflict).first)
        said += finding.name == name && finding.reason.find(other) != std::string::npos ? 1U : 0U;
      CHECK(said == 2);
    }
    CHECK(judged.counts.plain == 4);
    REQUIRE(judged.import.files.size() == 2);
    CHECK(judged.import.files[0].name == "c.cubin");
    CHECK(judged.import.files[1].name == "d.cubin");
  }
}

TEST_CASE("a kernel that is there twice with the same bytes is in once") {
  const TempDir root;
  for (const char* name : {"a.cubin", "b.cubin"})
    write_file(root / name, published_image("twice", {10, 0, TargetKind::family}));
  const Judged judged = judge_at(root.path());
  CHECK(judged.findings().empty());
  CHECK(judged.counts.plain == 2);
}

TEST_CASE_FIXTURE(JudgementFixture,
                  "a kernel whose argument is not as long as its header says is in, and has no layout") {
  const auto takes = [](PublishedKernel& kernel, std::uint32_t bytes) {
    FakeCubin description;
    description.target = {10, 0, TargetKind::family};
    description.kernels = {{kernel.function, bytes}, {kernel.function + "GetSmemSize", 8}};
    kernel.image = make_fake_cubin(description);
  };
  takes(folder.kernel(0), 1280);
  takes(folder.kernel(1), 1152);
  folder.write();
  const char* pin = "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418";
  const Judged judged = judge_at(folder.path(), pin);
  REQUIRE(judged.findings() == "conflict 1 ");
  CHECK(judged.names(ArtifactFindingKind::conflict, second));
  CHECK(judged.counts.of(ArtifactFindingKind::conflict).first.front().reason.find("1152 bytes") !=
        std::string::npos);
  CHECK(judged.import.rows.size() == 6);
  for (const KernelRow& row : judged.import.rows) {
    const bool disagrees = row.function_name + ".cubin" == second;
    CHECK(row.layout == (disagrees ? "" : "0.6.13"));
  }
  CHECK(judge_at(folder.path()).findings().empty());  // of a header that nobody knows
}
