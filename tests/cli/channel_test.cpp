// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("a channel is pinned to the manifest before, stays there, and follows again") {
  ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  served.push(8);
  REQUIRE(served.pulled_version() == 8);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference(), "--before"}).status == 0);
  CHECK(served.pulled_version() == 7);
  served.push(9);
  CHECK(served.pulled_version() == 7);
  REQUIRE(served.sandbox.run({"channel", "unpin", served.reference()}).status == 0);
  CHECK(served.pulled_version() == 9);
  CHECK(served.sandbox.run({"channel", "unpin", served.reference()}).status == 1);
}

namespace {

// The kernel "one", whose build is another one in each version.
std::vector<Cubin> build_of_version(std::uint64_t version) {
  FakeCubin description;
  description.filler = static_cast<decltype(description.filler)>(version);
  return {make_cubin(named_spec("one"), description, "version " + std::to_string(version))};
}

// Returns the bundle version of the build that a device gets.
std::uint64_t chosen_version(const Sandbox& sandbox, const std::vector<std::string>& options = {}) {
  std::vector<std::string> line = {"explain", build_of_version(1).front().record->identity.key().to_string(),
                                   "--device", "9.0", "--json"};
  line.insert(line.end(), options.begin(), options.end());
  const ToolResult explained = sandbox.run(line);
  REQUIRE_MESSAGE(explained.status == 0, explained.err);
  return explained.json()["chosen"]["bundle_version"];
}

}  // namespace

TEST_CASE("a pinned version is used again after a pull, and the newer one after unpin and pull") {
  const ServedChannel served(0);
  const Sandbox& sandbox = served.sandbox;
  served.push(7, nullptr, build_of_version(7));
  REQUIRE(sandbox.run({"pull", served.reference()}).status == 0);
  served.push(8, nullptr, build_of_version(8));
  REQUIRE(sandbox.run({"pull", served.reference()}).status == 0);
  CHECK(chosen_version(sandbox) == 8);
  REQUIRE(sandbox.run({"channel", "pin", served.reference(), "--before"}).status == 0);
  CHECK(chosen_version(sandbox, {"--bundle", served.reference()}) == 7);
  const ToolResult back = sandbox.run({"pull", served.reference(), "--json"});
  REQUIRE_MESSAGE(back.status == 0, back.err);
  CHECK(back.json()["outranked"].empty());
  CHECK(chosen_version(sandbox) == 7);
  CHECK(contains(
      sandbox
          .run({"explain", build_of_version(1).front().record->identity.key().to_string(), "--device", "9.0"})
          .out,
      "held back"));
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  REQUIRE(sandbox.run({"registry", "gc"}).status == 0);
  CHECK(chosen_version(sandbox) == 7);
  REQUIRE(sandbox.run({"channel", "unpin", served.reference()}).status == 0);
  REQUIRE(sandbox.run({"pull", served.reference()}).status == 0);
  CHECK(chosen_version(sandbox) == 8);
}

TEST_CASE("the list of a home shows versions, and an older bundle says which build stays in use") {
  const ServedChannel served(0);
  const Sandbox& sandbox = served.sandbox;
  served.push(7, nullptr, build_of_version(7));
  served.push(8, nullptr, build_of_version(8));
  REQUIRE(sandbox.run({"bundle", "import", sandbox.path("v8.bundle")}).status == 0);
  const ToolResult older = sandbox.run({"bundle", "import", sandbox.path("v7.bundle")});
  REQUIRE_MESSAGE(older.status == 0, older.err);
  CHECK(contains(older.out, "of version 8 stays in use"));
  const auto outranked = sandbox.run({"bundle", "import", sandbox.path("v7.bundle"), "--json"})
                             .json()["imports"][0]["outranked"];
  REQUIRE(outranked.size() == 1);
  CHECK(outranked[0]["imported"]["bundle_version"] == 7);
  CHECK(outranked[0]["in_use"]["bundle_version"] == 8);
  CHECK(sandbox.run({"bundle", "import", sandbox.path("v8.bundle"), "--json"})
            .json()["imports"][0]["outranked"]
            .empty());
  const std::string list = sandbox.run({"registry", "list"}).out;
  CHECK(contains(list, "VERSION"));
  CHECK(contains(list, "  7 "));
  CHECK(contains(list, "  8 "));
}

TEST_CASE("a pin is the way back that a policy allows, and it asks for signatures all the same") {
  ServedChannel served(0);
  const SecretKey key = ok(SecretKey::generate());
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write("home/policy.json",
                       R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + "\"]}}");
  const std::string unsigned_one = served.push(5);
  const std::string old = served.push(6, &key);
  served.push(7, &key);
  CHECK(served.pulled_version() == 7);
  CHECK(served.sandbox.run({"pull", served.at(old), "-o", served.sandbox.path("b.bundle")}).status == 3);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference(), "--manifest", old}).status == 0);
  CHECK(served.pulled_version() == 6);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference(), "--manifest", unsigned_one}).status == 0);
  CHECK(served.sandbox.run({"pull", served.reference(), "-o", served.sandbox.path("b.bundle")}).status == 3);
  REQUIRE(served.sandbox.run({"channel", "unpin", served.reference()}).status == 0);
  CHECK(served.pulled_version() == 7);
}

TEST_CASE("a channel is pinned to a version that the home has seen, or that the channel names now") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  served.push(8);
  REQUIRE(served.pulled_version() == 8);
  served.push(9);
  const auto pin = [&](const std::string& version) {
    return served.sandbox.run({"channel", "pin", served.reference(), "--bundle-version", version, "--json"});
  };
  for (const unsigned version : {7U, 9U, 8U}) {
    REQUIRE(pin(std::to_string(version)).status == 0);
    CHECK(served.pulled_version() == version);
  }
  const ToolResult unknown = pin("6");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.json()["error"]["message"].get<std::string>(), "there are: 8; 7; 9"));
  CHECK(served.pulled_version() == 8);
  CHECK(pin("x").status == 2);
  CHECK(served.sandbox.run({"channel", "pin", served.reference(), "--bundle-version", "7", "--before"})
            .status == 2);
  // Without the server, what was seen is known all the same.
  std::filesystem::remove_all(served.sandbox / "served/refs");
  CHECK(pin("7").status == 0);
}

TEST_CASE("an unsigned version is not pinned where the policy wants signatures") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  served.sandbox.write("home/policy.json", R"({"default":{"trusted_keys":[")" +
                                               ok(SecretKey::generate()).public_key().to_string() + "\"]}}");
  CHECK(served.sandbox.run({"channel", "pin", served.reference(), "--bundle-version", "7"}).status == 2);
}

TEST_CASE("pins are listed without a server, with the versions that the home has") {
  const ServedChannel served;
  const ToolResult none = served.sandbox.run({"channel", "list", "--json"});
  CHECK(none.status == 0);
  CHECK(none.json()["channels"].empty());
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  const std::string eighth = served.push(8);
  REQUIRE(served.pulled_version() == 8);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference(), "--before"}).status == 0);
  std::filesystem::remove_all(served.sandbox / "served");
  const ToolResult listed = served.sandbox.run({"channel", "list", "--json"});
  REQUIRE(listed.status == 0);
  REQUIRE(listed.json()["channels"].size() == 1);
  const auto channel = listed.json()["channels"][0];
  CHECK(channel["reference"] == served.reference());
  CHECK(channel["pinned_version"] == 7);
  CHECK(channel["pinned"] == channel["before"]);
  CHECK(channel["manifest"] == eighth);
  CHECK(channel["manifest_version"] == 8);
  CHECK(contains(served.sandbox.run({"channel", "list"}).out, "pinned  version 7, sha256:"));
  REQUIRE(served.sandbox.run({"channel", "unpin", served.reference()}).status == 0);
  CHECK(served.sandbox.run({"channel", "list", "--json"}).json()["channels"][0]["pinned"].is_null());
}

TEST_CASE("a line that pins a channel unpins it too, with the same options of its server") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  for (const char* verb : {"pin", "unpin"}) {
    CAPTURE(verb);
    CHECK(served.sandbox
              .run({"channel", verb, served.reference(), "--plain-http", "127.0.0.1:9", "--offline",
                    "--endpoint", "https://127.0.0.1:9", "--ca", served.sandbox.path("none")})
              .status == 0);
  }
}

TEST_CASE("a manifest that cannot be pinned is an error") {
  const ServedChannel served;
  const auto pin = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"channel", "pin"});
    return served.sandbox.run(more).status;
  };
  CHECK(pin({served.reference()}) == 2);  // nobody asked it yet
  CHECK(pin({"https://host/a"}) == 2);
  CHECK(pin({served.reference(), "--manifest", "sha256:12"}) == 2);
}
