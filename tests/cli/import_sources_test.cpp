// SPDX-License-Identifier: Apache-2.0
#include "sources/catalog_folder.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;

TEST_CASE("an imported catalog has kernels that every verb knows by name") {
  const Sandbox sandbox;
  const CatalogFolder folder;
  folder.write();
  const ToolResult imported = sandbox.run({"import-sources", folder.path().string(), "--json"});
  CAPTURE(imported.err);
  REQUIRE(imported.status == 0);
  CHECK(imported.json()["kernels"] == 2);
  CHECK(imported.json()["catalogs"][0]["library"] == "some-wheel 1.2");
  CHECK(contains(sandbox.run({"import-sources"}).out, "doubles_one  sm_90a  block 64x2x1  shared 1024\n"));
  CHECK(contains(sandbox.run({"templates"}).out, "doubles_two"));
  CHECK(contains(sandbox.run({"templates", "doubles_one"}).out, "64 x 2"));
  CHECK(contains(sandbox.run({"explain", "doubles_one", "--device", "9.0"}).out,
                 "cubinet compile doubles_one --flag=-DFACTOR=2 "));
  const ToolResult compiled = sandbox.run({"compile", "doubles_one", "--target", "sm_90a"});
  CAPTURE(compiled.err);
  CHECK(compiled.status == 0);
  CHECK(contains(sandbox.run({"explain", "doubles_one", "--device", "9.0"}).out, "sm_90a is used"));
  CHECK(sandbox.run({"compile", "doubles_one", "--target", "sm_80"}).status == 2);
}

TEST_CASE("prebuild of a catalog makes one bundle and its licences") {
  const Sandbox sandbox;
  const CatalogFolder folder;
  folder.write();
  REQUIRE(sandbox.run({"import-sources", folder.path().string()}).status == 0);
  const ToolResult built =
      sandbox.run({"prebuild", "--sources", "doubles", "-o", sandbox.path("d.bundle"), "--json"});
  CAPTURE(built.err);
  REQUIRE(built.status == 0);
  CHECK(built.json()["kernels"] == 2);
  CHECK(built.json()["licenses"] == sandbox.path("d.bundle.licenses.txt"));
  CHECK(contains(sandbox.read("d.bundle.licenses.txt"), "A licence.\n"));
  CHECK(sandbox.run({"prebuild", "--sources", "other", "-o", sandbox.path("e.bundle")}).status == 2);
}

TEST_CASE("a refused catalog is named, the earlier one stays and the status is 1") {
  const Sandbox sandbox;
  CatalogFolder folder;
  folder.write();
  REQUIRE(sandbox.run({"import-sources", folder.path().string()}).status == 0);
  write_file(folder.data() / "csrc/common.cuh", "changed");
  const ToolResult refused = sandbox.run({"import-sources", folder.path().string()});
  CHECK(refused.status == 1);
  CHECK(contains(refused.out, "refused: 'csrc/common.cuh' has another SHA-256"));
  CHECK(sandbox.run({"import-sources", "--json"}).json()["kernels"] == 2);
}

TEST_CASE("a catalog can be removed, and a wrong line changes nothing") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"import-sources", sandbox.path("absent")}).status != 0);
  CHECK(sandbox.run({"import-sources", "--manifest", "m.json"}).status == 2);
  const CatalogFolder folder;
  folder.write();
  REQUIRE(sandbox.run({"import-sources", folder.path().string()}).status == 0);
  CHECK(sandbox.run({"import-sources", "--remove", "other"}).status != 0);
  CHECK(sandbox.run({"import-sources", "--remove", "doubles"}).status == 0);
  CHECK(sandbox.run({"import-sources", "--json"}).json()["kernels"] == 0);
  CHECK(sandbox.run({"compile", "doubles_one", "--target", "sm_90a"}).status == 2);
}
