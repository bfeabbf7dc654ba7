// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

struct Fixture {
  Sandbox sandbox;
  PublishedFolder folder = sound_folder(sandbox / "root/fmha");

  ToolResult import(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"import-artifacts", sandbox.path("root"), "--json"});
    return sandbox.run(more);
  }
  std::size_t files_in_home() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(sandbox.home())) {
      if (entry.path().extension() == ".cubin") ++count;
    }
    return count;
  }
};

std::string file_of(const PublishedKernel& kernel) {
  return kernel.function + ".cubin";
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "import artifacts counts what is in, and the home then holds the rows") {
  const ToolResult result = import();
  REQUIRE_MESSAGE(result.status == 0, result.err);
  const auto document = result.json();
  CHECK(document["folders"] == 1);
  CHECK(document["rows"] == 6);
  CHECK(document["cubins"] == 6);
  CHECK(document["specifications"] == 4);
  CHECK(document["targets"] == nlohmann::json{{"sm_100a", 1}, {"sm_100f", 3}, {"sm_103a", 2}});
  CHECK(document["elf_targets"] == document["targets"]);
  for (const char* kind : {"missing", "extra", "damaged", "conflicts", "ignored"}) {
    CHECK(document[kind]["count"] == 0);
    CHECK(document[kind]["first"].empty());
  }
  CHECK(document["seconds"] > 0);
  CHECK(document["imports"][0]["rows"] == 6);
  CHECK(files_in_home() == 0);
  const ToolResult text = sandbox.run({"import-artifacts", folder.path().string()});
  CHECK(text.status == 0);
  CHECK(contains(text.out, "specifications  4"));
}

TEST_CASE_FIXTURE(Fixture, "import artifacts names what is wrong, ends with 1, and takes the rest") {
  flip_bit_at(folder / file_of(folder.kernel(0)), 500);
  fs::remove(folder / file_of(folder.kernel(1)));
  write_file(folder / "stray.cubin", "x");
  write_file(folder / "stray.cubin.lock", "");
  const std::string header = read_file(folder / "include/flashInferMetaInfo.h");
  const std::string function = "kSM_103, \"" + folder.kernel(5).function;
  std::string forged = header;
  forged.replace(forged.find(function), 7, "kSM_100");
  write_file(folder / "include/flashInferMetaInfo.h", forged);
  const ToolResult result = import();
  CHECK(result.status == 1);
  const auto document = result.json();
  const auto first = [&](const char* kind) { return document[kind]["first"]; };
  CHECK(first("damaged") == nlohmann::json{"include/flashInferMetaInfo.h", file_of(folder.kernel(0))});
  CHECK(first("missing") == nlohmann::json{file_of(folder.kernel(1))});
  CHECK(first("extra") == nlohmann::json{"stray.cubin"});
  CHECK(first("conflicts") == nlohmann::json{file_of(folder.kernel(5))});
  CHECK(first("ignored") == nlohmann::json{"stray.cubin.lock"});
  CHECK(document["conflicts"]["details"][0]["folder"] == fs::canonical(folder.path()).string());
  CHECK(document["rows"] == 3);
  const ToolResult text = sandbox.run({"import-artifacts", folder.path().string()});
  CHECK(text.status == 1);
  CHECK(contains(text.out, "damaged: " + fs::canonical(folder.path()).string()));
  CHECK(contains(text.out, "stray.cubin"));
  // The repaired folder is imported in whole: a cubin that was damaged is read again.
  folder.write();
  CHECK(import().json()["rows"] == 6);
}

TEST_CASE_FIXTURE(Fixture, "a second import opens no cubin unless it is told to") {
  let_files_settle();
  CHECK(import().json()["read"] == 6);
  CHECK(import().json()["read"] == 0);
  CHECK(import({"--verify"}).json()["read"] == 6);
}

TEST_CASE_FIXTURE(Fixture, "linked and copied files are in the home, and stay usable without the folder") {
  for (const char* how : {"--link", "--copy"}) {
    fs::remove_all(sandbox.home());
    CHECK(import({how}).status == 0);
    CHECK(files_in_home() == 6);
  }
  fs::remove_all(folder.path());
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  CHECK(sandbox.run({"registry", "stats", "--device", "10.3", "--json"}).json()["usable"] == 4);
  CHECK(import({"--link", "--copy"}).status == 2);
}

TEST_CASE_FIXTURE(
    Fixture, "import artifacts without a folder of artifacts is wrong usage, a bad home the environment") {
  CHECK(sandbox.run({"import-artifacts"}).status == 2);
  CHECK(sandbox.run({"import-artifacts", sandbox.path("none")}).status == 2);
  CHECK(sandbox.run({"import-artifacts", (folder / "checksums.txt").string()}).status == 2);
  CHECK_FALSE(fs::exists(sandbox.home()));
  fs::create_directories(sandbox / "empty");
  const ToolResult empty = sandbox.run({"import-artifacts", sandbox.path("empty"), "--json"});
  CHECK(empty.status == 2);
  CHECK(empty.json()["error"]["code"] == "invalid_argument");
  const ToolResult home = run_tool({"import-artifacts", folder.path().string(), "--home", "/dev/null/home"});
  CHECK(home.status == 3);
}

TEST_CASE("an interrupted import ends by the signal, and the next one goes on") {
  const Sandbox sandbox;
  PublishedFolder folder(sandbox / "many");
  for (int i = 1000; i < 1600; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    folder.add({name, published_image(name, {10, 0, TargetKind::family})});
  }
  folder.write_cubins();
  // The folder has three chunks of 256 files, and the second takes long. A signal therefore always
  // arrives in time to spare the third chunk, and it may arrive before the second begins. Bytes
  // after the last section are not part of an ELF, so the enlarged files are still cubins.
  for (int i = 1300; i < 1400; i += 12)
    fs::resize_file(folder / ("kernel_" + std::to_string(i) + ".cubin"), std::uintmax_t{60} << 20);
  let_files_settle();
  const std::vector<std::string> line = {"import-artifacts", folder.path().string(), "--json", "--jobs", "1"};
  ToolSetting setting;
  setting.interrupt_after = "[1/3]";
  const ToolResult interrupted = sandbox.run(line, setting);
  CHECK(interrupted.status == 128 + 2);
  CHECK(interrupted.json()["interrupted"] == true);
  CHECK(interrupted.json()["error"]["code"] == "unavailable");
  CHECK(sandbox.run({"registry", "stats", "--json"}).status == 0);
  const ToolResult rest = sandbox.run(line);
  CHECK(rest.status == 0);
  CHECK(rest.json()["cubins"] == 600);
  const int known = 600 - rest.json()["read"].get<int>();
  CHECK((known == 256 || known == 512));
}

TEST_CASE("a folder without a name is wrong input and makes no home") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"import-artifacts", ""}).status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE_FIXTURE(Fixture, "a folder that holds the home or lies in it is not imported into it") {
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  fs::create_directory_symlink(sandbox.home(), sandbox / "alias");
  for (const std::string& around :
       {sandbox.path(""), sandbox.home().string(), sandbox.path("alias/cubins")}) {
    CAPTURE(around);
    const ToolResult result = sandbox.run({"import-artifacts", around});
    CHECK(result.status == 2);
    CHECK(contains(result.err, "the home '" + sandbox.home().string() + "'"));
  }
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["imports"] == 0);
}

TEST_CASE_FIXTURE(Fixture, "imported kernels go into a bundle when they are asked for, and are found in it") {
  REQUIRE(import().status == 0);
  const std::string bundle = sandbox.path("published.bundle");
  CHECK(sandbox.run({"bundle", "create", "-o", bundle}).status == 1);
  const ToolResult created =
      sandbox.run({"bundle", "create", "-o", bundle, "--imports", "--profile", "ship", "--json"});
  REQUIRE_MESSAGE(created.status == 0, created.err);
  CHECK(created.json()["kernels"] == 6);
  CHECK(run_tool({"bundle", "verify", bundle}).status == 0);
  const auto listed = run_tool({"bundle", "list", bundle, "--json"}).json();
  CHECK(listed["targets"] == nlohmann::json{"sm_100a", "sm_100f", "sm_103a"});
  const std::string function = folder.kernel(0).function;
  CHECK(sandbox.run({"bundle", "create", "-o", bundle, "--function", function, "--json"}).json()["kernels"] ==
        1);
  CHECK(run_tool({"bundle", "list", bundle, "--json"}).json()["records"].size() == 1);
}
