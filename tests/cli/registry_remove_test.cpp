// SPDX-License-Identifier: Apache-2.0
#include "import_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("one build is removed by key, target or fingerprint, and the status says whether it was there") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  publish(sandbox, cubins);
  const auto left = [&] { return sandbox.run({"registry", "list", "--json"}).json()["entries"].size(); };
  const std::string key = cubins[0].record->identity.key().to_string();
  CHECK(sandbox.run({"registry", "remove", key, "--target", "sm_80"}).status == 1);
  CHECK(sandbox.run({"registry", "remove", key, "--fingerprint", "00"}).status == 1);
  CHECK(left() == 3);
  const ToolResult removed = sandbox.run(
      {"registry", "remove", key, "--fingerprint", cubins[0].record->fingerprint.to_string(), "--json"});
  CHECK(removed.status == 0);
  CHECK(removed.json()["removed"] == 1);
  CHECK(left() == 2);
  CHECK(sandbox.run({"registry", "remove", key}).status == 1);
  CHECK(sandbox.run({"registry", "remove", "two"}).status == 0);
  CHECK(left() == 1);
  CHECK(sandbox.run({"registry", "remove"}).status == 2);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("a name that several kernels have removes none, and names their keys") {
  const Sandbox sandbox;
  publish(sandbox, {make_cubin(named_spec("one", 1)), make_cubin(named_spec("one", 2))});
  const ToolResult refused = sandbox.run({"registry", "remove", "one"});
  CHECK(refused.status == 2);
  CHECK_FALSE(contains(refused.err, "\n\n"));
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);
}

TEST_CASE("an import is removed by its number, and its kernels go with it") {
  const Sandbox sandbox;
  import_two_kernels(sandbox, "first", 'a', "publisher 1.0");
  CHECK(sandbox.run({"registry", "remove", "--import", "2"}).status == 1);
  CHECK(sandbox.run({"registry", "remove", "gemm_e4m3"}).status == 1);
  CHECK(sandbox.run({"registry", "remove", "--import", "1"}).status == 0);
  CHECK(sandbox.run({"registry", "show", "gemm_e4m3"}).status == 1);
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["imports"] == 0);
}
