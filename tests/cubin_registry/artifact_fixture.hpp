// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cubinet::test {

// An image of its own for each number, as a published cubin would be named.
inline Bytes artifact_image(int number) {
  FakeCubin description;
  description.target = {10, 0, TargetKind::family};
  description.kernels = {{"kernel_" + std::to_string(number), 0}};
  description.code_bytes = 16;
  return make_fake_cubin(description);
}

inline KernelRow artifact_row(int number) {
  KernelRow row;
  row.selector.tokens_per_page = 64;
  row.selector.head_dim_qk = static_cast<std::uint16_t>(8 * (1 + number % 128));
  row.target = {10, 0, TargetKind::family};
  row.extras = {{"mFuture", number % 2 == 0 ? "false" : "true"}};
  row.implementation = kPublishedImplementation;
  row.function_name = "kernel_" + std::to_string(number);
  row.shared_bytes = 1000U + static_cast<std::uint32_t>(number);
  row.threads = 512;
  row.digest = sha256(artifact_image(number));
  return row;
}

// A folder of cubins, rows for all but the last, which is a plain kernel.
struct ArtifactFolder {
  std::filesystem::path path;
  ArtifactImport content;

  ArtifactFolder(std::filesystem::path folder, int first, int count,
                 ArtifactPlacement placement = ArtifactPlacement::in_place)
      : path(std::move(folder)) {
    content.folder = path.native();
    content.pin = std::string(64, 'a');
    content.placement = placement;
    for (int number = first; number < first + count; ++number) {
      const Bytes image = artifact_image(number);
      const std::string name = "sub/kernel_" + std::to_string(number) + ".cubin";
      write_file(path / name, image);
      content.files.push_back({name, sha256(image), image.size()});
      KernelRow row = artifact_row(number);
      row.pin = content.pin;
      if (number + 1 < first + count) {
        content.rows.push_back(std::move(row));
      } else {
        content.plain.push_back({row.function_name, row.shared_bytes, row.threads, row.target, row.digest});
      }
    }
    std::sort(content.files.begin(), content.files.end(),
              [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  }

  Result<std::uint64_t> publish(Home& registry) const {
    if (content.placement != ArtifactPlacement::in_place) {
      for (const ArtifactFile& file : content.files)
        CUBINET_TRY(registry.imports().bring((path / file.name).native(), file.digest, content.placement));
    }
    return registry.imports().publish(content);
  }
};

// The kernels of a folder, by their numbers.
struct ArtifactRange {
  int first = 0;
  int count = 0;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
};

// An open home with two imports: the folder "first" is number 1, "second" number 2.
struct TwoImports : HomeFixture {
  ArtifactFolder first;
  ArtifactFolder second;
  std::shared_ptr<Home> registry = open();

  explicit TwoImports(ArtifactRange one = {0, 3}, ArtifactRange two = {10, 3})
      : first(folder / "first", one.first, one.count, one.placement),
        second(folder / "second", two.first, two.count, two.placement) {
    REQUIRE(*first.publish(*registry) == 1);
    REQUIRE(*second.publish(*registry) == 2);
  }
};

// The rows as the registry gives them for an import of that number, in the order of names.
inline std::vector<KernelRow> expected_rows(const ArtifactImport& content, std::uint64_t number) {
  std::vector<KernelRow> rows = content.rows;
  for (KernelRow& row : rows) {
    row.version = number;
    row.source = content.folder;
  }
  return rows;
}

inline std::vector<KernelRow> sorted(std::vector<KernelRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    if (a.version != b.version) return a.version < b.version;
    return a.function_name < b.function_name;
  });
  return rows;
}

inline std::vector<KernelRow> rows_of(Home& registry) {
  const auto stored = registry.rows();
  REQUIRE_MESSAGE(stored.has_value(), why_not(stored));
  std::vector<KernelRow> rows;
  for (const StoredRow& each : **stored)
    rows.push_back(*each.row);
  return sorted(std::move(rows));
}

// The imported cubin of a function of that name and digest is served, verified.
inline bool serves(Home& registry, const std::string& function, const Sha256Digest& digest) {
  const auto found = registry.find_function(function);
  REQUIRE_MESSAGE(found.has_value(), why_not(found));
  for (const auto& record : *found) {
    if (record->origin != CubinOrigin::imported || record->digest != digest) continue;
    const auto loaded = registry.load(record);
    if (!loaded || !*loaded) continue;
    CHECK(sha256(*(*loaded)->image) == digest);
    return true;
  }
  return false;
}

// Listed, all of its rows are in the table, and each cubin is served.
inline bool serves(Home& registry, const ArtifactImport& content, std::uint64_t number) {
  const auto listed = registry.imports().list();
  REQUIRE_MESSAGE(listed.has_value(), why_not(listed));
  const auto summary = std::find_if(listed->begin(), listed->end(),
                                    [&](const ImportSummary& each) { return each.number == number; });
  if (summary == listed->end() || summary->folder != content.folder) return false;
  CHECK(summary->rows == content.rows.size());
  CHECK(summary->files == content.files.size());
  const auto rows = rows_of(registry);
  for (const KernelRow& row : expected_rows(content, number)) {
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) return false;
  }
  for (const KernelRow& row : content.rows)
    if (!serves(registry, row.function_name, row.digest)) return false;
  for (const PlainKernel& kernel : content.plain)
    if (!serves(registry, kernel.function_name, kernel.digest)) return false;
  return true;
}

}  // namespace cubinet::test
