// SPDX-License-Identifier: Apache-2.0
#include "artifacts/memory_imports.hpp"
#include "artifacts/published_folder.hpp"
#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/jit/compiler.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("compiled cubins are in under the targets they were built for and under no other") {
  const auto compiler = Compiler::open(compiler_search());
  REQUIRE_MESSAGE(compiler, compiler.error().message);
  // As headers write them: a number without a suffix is the specific target where there is one.
  const std::pair<const char*, const char*> targets[] = {
      {"sm_80", "kSM_80"},     {"sm_90", ""},          {"sm_90a", "kSM_90"},    {"sm_100", ""},
      {"sm_100f", "kSM_100f"}, {"sm_100a", "kSM_100"}, {"sm_103f", "kSM_103f"}, {"sm_103a", "kSM_103"},
      {"sm_120f", "kSM_120f"}, {"sm_120a", "kSM_120a"}};
  for (const auto& target : targets) {
    const char* const built = target.first;
    const auto output = (*compiler)->compile(scale_request(kScaleBody, built));
    REQUIRE_MESSAGE(output, output.error().message);
    for (const auto& other : targets) {
      const char* const stated = other.second;
      if (*stated == '\0') continue;
      const TempDir root;
      PublishedFolder folder(root.path());
      folder.add({"scale", *output->image, stated});
      folder.write();
      MemoryImports store;
      const auto report = import_artifacts(root.path(), {}, store);
      REQUIRE(report);
      CAPTURE(built);
      CAPTURE(stated);
      const bool same = &other == &target;
      CHECK(report->total.rows == (same ? 1 : 0));
      CHECK(report->total.of(ArtifactFindingKind::conflict).count == (same ? 0 : 1));
      if (same) CHECK(report->total.elf_targets.at(built) == 1);
    }
  }
}
