// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

namespace {

void write_cubin(const Sandbox& sandbox, const std::string& name, const Cubin& cubin) {
  const Bytes record = encode_record(*cubin.record);
  sandbox.write(name, as_text(*cubin.image));
  sandbox.write(name + ".record", as_text(record));
}

}  // namespace

TEST_CASE("bundle create takes what the home holds, or a part of it") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const std::string bundle = sandbox.path("b.bundle");
  const ToolResult all = sandbox.run({"bundle", "create", "-o", bundle, "--bundle-version", "9", "--json"});
  CHECK(all.status == 0);
  CHECK(all.json()["kernels"] == 3);
  const auto listed = run_tool({"bundle", "list", bundle, "--json"}).json();
  CHECK(listed["version"] == 9);
  CHECK(listed["channel"] == "b");
  CHECK(run_tool({"bundle", "verify", bundle}).status == 0);
  CHECK(sandbox.run({"bundle", "create", "-o", bundle, "--target", "sm_80", "--json"}).json()["kernels"] ==
        1);
}

TEST_CASE("of several builds of a kernel the newest goes into the bundle unless all are wanted") {
  const Sandbox sandbox;
  FakeCubin other;
  other.filler = 9;
  publish(sandbox, {make_cubin(named_spec("one"), {}, "old"), make_cubin(named_spec("one"), other, "new")});
  const std::string bundle = sandbox.path("b.bundle");
  CHECK(sandbox.run({"bundle", "create", "-o", bundle, "--json"}).json()["kernels"] == 1);
  CHECK(sandbox.run({"bundle", "create", "-o", bundle, "--all-builds", "--json"}).json()["kernels"] == 2);
}

TEST_CASE("nothing that fits is no answer, and no bundle is written") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const std::string bundle = sandbox.path("b.bundle");
  const ToolResult result =
      sandbox.run({"bundle", "create", "-o", bundle, "--template", "nothing", "--json"});
  CHECK(result.status == 1);
  CHECK(result.json()["error"]["code"] == "not_found");
  CHECK_FALSE(std::filesystem::exists(bundle));
}

TEST_CASE("bundle create takes cubin files with their records") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  write_cubin(sandbox, "a.cubin", cubins[0]);
  write_cubin(sandbox, "b.cubin", cubins[1]);
  const std::string bundle = sandbox.path("b.bundle");
  const ToolResult result = sandbox.run(
      {"bundle", "create", sandbox.path("a.cubin"), sandbox.path("b.cubin"), "-o", bundle, "--json"});
  CAPTURE(result.out);
  CHECK(result.status == 0);
  CHECK(result.json()["kernels"] == 2);
  CHECK(run_tool({"bundle", "verify", bundle}).status == 0);
  const std::string twice = sandbox.path("a.cubin");
  CHECK(sandbox.run({"bundle", "create", twice, twice, "-o", bundle, "--json"}).json()["kernels"] == 1);
}

TEST_CASE("cubin files that are not what their records say are refused") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  const std::string bundle = sandbox.path("b.bundle");
  const auto create = [&](const std::string& name) {
    return sandbox.run({"bundle", "create", sandbox.path(name), "-o", bundle, "--json"});
  };
  write_cubin(sandbox, "flipped.cubin", cubins[0]);
  flip_bit(sandbox / "flipped.cubin", 200);
  CHECK(create("flipped.cubin").json()["error"]["code"] == "corruption");
  write_cubin(sandbox, "record.cubin", cubins[0]);
  flip_bit(sandbox / "record.cubin.record", 10);
  CHECK(create("record.cubin").json()["error"]["code"] == "corruption");
  write_cubin(sandbox, "swapped.cubin", cubins[0]);
  sandbox.write("swapped.cubin", as_text(*cubins[1].image));
  CHECK(create("swapped.cubin").status == 1);
  sandbox.write("alone.cubin", as_text(*cubins[0].image));
  const ToolResult alone = create("alone.cubin");
  CHECK(alone.status == 2);
  CHECK(contains(alone.json()["error"]["remedy"].get<std::string>(), "--record"));
  CHECK(create("missing.cubin").status == 2);
  CHECK_FALSE(std::filesystem::exists(bundle));
}

TEST_CASE("a cubin file that is huge in length alone is refused before it is read") {
  const Sandbox sandbox;
  write_cubin(sandbox, "sparse.cubin", three_cubins()[0]);
  std::filesystem::resize_file(sandbox / "sparse.cubin", std::uint64_t{4} << 30);
  const ToolResult result = sandbox.run(
      {"bundle", "create", sandbox.path("sparse.cubin"), "-o", sandbox.path("b.bundle"), "--json"});
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "invalid_argument");
}

TEST_CASE("a record of another target than the file is refused") {
  const Sandbox sandbox;
  Cubin cubin = three_cubins().front();
  CubinRecord record = *cubin.record;
  record.target = {8, 0, TargetKind::baseline};
  record.identity = identify(named_spec("one"), record.target);
  cubin.record = std::make_shared<const CubinRecord>(record);
  write_cubin(sandbox, "foreign.cubin", cubin);
  const ToolResult result = sandbox.run(
      {"bundle", "create", sandbox.path("foreign.cubin"), "-o", sandbox.path("b.bundle"), "--json"});
  CHECK(result.status == 1);
  CHECK(result.json()["error"]["code"] == "corruption");
}

TEST_CASE("bundle create refuses wrong usage") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  CHECK(sandbox.run({"bundle", "create"}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "-o", ""}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "-o", "/dev/null"}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "-o", sandbox.path("missing/b")}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "-o", sandbox.path("b"), "--bundle-version", "-1"}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "x.cubin", "-o", sandbox.path("b"), "--template", "one"}).status ==
        2);
}

TEST_CASE("a bundle is not written over a cubin or record that goes into it, nor into the home") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  write_cubin(sandbox, "a.cubin", three_cubins()[0]);
  const std::string cubin = sandbox.path("a.cubin");
  const std::string content = sandbox.read("a.cubin");
  const std::string record = sandbox.read("a.cubin.record");
  CHECK(sandbox.run({"bundle", "create", "-o", cubin, cubin}).status == 2);
  CHECK(sandbox.run({"bundle", "create", "-o", cubin + ".record", cubin}).status == 2);
  CHECK(sandbox.read("a.cubin") == content);
  CHECK(sandbox.read("a.cubin.record") == record);
  CHECK(sandbox.run({"bundle", "create", "-o", sandbox.path("home/index.sqlite")}).status == 2);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}
