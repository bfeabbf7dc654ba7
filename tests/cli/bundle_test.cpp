// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

#include <algorithm>
#include <sys/stat.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::string make_bundle(const Sandbox& sandbox, const std::vector<Cubin>& cubins) {
  const auto files = posix_file_system();
  REQUIRE(create_bundle(sandbox / "b.bundle", cubins, {"name", 5}, files));
  return sandbox.path("b.bundle");
}

// Renames the bundle's channel to one of the same length and updates the checksum.
void rename_bundle(const Sandbox& sandbox, const std::string& from, const std::string& to) {
  constexpr std::size_t kChannel = 16;
  std::string bytes = sandbox.read("b.bundle");
  REQUIRE(bytes.substr(kChannel, from.size()) == from);
  bytes.replace(kChannel, to.size(), to);
  std::size_t root_bytes = 0;
  for (std::size_t i = 4; i > 0; --i)
    root_bytes = root_bytes << 8U | static_cast<unsigned char>(bytes[8 + i - 1]);
  const Sha256Digest digest = sha256(as_bytes(bytes.substr(0, root_bytes - 32)));
  bytes.replace(root_bytes - 32, digest.bytes.size(), as_text(digest.bytes));
  sandbox.write("b.bundle", bytes);
}

}  // namespace

TEST_CASE("a bundle name of several lines forges no line of the list") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  const ToolResult before = run_tool({"bundle", "list", bundle});
  rename_bundle(sandbox, "name", "\n\x1b[m");
  const ToolResult after = run_tool({"bundle", "list", bundle});
  CHECK(after.status == 0);
  CHECK(std::count(after.out.begin(), after.out.end(), '\n') ==
        std::count(before.out.begin(), before.out.end(), '\n'));
  CHECK(contains(after.out, "\\x0a\\x1b[m, version 5"));
  CHECK(run_tool({"bundle", "list", bundle, "--json"}).json()["channel"] == "\n\x1b[m");
}

TEST_CASE("bundle list prints what a bundle holds") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  const ToolResult text = run_tool({"bundle", "list", bundle});
  CHECK(text.status == 0);
  CHECK(contains(text.out, "two(number=1)"));
  const auto document = run_tool({"bundle", "list", bundle, "--json"}).json();
  CHECK(document["records"].size() == 3);
  CHECK(document["version"] == 5);
  CHECK(document["channel"] == "name");
}

TEST_CASE("bundle verify ends with 0 for a sound bundle and 1 for every flipped bit" *
          doctest::test_suite("loop")) {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  CHECK(run_tool({"bundle", "verify", bundle}).status == 0);
  const std::uint64_t size = std::filesystem::file_size(bundle);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{20}, size / 3, size / 2, size - 1}) {
    CAPTURE(offset);
    flip_bit(bundle, offset);
    CHECK(run_tool({"bundle", "verify", bundle}).status == 1);
    flip_bit(bundle, offset);
  }
  CHECK(run_tool({"bundle", "verify", bundle}).status == 0);
}

TEST_CASE("a bundle that is cut off, empty, missing or none is told") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  std::filesystem::resize_file(bundle, std::filesystem::file_size(bundle) - 100);
  CHECK(run_tool({"bundle", "verify", bundle}).status == 1);
  sandbox.write("empty", "");
  const ToolResult empty = run_tool({"bundle", "list", sandbox.path("empty"), "--json"});
  CHECK(empty.status == 2);
  CHECK(empty.json()["error"]["code"] == "invalid_argument");
  sandbox.write("noise", std::string(4096, 'x'));
  CHECK(run_tool({"bundle", "verify", sandbox.path("noise")}).status == 2);
  CHECK(run_tool({"bundle", "list", sandbox.path("missing")}).status == 2);
  CHECK(run_tool({"bundle", "list", sandbox.path("")}).status >= 2);
  CHECK(run_tool({"bundle", "list"}).status == 2);
}

TEST_CASE("bundle import copies into the home and says what was there") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  const auto first = sandbox.run({"bundle", "import", bundle, "--json"});
  CHECK(first.status == 0);
  CHECK(first.json()["imports"][0]["imported"] == 3);
  const auto second = sandbox.run({"bundle", "import", bundle, "--json"}).json();
  CHECK(second["imports"][0]["imported"] == 0);
  CHECK(second["imports"][0]["present"] == 3);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  const auto entries = sandbox.run({"registry", "list", "--json"}).json()["entries"];
  CHECK(entries.size() == 3);
  CHECK(entries[0]["origin"] == "bundle");
  CHECK(entries[0]["bundle_version"] == 5);
}

TEST_CASE("bundle import leaves damaged kernels out, takes the others, and ends with 1") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  // The images follow the manifest. The end of the file is in the last image.
  flip_bit(bundle, std::filesystem::file_size(bundle) - 8);
  const ToolResult result = sandbox.run({"bundle", "import", bundle, "--json"});
  CAPTURE(result.out);
  CHECK(result.status == 1);
  const auto report = result.json()["imports"][0];
  CHECK(report["imported"] == 2);
  CHECK(report["refused"].size() == 1);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("bundle import into a home that is not usable ends with 3") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  sandbox.write("home", "a file");
  CHECK(sandbox.run({"bundle", "import", bundle}).status == 3);
}

TEST_CASE("a bundle that is not there keeps the others from being imported and makes no home") {
  const Sandbox sandbox;
  const std::string bundle = make_bundle(sandbox, three_cubins());
  const ToolResult result = sandbox.run({"bundle", "import", bundle, sandbox.path("missing"), "--json"});
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "not_found");
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
}

TEST_CASE("what was imported before an error is in the error document") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  const auto files = posix_file_system();
  REQUIRE(create_bundle(sandbox / "first", {cubins[0]}, {"first", 1}, files));
  REQUIRE(create_bundle(sandbox / "second", {cubins[1]}, {"second", 1}, files));
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  // A file has the path of the folder for the second bundle's image.
  sandbox.write("home/cubins/" + cubins[1].record->digest.to_hex().substr(0, 2), "no folder");
  const ToolResult result =
      sandbox.run({"bundle", "import", sandbox.path("first"), sandbox.path("second"), "--json"});
  CAPTURE(result.out);
  CHECK(result.status == 3);
  const auto document = result.json();
  CHECK(document["error"]["code"] == "untrusted");
  REQUIRE(document["imports"].size() == 1);
  CHECK(document["imports"][0]["imported"] == 1);
}

TEST_CASE("a folder or a pipe where a bundle is expected is wrong input") {
  const Sandbox sandbox;
  REQUIRE(::mkfifo((sandbox / "pipe").c_str(), 0600) == 0);
  for (const std::string& name : {sandbox.path(""), sandbox.path("pipe")}) {
    const ToolResult result = run_tool({"bundle", "list", name, "--json"});
    CHECK(result.status == 2);
    CHECK_FALSE(result.json()["error"]["remedy"].get<std::string>().empty());
  }
}
