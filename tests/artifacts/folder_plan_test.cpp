// SPDX-License-Identifier: Apache-2.0
#include "folder_plan.hpp"

#include "artifacts/published_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct Planned {
  FolderPlan plan;
  ArtifactCounts counts;

  const PlannedFile* find(const std::string& name) const {
    const auto found = std::find_if(plan.files.begin(), plan.files.end(),
                                    [&](const PlannedFile& file) { return file.name == name; });
    return found == plan.files.end() ? nullptr : &*found;
  }
  std::uint64_t count(ArtifactFindingKind kind) const { return counts.of(kind).count; }
};

Planned plan_at(const fs::path& path, FindList find_list = find_published_list) {
  const auto found = find_artifact_folders(path);
  REQUIRE(found);
  REQUIRE(found->folders.size() == 1);
  Planned planned;
  FindingSink findings(path, planned.counts);
  planned.plan = plan_folder(found->folders.front(), findings, find_list);
  return planned;
}

constexpr const char* kGemmHeader = R"(#pragma once
static const gemm::GemmConfig tllmGenGemmList[] = {
#ifndef EXCLUDE_SM_100
{nullptr, 0, 128256, "gemm_one", 256, "%s", "", nullptr, { /* mA */ gemm::A(0), true }, gemm::SmVersion::Sm100f},
#endif
};
)";

}  // namespace

TEST_CASE("a plan knows of every file its digest in the list, its rows and whether it is there") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  fs::remove(folder / (published_name("100f", 32) + ".cubin"));
  write_file(folder / "stray.cubin", "x");
  const Planned planned = plan_at(folder.path());
  CHECK(planned.plan.rows.size() == 6);
  CHECK_FALSE(planned.plan.bare);
  CHECK(planned.plan.files.size() == 7);
  CHECK(std::is_sorted(planned.plan.files.begin(), planned.plan.files.end(),
                       [](const PlannedFile& a, const PlannedFile& b) { return a.name < b.name; }));
  const PlannedFile* good = planned.find(published_name("100f", 16) + ".cubin");
  REQUIRE(good != nullptr);
  CHECK(good->present);
  CHECK(good->listed.has_value());
  CHECK(good->rows.size() == 1);
  CHECK(is_checked(planned.plan, *good));
  const PlannedFile* gone = planned.find(published_name("100f", 32) + ".cubin");
  REQUIRE(gone != nullptr);
  CHECK_FALSE(gone->present);
  CHECK_FALSE(is_checked(planned.plan, *gone));
  CHECK_FALSE(is_checked(planned.plan, *planned.find("stray.cubin")));
  CHECK(planned.counts.sound());
}

TEST_CASE("the cubin of a GEMM function may begin with a capital letter") {
  const TempDir root;
  const Bytes image = published_image("gemm_one", {10, 0, TargetKind::family});
  char text[1000];
  std::snprintf(text, sizeof text, kGemmHeader, sha256(image).to_hex().c_str());
  fs::create_directories(root / "include");
  write_file(root / "include/flashinferMetaInfo.h", text);
  write_file(root / "Gemm_one.cubin", image);
  const Planned planned = plan_at(root.path());
  REQUIRE(planned.plan.plain.size() == 1);
  REQUIRE(planned.plan.files.size() == 1);
  CHECK(planned.plan.files[0].plain == std::vector<std::uint32_t>{0});
  CHECK(planned.plan.files[0].present);
}

TEST_CASE("listed files that are no cubins are checked where they are, and ignored where they are not") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  write_file(folder / "there.so", "there");
  write_file(folder / "gone.so", "gone");
  folder.write_list();
  fs::remove(folder / "gone.so");
  write_file(folder / "x.cubin.lock", "");
  const Planned planned = plan_at(folder.path());
  CHECK(planned.count(ArtifactFindingKind::ignored) == 2);
  CHECK(planned.find("gone.so") == nullptr);
  REQUIRE(planned.find("there.so") != nullptr);
  CHECK(is_checked(planned.plan, *planned.find("there.so")));
}

TEST_CASE("a header that is listed and not there is missing, and lost") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  CHECK(plan_at(folder.path()).plan.lost_headers.empty());
  fs::remove(folder / "include/flashInferMetaInfo.h");
  const Planned planned = plan_at(folder.path());
  CHECK(planned.count(ArtifactFindingKind::ignored) == 0);
  CHECK(planned.count(ArtifactFindingKind::missing) == 1);
  CHECK_FALSE(planned.counts.sound());
  CHECK(planned.plan.lost_headers == std::vector<std::string>{"include/flashInferMetaInfo.h"});
  CHECK(planned.plan.unread.empty());
}

TEST_CASE("a list or header that cannot be read is damaged, and the other still counts") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  write_file(folder / "checksums.txt", "nonsense");
  Planned planned = plan_at(folder.path());
  CHECK(planned.count(ArtifactFindingKind::damaged) == 1);
  CHECK(planned.counts.of(ArtifactFindingKind::damaged).first[0].name == "checksums.txt");
  CHECK(planned.plan.rows.size() == 6);
  CHECK_FALSE(planned.plan.bare);
  folder.write_list();
  write_file(folder / "include/flashInferMetaInfo.h", "struct { nothing");
  planned = plan_at(folder.path());
  CHECK(planned.count(ArtifactFindingKind::damaged) == 2);  // it is not as listed, and ends inside a struct
  CHECK(planned.plan.rows.empty());
  CHECK(planned.plan.files.size() == 6);
}

TEST_CASE("rows that cannot be taken are conflicts with their lines, whatever their functions are called") {
  const TempDir root;
  PublishedFolder folder(root / "a");
  folder.add(published_kernel("100f", 16));
  folder.add(published_kernel("100f", 32));
  folder.add(published_kernel("100f", 64));
  folder.write();
  folder.kernel(1).target = "kSM_1";
  folder.kernel(2).function = "../../outside";
  folder.write_header();
  folder.write_list();
  const Planned planned = plan_at(folder.path());
  CHECK(planned.plan.rows.size() == 2);
  CHECK(planned.count(ArtifactFindingKind::conflict) == 2);
  CHECK(planned.counts.of(ArtifactFindingKind::conflict).first[0].reason.find("line 1") != std::string::npos);
  CHECK(planned.find("../../outside.cubin") == nullptr);
}

namespace {

const PublishedHeader* any_list(const Sha256Digest&) {
  static constexpr PublishedHeader kListed{{}, {}, "publisher 9", "0.7.2", 1408, "0.7.2"};
  return &kListed;
}

}  // namespace

TEST_CASE("a known list gives the rows of its header the layout though nobody has seen the header") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  CHECK(plan_at(folder.path()).plan.known == nullptr);
  const FolderPlan plan = plan_at(folder.path(), any_list).plan;
  REQUIRE(plan.known != nullptr);
  CHECK(plan.known->publisher == "publisher 9");
  REQUIRE(plan.rows.size() == 6);
  for (const KernelRow& row : plan.rows)
    CHECK(row.layout == "0.7.2");
}

TEST_CASE("a known list says nothing about a header that it does not list or that differs from it") {
  const TempDir root;
  const PublishedFolder folder = sound_folder(root / "a");
  write_file(folder / "include/flashInferMetaInfo.h",
             read_file(folder / "include/flashInferMetaInfo.h") + "// changed\n");
  const Planned changed = plan_at(folder.path(), any_list);
  CHECK(changed.plan.known == nullptr);
  CHECK(changed.count(ArtifactFindingKind::damaged) == 1);
  fs::remove(folder / "checksums.txt");
  CHECK(plan_at(folder.path(), any_list).plan.known == nullptr);
}
