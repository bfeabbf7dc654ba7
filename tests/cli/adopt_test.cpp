// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/trust/public_key.hpp>

#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kHelper = "AOMA6WBTAY4J6E5S73OL2YVRJRIDH6EAYOZONAFMOR76CCMGTORA";

// The recorded cache of Triton 3.9.0, for 9.0 and 8.0, and a library in it that runs on the host.
struct TritonCache {
  Sandbox sandbox;
  TritonCache() {
    fs::copy(fs::path(CUBINET_RECORDED) / "triton-3.9.0", sandbox / "cache", fs::copy_options::recursive);
    fs::create_directory(sandbox / "cache" / kHelper);
    sandbox.write(std::string("cache/") + kHelper + "/cuda_utils.so", "ELF");
  }
  ToolResult adopt() const {
    return sandbox.run({"adopt", sandbox.path("cache"), "--tool-version", "3.9.0", "--json"});
  }
  std::vector<std::string> put(const std::string& device = "9.0",
                               const std::string& version = "3.9.0") const {
    return {"materialize", "triton", sandbox.path("out"), "--tool-version", version, "--device",
            device,        "--json"};
  }
};

}  // namespace

TEST_CASE("what is adopted is listed, counted and removed like other kernels, by the name of the tool") {
  const TritonCache cache;
  const ToolResult adopted = cache.adopt();
  REQUIRE(adopted.status == 0);
  CHECK(adopted.json()["tool"] == "triton");
  CHECK(adopted.json()["entries"].size() == 3);
  CHECK(cache.adopt().json()["present"] == 3);
  const Sandbox& sandbox = cache.sandbox;
  CHECK(contains(sandbox.run({"registry", "list"}).out, "kernel=scale, version=3.9.0"));
  CHECK(
      sandbox.run({"registry", "list", "triton", "--target", "sm_90a", "--json"}).json()["entries"].size() ==
      1);
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["entries"] == 3);
  CHECK(contains(sandbox.run({"registry", "show", "triton"}).out, "adopted here"));
  CHECK(sandbox.run({"inspect", "triton", "--json"}).json()["results"].size() == 2);
  CHECK(contains(sandbox.run({"inspect", "triton"}).out, "kernel       scale"));
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
  CHECK(sandbox.run({"registry", "gc"}).status == 0);
  CHECK(sandbox.run({"registry", "remove", "triton@3.6.0"}).status == 1);
  CHECK(sandbox.run({"registry", "remove", "triton@3.9.0", "--json"}).json()["removed"] == 3);
  CHECK(sandbox.run({"registry", "stats", "--json"}).json()["entries"] == 0);
}

TEST_CASE("what was adopted travels in a bundle, and host code is put from a signed one alone") {
  const TritonCache cache;
  const Sandbox& sandbox = cache.sandbox;
  REQUIRE(cache.adopt().status == 0);
  // The command takes the entry from the home, regardless of who filled it.
  const auto from_home = sandbox.run(cache.put()).json();
  CHECK(from_home["written"].size() == 1);
  CHECK(from_home["left_out"].size() == 2);
  fs::remove_all(sandbox / "out");

  const std::string bundle = sandbox.path("triton.bundle");
  REQUIRE(
      sandbox.run({"bundle", "create", "-o", bundle, "--template", "triton", "--profile", "ship"}).status ==
      0);
  CHECK(sandbox.run({"bundle", "verify", bundle}).status == 0);
  auto line = cache.put();
  line.insert(line.end(), {"--bundle", bundle});
  CHECK(sandbox.run(line).json()["written"].size() == 1);
  CHECK_FALSE(fs::exists(sandbox / "out" / kHelper));
  fs::remove_all(sandbox / "out");

  REQUIRE(sandbox.run({"trust", "keygen", sandbox.path("key")}).status == 0);
  const PublicKey key = ok(PublicKey::parse(sandbox.read("key.pub")));
  const nlohmann::json policy = {{"default", {{"trusted_keys", {key.to_string()}}, {"threshold", 1}}}};
  sandbox.write("home/policy.json", policy.dump());
  fs::permissions(sandbox.home() / "policy.json", fs::perms(0600));
  CHECK(sandbox.run(line).status == 3);  // the policy requires a signature, and there is none
  REQUIRE(sandbox.run({"bundle", "sign", bundle, "--key", sandbox.path("key")}).status == 0);
  CHECK(sandbox.run(line).json()["written"].size() == 2);
  CHECK(sandbox.read(std::string("out/") + kHelper + "/cuda_utils.so") == "ELF");
}

TEST_CASE("an imported bundle puts the same entries, without what runs on the host") {
  const TritonCache cache;
  REQUIRE(cache.adopt().status == 0);
  REQUIRE(cache.sandbox.run({"bundle", "create", "-o", cache.sandbox.path("b.bundle")}).status == 0);
  const Sandbox other;
  REQUIRE(other.run({"bundle", "import", cache.sandbox.path("b.bundle")}).status == 0);
  const auto put = other.run(cache.put("8.0")).json();
  CHECK(put["written"].size() == 1);
  CHECK(put["left_out"].size() == 2);
}

TEST_CASE("nothing for this device or version is status 1, and names what is there") {
  const TritonCache cache;
  REQUIRE(cache.adopt().status == 0);
  for (const auto& line : {cache.put("12.0"), cache.put("9.0", "3.6.0")}) {
    const ToolResult result = cache.sandbox.run(line);
    CHECK(result.status == 1);
    CHECK(result.json()["written"].empty());
    CHECK(result.json()["left_out"].size() == 3);
  }
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY)) {
    ::dlclose(driver);
  } else {
    CHECK(contains(
        cache.sandbox.run({"materialize", "triton", cache.sandbox.path("out"), "--tool-version", "3.9.0"})
            .err,
        "--device"));
  }
  CHECK(
      cache.sandbox.run({"materialize", "tilelang", "x", "--tool-version", "1", "--device", "9.0"}).status ==
      2);
  const ToolResult unknown = cache.sandbox.run({"materialize", "tritn", "x", "--tool-version", "1"});
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.err, "did you mean triton?"));
  CHECK(cache.sandbox.run({"adopt", cache.sandbox.path("none")}).status != 0);
}

TEST_CASE("another user gets the entries of a home that he may read") {
  if (::geteuid() != 0) skip("needs root, to become another user");
  const TritonCache cache;
  REQUIRE(cache.adopt().status == 0);
  REQUIRE(cache.sandbox.run({"bundle", "create", "-o", cache.sandbox.path("b.bundle")}).status == 0);
  const Sandbox theirs;
  constexpr unsigned kUser = 12345;
  for (const auto& folder : {theirs.home().parent_path(), cache.sandbox.home().parent_path()})
    fs::permissions(folder, fs::perms(0755));
  REQUIRE(::chown(theirs.home().parent_path().c_str(), kUser, kUser) == 0);
  ToolSetting setting;
  setting.user = kUser;
  const ToolResult put = theirs.run({"materialize", "triton", theirs.path("cache"), "--tool-version", "3.9.0",
                                     "--device", "9.0", "--bundle", cache.sandbox.path("b.bundle"), "--json"},
                                    setting);
  CAPTURE(put.err);
  CHECK(put.status == 0);
  CHECK(put.json()["written"].size() == 1);
}
