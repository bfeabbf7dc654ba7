// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "tool.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// A bundle of three kernels, pushed into a folder.
struct Served {
  explicit Served(std::uint64_t version = 7) { push(version); }
  void push(std::uint64_t version, const SecretKey* key = nullptr) {
    BundleOptions options;
    options.channel = "stable";
    options.version = version;
    ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
    if (key != nullptr) {
      const auto bundle = ok(Bundle::open(sandbox.path("a.bundle")));
      sandbox.write("a.bundle." + key->public_key().id() + ".minisig",
                    ok(sign(*key, bundle->root_bytes(), "")).to_file());
    }
    REQUIRE(sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served")}).status == 0);
  }
  std::string channel() const { return "file://" + sandbox.path("served") + "#stable"; }
  ToolResult pull(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"pull", channel()};
    line.insert(line.end(), more.begin(), more.end());
    return sandbox.run(line);
  }

  Sandbox sandbox;
};

}  // namespace

TEST_CASE("what was pushed is pulled by its channel or its manifest, and verified") {
  const Served served;
  const auto result = served.pull({"-o", served.sandbox.path("b.bundle"), "--json"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  CHECK(result.json()["kernels"] == 3);
  CHECK(result.json()["version"] == 7);
  CHECK(served.sandbox.read("b.bundle") == served.sandbox.read("a.bundle"));
  CHECK(served.sandbox.run({"bundle", "verify", served.sandbox.path("b.bundle")}).status == 0);
  const std::string manifest = result.json()["reference"];
  CHECK(served.sandbox.run({"pull", manifest, "-o", served.sandbox.path("c.bundle")}).status == 0);
  CHECK(served.sandbox.read("c.bundle") == served.sandbox.read("a.bundle"));
}

TEST_CASE("a manifest that states a pack of another size than the signed root fills no disk") {
  Served served;
  const SecretKey key = ok(SecretKey::generate());
  served.push(8, &key);
  const Sandbox& sandbox = served.sandbox;
  sandbox.write("policy.json", R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + R"("]}})");
  const std::string policy = sandbox.path("policy.json");
  REQUIRE(served.pull({"-o", sandbox.path("b.bundle"), "--policy", policy}).status == 0);
  // An attacker can only write the server's folder, so the root and its signature stay.
  const std::string named = sandbox.read("served/refs/stable").substr(7, 64);
  auto manifest = nlohmann::json::parse(sandbox.read("served/blobs/sha256/" + named));
  for (auto& layer : manifest["layers"]) {
    if (layer["mediaType"] != "application/vnd.cubinet.bundle.pack.v1") continue;
    layer["size"] = std::uint64_t{1} << 40;
  }
  const std::string text = manifest.dump(), changed = sha256(as_bytes(text)).to_hex();
  sandbox.write("served/blobs/sha256/" + changed, text);
  sandbox.write("served/refs/stable", "sha256:" + changed + "\n");
  const auto refused = served.pull({"-o", sandbox.path("c.bundle"), "--policy", policy});
  CHECK(refused.status == 1);
  CHECK(contains(refused.err, "names a pack of 1099511627776 bytes"));
  const auto mirrored =
      sandbox.run({"mirror", served.channel(), "file://" + sandbox.path("to"), "--policy", policy});
  CHECK(mirrored.status == 1);
  CHECK_FALSE(std::filesystem::exists(sandbox / "to"));
  for (const auto& entry : std::filesystem::directory_iterator(sandbox / "."))
    CHECK_FALSE(contains(entry.path().string(), ".parts"));
}

TEST_CASE("a pull into a folder that others may write follows no link of theirs") {
  const Sandbox sandbox;
  std::vector<Cubin> cubins = three_cubins();
  FakeCubin large;
  large.code_bytes = 9'000'000;
  KernelSpec spec;
  spec.name = "large";
  cubins.push_back(make_cubin(spec, large));
  BundleOptions options;
  options.channel = "stable";
  options.profile = BundleProfile::plain;
  ok(create_bundle(sandbox.path("a.bundle"), cubins, options));
  REQUIRE(sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served")}).status == 0);
  const std::string named = sandbox.read("served/refs/stable").substr(7, 64);
  std::string pack;
  const auto manifest = nlohmann::json::parse(sandbox.read("served/blobs/sha256/" + named));
  for (const auto& layer : manifest["layers"]) {
    if (layer["mediaType"] == "application/vnd.cubinet.bundle.pack.v1")
      pack = layer["digest"].get<std::string>().substr(7);
  }
  REQUIRE(std::filesystem::file_size(sandbox / ("served/blobs/sha256/" + pack)) > std::size_t{8} << 20);
  std::filesystem::create_directory(sandbox / "share");
  std::filesystem::permissions(sandbox / "share", std::filesystem::perms(0777));
  std::filesystem::create_directory(sandbox / "precious");
  sandbox.write("precious/f", "kept");
  std::filesystem::create_directory_symlink(sandbox / "precious",
                                            sandbox / ("share/.out.bundle." + pack.substr(0, 16) + ".parts"));
  const auto pulled =
      sandbox.run({"pull", sandbox.path("served") + "#stable", "-o", sandbox.path("share/out.bundle")});
  REQUIRE_MESSAGE(pulled.status == 0, pulled.err);
  CHECK(sandbox.read("share/out.bundle") == sandbox.read("a.bundle"));
  CHECK(sandbox.read("precious/f") == "kept");
}

TEST_CASE("a dry run tells what the root says and asks for nothing of the pack") {
  const Served served;
  for (const auto& entry : std::filesystem::directory_iterator(served.sandbox / "served/blobs/sha256")) {
    if (entry.file_size() > 2000 &&
        entry.file_size() != ok(Bundle::open(served.sandbox.path("a.bundle")))->root_bytes().size())
      std::filesystem::remove(entry.path());
  }
  const auto result = served.pull({"--dry-run", "--json"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  CHECK(result.json()["kernels"] == 3);
  CHECK(result.json()["bytes"] == std::filesystem::file_size(served.sandbox / "a.bundle"));
  CHECK(served.pull({"-o", served.sandbox.path("b.bundle")}).status != 0);
  CHECK_FALSE(std::filesystem::exists(served.sandbox / "b.bundle"));
}

TEST_CASE("what one server has wrong comes from its mirror") {
  const Served served;
  std::filesystem::copy(served.sandbox / "served", served.sandbox / "mirror",
                        std::filesystem::copy_options::recursive);
  for (const auto& entry : std::filesystem::directory_iterator(served.sandbox / "served/blobs/sha256"))
    flip_bit(entry.path(), entry.file_size() - 1);
  const std::string output = served.sandbox.path("b.bundle");
  const auto alone = served.pull({"-o", output});
  CHECK(alone.status == 1);
  CHECK_FALSE(std::filesystem::exists(output));
  CHECK(served.pull({"-o", output, "--mirror", served.sandbox.path("mirror")}).status == 0);
  CHECK(served.sandbox.read("b.bundle") == served.sandbox.read("a.bundle"));
}

TEST_CASE("a policy that asks for a signature is asked before the kernels travel") {
  Served served;
  const SecretKey key = ok(SecretKey::generate());
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write("home/policy.json",
                       R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + "\"]}}");
  const std::string output = served.sandbox.path("b.bundle");
  const auto unsigned_one = served.pull({"-o", output, "--json"});
  CHECK(unsigned_one.status == 3);
  CHECK(unsigned_one.json()["error"]["code"] == "untrusted");
  CHECK_FALSE(std::filesystem::exists(output));
  served.push(8, &key);
  const auto signed_one = served.pull({"-o", output, "--json"});
  REQUIRE_MESSAGE(signed_one.status == 0, signed_one.err);
  CHECK(signed_one.json()["trust"]["signers"][0]["public_key"] == key.public_key().to_string());
  CHECK(std::filesystem::exists(output + "." + key.public_key().id() + ".minisig"));
  // A version older than a previously seen one is refused as a rollback.
  served.push(7, &key);
  CHECK(served.pull({"-o", output}).status == 3);
}

TEST_CASE("a place that the policy has for what is here alone is not asked") {
  const Served served;
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write(
      "home/policy.json",
      R"({"stores":[{"place":"https://host.invalid/a","require_signed":false,"local_only":true}]})");
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"pull", "https://host.invalid/a#stable", "--dry-run"},
        std::vector<std::string>{"pull", served.channel(), "--dry-run", "--mirror",
                                 "https://host.invalid/a"}}) {
    const auto result = served.sandbox.run(line);
    CHECK(result.status == 3);
    CHECK(contains(result.err, "local_only"));
  }
  CHECK(served.pull({"--dry-run"}).status == 0);
}

TEST_CASE("what cannot be pulled is told before anything is asked") {
  const Served served;
  const std::string output = served.sandbox.path("b.bundle");
  const auto run = [&](std::vector<std::string> line) { return served.sandbox.run(std::move(line)).status; };
  CHECK(run({"pull", served.sandbox.path("served"), "-o", output}) == 2);
  CHECK(run({"pull", "file://" + served.sandbox.path("served") + "#absent", "-o", output}) == 2);
  CHECK(run({"pull", served.channel(), "-o", output, "--mirror", served.channel()}) == 2);
  CHECK(run({"pull", "https://host.invalid/a#stable", "-o", output, "--offline"}) == 3);
  CHECK(run({"pull", "http://127.0.0.1:1/a#stable", "-o", output}) == 3);
}

TEST_CASE("a part of a bundle is a bundle of its own, and only its frames travel") {
  const Served served;
  const std::string output = served.sandbox.path("b.bundle");
  const auto dry = served.pull({"--target", "sm_80", "--dry-run", "--json"});
  REQUIRE_MESSAGE(dry.status == 0, dry.err);
  CHECK(dry.json()["kernels"] == 1);
  CHECK(dry.json()["bytes"] == three_cubins()[1].image->size());
  const auto part = served.pull({"--target", "sm_80", "-o", output, "--json"});
  REQUIRE_MESSAGE(part.status == 0, part.err);
  CHECK(part.json()["kernels"] == 1);
  CHECK(ok(Bundle::open(output))->root().targets == std::vector<std::string>{"sm_80"});
  CHECK(served.sandbox.run({"bundle", "verify", output}).status == 0);
  CHECK(served.pull({"--target", "sm_75", "-o", output}).status == 1);
  CHECK(served.pull({"--types", "bf17", "-o", output}).status == 2);
}

TEST_CASE("without a file kernels go into the home, those that are there do not travel") {
  const Served served;
  const auto first = served.pull({"--device", "9.0", "--function", "kernel", "--json"});
  REQUIRE_MESSAGE(first.status == 0, first.err);
  CHECK(first.json()["kernels"] == 2);  // the better of the builds for 8.0 and 9.0
  CHECK(first.json()["present"] == 0);
  const auto again = served.pull({"--device", "9.0", "--json"});
  CHECK(again.json()["kernels"] == 0);
  CHECK(again.json()["present"] == 2);
  CHECK(again.json()["bytes"] == 0);
  CHECK(served.sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);
  CHECK(served.sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("what came of a part before it was ended is not asked for again") {
  const Served served;
  const auto cubins = three_cubins();
  // The home is as a process leaves it that is killed after the first frames.
  std::filesystem::create_directories(served.sandbox.home());
  {
    const auto home = ok(Home::open({.path = served.sandbox.home().string()}));
    ok(home->downloads().keep(cubins[0].record->digest, *cubins[0].image));
  }
  for (const auto& entry : std::filesystem::directory_iterator(served.sandbox / "served/blobs/sha256")) {
    const auto bytes = ok(posix_file_system()->read(entry.path(), 1 << 24));
    const auto at = std::search(bytes.begin(), bytes.end(), cubins[0].image->begin(), cubins[0].image->end());
    if (at != bytes.end()) flip_bit(entry.path(), static_cast<std::uint64_t>(at - bytes.begin()) + 10);
  }
  CHECK(served.pull({"-o", served.sandbox.path("b.bundle")}).status == 1);
  const auto part = served.pull({"--target", "sm_90a", "-o", served.sandbox.path("b.bundle"), "--json"});
  REQUIRE_MESSAGE(part.status == 0, part.err);
  CHECK(served.sandbox.run({"bundle", "verify", served.sandbox.path("b.bundle")}).status == 0);
  const auto home = ok(Home::open({.path = served.sandbox.home().string()}));
  CHECK_FALSE(ok(home->downloads().has(cubins[0].record->digest, cubins[0].record->size)));
}

TEST_CASE("a dry run remembers no version") {
  Served served;
  const SecretKey key = ok(SecretKey::generate());
  std::filesystem::create_directories(served.sandbox.home());
  served.sandbox.write("home/policy.json",
                       R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + "\"]}}");
  served.push(8, &key);
  CHECK(served.pull({"--dry-run"}).status == 0);
  served.push(7, &key);
  CHECK(served.pull({"-o", served.sandbox.path("b.bundle")}).status == 0);
}

TEST_CASE("no spelling of a server leads around its policy, or to a milder one") {
  const auto nginx = Nginx::start();
  if (nginx == nullptr) return;
  const std::string server = nginx->authority(), port = server.substr(server.find(':'));
  const Sandbox sandbox;
  sandbox.write("policy.json", R"({"stores":[
    {"place":"http://)" + server + R"(/kernels/","trusted_keys":[")" +
                                   ok(SecretKey::generate()).public_key().to_string() + R"("]},
    {"place":"http://)" + server + R"(/free/","require_signed":false}]})");
  BundleOptions options;
  options.channel = "stable";
  ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
  REQUIRE(
      sandbox
          .run({"push", sandbox.path("a.bundle"), "file://" + (nginx->served() / "kernels#stable").string()})
          .status == 0);
  REQUIRE(sandbox
              .run({"push", sandbox.path("a.bundle"),
                    "file://" + (nginx->served() / "free/kernels#stable").string()})
              .status == 0);
  const auto pull = [&](const std::string& place) {
    return sandbox.run({"pull", place + "#stable", "-o", sandbox.path("b.bundle"), "--plain-http", server,
                        "--policy", sandbox.path("policy.json")});
  };
  CHECK(pull("http://" + server + "/free/kernels").status == 0);
  for (const std::string& place :
       {server + "/kernels", server + "/kernels/", server + "//kernels", server + "/./kernels",
        server + "/kernels/.", server + "/a/../kernels", server + "/free/../kernels", server + "/%6bernels",
        server + "/kernels%2f", server + "/free/%2e%2e/kernels", server + "/free%2f..%2fkernels",
        "127.0.0.1:0" + port.substr(1) + "/kernels", "127.1" + port + "/kernels",
        "0x7f.1" + port + "/kernels", "[::ffff:127.0.0.1]" + port + "/kernels", "x@" + server + "/kernels"}) {
    CAPTURE(place);
    std::filesystem::remove(sandbox / "b.bundle");
    CHECK(pull("http://" + place).status != 0);
    CHECK_FALSE(std::filesystem::exists(sandbox / "b.bundle"));
  }
}
