// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "home_fixture.hpp"
#include "support/fault_server.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "tool.hpp"

#include <cubinet/trust/secret_key.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

// A published folder below a root, as an unpacked wheel has several.
struct Wheel {
  Sandbox sandbox;
  PublishedFolder folder = sound_folder(sandbox / "cubins/c0ffee/fmha");

  std::string pin() const { return sha256(as_bytes(read_file(folder / "checksums.txt"))).to_hex(); }
  ToolResult mirror(const std::string& source, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"mirror", source, sandbox.path("www"), "--json"});
    return sandbox.run(more);
  }
  nlohmann::json import_mirror() const {
    const ToolResult result = sandbox.run({"import-artifacts", sandbox.path("www"), "--json"});
    CHECK(result.status == 0);
    return result.json();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Wheel, "a mirror of an unpacked wheel is served by nginx, mirrored again and imported") {
  const ToolResult first = mirror(sandbox.path("cubins"));
  REQUIRE_MESSAGE(first.status == 0, first.err);
  const auto made = first.json();
  CHECK(made["source"] == sandbox.path("cubins"));
  CHECK(made["folders"].size() == 1);
  CHECK(made["folders"][0]["folder"] == "c0ffee/fmha");
  CHECK(made["folders"][0]["checksums"] == pin());
  CHECK(made["folders"][0]["fetched"] == 7);
  CHECK(import_mirror()["rows"] == 6);
  const auto nginx = Nginx::start();
  if (!nginx) return;
  fs::copy(sandbox / "www", nginx->served() / "cubins", fs::copy_options::recursive);
  fs::remove_all(sandbox / "www");
  const std::vector<std::string> plain = {"--plain-http", nginx->authority(), "--checksums"};
  auto of_one = plain, of_several = plain;
  of_one.push_back("sha256:" + pin());
  sandbox.write("pins", pin() + "  c0ffee/fmha/checksums.txt\n");
  of_several.push_back(sandbox.path("pins"));
  const ToolResult pulled = mirror(nginx->url("/cubins"), of_several);
  REQUIRE_MESSAGE(pulled.status == 0, pulled.err);
  CHECK(pulled.json()["folders"][0]["fetched"] == 7);
  CHECK(import_mirror()["rows"] == 6);
  CHECK(mirror(nginx->url("/cubins"), of_several).json()["folders"][0]["there"] == 7);
  fs::remove_all(sandbox / "www");
  CHECK(mirror(nginx->url("/cubins/c0ffee/fmha"), of_one).json()["folders"][0]["folder"] == "");
  CHECK(import_mirror()["rows"] == 6);
}

TEST_CASE_FIXTURE(Wheel, "what one source has wrong comes from the next, and is told where none is right") {
  fs::copy(sandbox / "cubins", sandbox / "other", fs::copy_options::recursive);
  flip_bit_at(folder / (folder.kernel(0).function + ".cubin"), 100);
  const ToolResult alone = mirror(sandbox.path("cubins"));
  CHECK(alone.status == 1);
  CHECK(alone.json()["folders"][0]["damaged"]["first"][0] == folder.kernel(0).function + ".cubin");
  const ToolResult both = mirror(sandbox.path("cubins"), {"--mirror", sandbox.path("other")});
  CHECK(both.status == 0);
  CHECK(both.json()["folders"][0]["fetched"] == 1);
}

TEST_CASE_FIXTURE(Wheel, "only what a target or a function needs is asked for") {
  const auto part = mirror(sandbox.path("cubins"), {"--target", "sm_103a", "--function", "absent"}).json();
  CHECK(part["folders"][0]["fetched"] == 1);  // the header
  CHECK(part["folders"][0]["not_wanted"] == 6);
  CHECK(mirror(sandbox.path("cubins"), {"--target", "sm_103a"}).json()["folders"][0]["fetched"] == 2);
  const ToolResult text = sandbox.run({"mirror", sandbox.path("cubins"), sandbox.path("www")});
  CHECK(contains(text.out, "c0ffee/fmha@sha256:" + pin() + ": 7 listed files, 3 there, 4 fetched"));
}

TEST_CASE_FIXTURE(Wheel, "processes that mirror to one folder at once fetch each file once") {
  std::vector<std::thread> threads;
  std::vector<ToolResult> results(4);
  for (ToolResult& result : results)
    threads.emplace_back([&] { result = mirror(sandbox.path("cubins")); });
  for (std::thread& thread : threads)
    thread.join();
  std::uint64_t fetched = 0;
  for (const ToolResult& result : results) {
    REQUIRE(result.status == 0);
    fetched += result.json()["folders"][0]["fetched"].get<std::uint64_t>();
  }
  CHECK(fetched == 7);
}

TEST_CASE_FIXTURE(Wheel, "a mirror that is interrupted while a server is silent ends at once, and goes on") {
  FaultServer server([&](const ReceivedRequest& request, std::size_t before) {
    ServerReply answer = reply(200, read_file(sandbox / ("cubins/" + request.target.substr(1))));
    answer.stalls = before == 4;
    if (answer.stalls) answer.bytes.resize(answer.bytes.size() / 2);
    return answer;
  });
  sandbox.write("pins", pin() + "  c0ffee/fmha/checksums.txt\n");
  ToolSetting setting;
  setting.interrupt_milliseconds = {1500};
  const ToolResult stopped =
      sandbox.run({"mirror", server.url("/"), sandbox.path("www"), "--json", "--plain-http",
                   server.authority(), "--checksums", sandbox.path("pins")},
                  setting);
  CHECK(stopped.status == 128 + SIGINT);
  CHECK(contains(stopped.json()["error"]["message"].get<std::string>(), "interrupted"));
  CHECK_FALSE(fs::exists(sandbox / "www/c0ffee/fmha/index.html"));
  const auto after = mirror(sandbox.path("cubins")).json();
  CHECK(after["folders"][0]["there"] == 3);
  CHECK(after["folders"][0]["fetched"] == 4);
}

TEST_CASE_FIXTURE(Wheel, "a mirror that cannot be made is told, and makes nothing") {
  const auto refused = [&](const std::vector<std::string>& line) { return sandbox.run(line).status; };
  const std::string source = sandbox.path("cubins"), www = sandbox.path("www");
  CHECK(refused({"mirror", "https://host.invalid/cubins", www}) == 2);
  CHECK(refused({"mirror", source, "https://host.invalid/cubins"}) == 2);
  CHECK(refused({"mirror", source, www + "/x@sha256:" + pin()}) == 2);
  CHECK(refused({"mirror", sandbox.path("absent"), www}) == 2);
  CHECK(refused({"mirror", source, www, "--checksums", "sha256:123"}) == 2);
  CHECK(refused({"mirror", source, www, "--checksums", sandbox.path("absent")}) == 2);
  CHECK(refused({"mirror", source, www, "--target", "sm_1"}) == 2);
  CHECK(refused({"mirror", "oci://host.invalid/a:b", www, "--checksums", "sha256:" + pin()}) == 2);
  CHECK(refused({"mirror", "https://host.invalid/a", www, "--offline", "--checksums", "sha256:" + pin()}) ==
        3);
  CHECK_FALSE(fs::exists(sandbox / "www/c0ffee"));
  CHECK(sandbox.run({"registry", "repair"}).status == 0);
  CHECK(refused({"mirror", source, sandbox.path("home/www")}) == 2);
  std::string wrong = pin();
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  CHECK(refused({"mirror", sandbox.path("cubins/c0ffee/fmha"), www, "--checksums", "sha256:" + wrong}) == 1);
}

TEST_CASE("a bundle is mirrored between servers with its channel, under the policy of where it comes from") {
  const Sandbox sandbox;
  const SecretKey key = ok(SecretKey::generate());
  BundleOptions options;
  options.channel = "stable";
  options.version = 7;
  ok(create_bundle(sandbox.path("a.bundle"), three_cubins(), options));
  const auto pushed =
      sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served"), "--json"}).json();
  const std::string source = "file://" + sandbox.path("served") + "#stable";
  const ToolResult copied = sandbox.run({"mirror", source, "file://" + sandbox.path("copy"), "--json"});
  REQUIRE_MESSAGE(copied.status == 0, copied.err);
  CHECK(copied.json()["manifest"] == pushed["manifest"]);
  CHECK(copied.json()["channel"] == "stable");
  const auto renamed =
      sandbox.run({"mirror", source, "file://" + sandbox.path("copy") + "#tested", "--json"}).json();
  CHECK(renamed["channel"] == "tested");
  for (const char* channel : {"stable", "tested"}) {
    CHECK(sandbox
              .run({"pull", "file://" + sandbox.path("copy") + "#" + channel, "-o", sandbox.path("b.bundle")})
              .status == 0);
    CHECK(sandbox.read("b.bundle") == sandbox.read("a.bundle"));
  }
  CHECK(sandbox.run({"mirror", source, "file://" + sandbox.path("copy"), "--target", "sm_90a"}).status == 2);
  fs::create_directories(sandbox.home());
  sandbox.write("home/policy.json",
                R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + "\"]}}");
  const ToolResult refused = sandbox.run({"mirror", source, "file://" + sandbox.path("other"), "--json"});
  CHECK(refused.status == 3);
  CHECK(refused.json()["error"]["code"] == "untrusted");
  CHECK_FALSE(fs::exists(sandbox / "other/blobs"));
}
