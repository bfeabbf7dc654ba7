// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/kept_server.hpp>
#include <cubinet/distribution/static_server.hpp>

#include <fstream>
#include <thread>

using namespace cubinet;
using namespace std::chrono_literals;
using test::contains;
using test::FaultServer;
using test::ok;
using test::reply;

namespace {

// A blob of "abcdefgh" in a folder, and a home.
struct KeptFixture {
  KeptFixture() {
    MemorySource source(as_bytes("abcdefgh"));
    ok(folder_server->write_blob(blob, source));
  }
  std::shared_ptr<KeptServer> open(bool local_only = false) {
    return std::make_shared<KeptServer>(folder_server, KeptServerOptions{home, local_only});
  }
  void lose() const { std::filesystem::remove_all(folder / "served"); }

  test::TempDir folder;
  std::shared_ptr<ContentServer> folder_server = open_folder_server(posix_file_system(), folder / "served");
  std::shared_ptr<Home> home = ok(Home::open({.path = (folder / "home").string()}));
  BlobDescriptor blob = describe_blob(as_bytes("abcdefgh"));
  BytePart part{2, 3, sha256(as_bytes("cde"))};
};

}  // namespace

TEST_CASE("blobs, manifests and shared parts are fetched once and then come from the home") {
  KeptFixture fixture;
  const Sha256Digest manifest = ok(fixture.folder_server->write_manifest(as_bytes("{}")));
  const auto first = fixture.open();
  ok(first->read_blob(fixture.blob));
  ok(first->read_manifest(manifest));
  CHECK(as_text(ok(first->read_blob_part(fixture.blob, fixture.part))) == "cde");
  CHECK(first->fetched_bytes() == 8 + 2 + 3);
  fixture.lose();
  const auto second = fixture.open(true);
  CHECK(as_text(ok(second->read_blob(fixture.blob))) == "abcdefgh");
  CHECK(as_text(ok(second->read_manifest(manifest))) == "{}");
  CHECK(as_text(ok(second->read_blob_part(fixture.blob, fixture.part))) == "cde");
  CHECK(second->fetched_bytes() == 0);
}

TEST_CASE("a part that nothing else shares, or that has no digest, is not kept") {
  KeptFixture fixture;
  const auto server = fixture.open();
  fixture.part.shared = false;
  CHECK(as_text(ok(server->read_blob_part(fixture.blob, fixture.part))) == "cde");
  CHECK(as_text(ok(server->read_blob_part(fixture.blob, {0, 2}))) == "ab");
  CHECK_FALSE(std::filesystem::exists(fixture.folder / "home/downloads"));
}

TEST_CASE("parts that are expected come together, and one that is wrong is left to whoever reads it") {
  KeptFixture fixture;
  const auto server = fixture.open();
  std::vector<BytePart> parts;
  for (const std::uint64_t offset : {4U, 0U, 2U})
    parts.push_back({offset, 2, sha256(as_bytes(std::string("abcdefgh").substr(offset, 2))), false});
  parts.push_back({6, 2, sha256(as_bytes("xx")), false});
  ok(server->expect_parts(fixture.blob, parts));
  CHECK(server->fetched_bytes() == 8);
  fixture.lose();
  ok(server->expect_parts(fixture.blob, {parts[0], parts[1]}));
  CHECK(as_text(ok(server->read_blob_part(fixture.blob, parts[0]))) == "ef");
  CHECK(as_text(ok(server->read_blob_part(fixture.blob, parts[1]))) == "ab");
  CHECK(server->fetched_bytes() == 8);
  CHECK_FALSE(server->read_blob_part(fixture.blob, parts[3]).has_value());
}

TEST_CASE("what has another digest than was asked for is neither given nor kept") {
  KeptFixture fixture;
  fixture.part.digest = sha256(as_bytes("cdf"));
  const auto read = fixture.open()->read_blob_part(fixture.blob, fixture.part);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::corruption);
  CHECK_FALSE(std::filesystem::exists(fixture.folder / "home/downloads"));
}

TEST_CASE("where only what is kept may be used nothing is asked") {
  KeptFixture fixture;
  const auto server = fixture.open(true);
  for (const auto& error :
       {server->read_blob(fixture.blob).error(), server->read_channel("stable").error(),
        server->read_blob_part(fixture.blob, {0, 2}).error(), server->has_blob(fixture.blob).error()}) {
    CHECK(error.code == ErrorCode::unavailable);
    CHECK(contains(error.message, "is not asked"));
  }
}

TEST_CASE("one that stalls costs its limit once, is passed over, and is asked again later") {
  std::atomic<bool> dead = true;
  const FaultServer stalling([&](auto&, auto) {
    auto answer = reply(200, "abcdefgh");
    answer.stalls = dead;
    if (dead) answer.bytes.clear();
    return answer;
  });
  HttpSettings settings;
  settings.plain_http = {stalling.authority()};
  settings.attempts = 1;
  settings.deadline = 300ms;
  const auto client = std::make_shared<HttpClient>(std::move(settings));
  KeptServer server(open_static_server(client, ok(Url::parse(stalling.url("/"))), nullptr), {.rest = 500ms});
  const BlobDescriptor blob = describe_blob(as_bytes("abcdefgh"));
  const auto since = [](auto start) { return std::chrono::steady_clock::now() - start; };
  const auto start = std::chrono::steady_clock::now();
  CHECK(server.read_blob(blob).error().code == ErrorCode::unavailable);
  CHECK(since(start) >= 250ms);
  const auto again = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i)
    CHECK(contains(server.read_blob(blob).error().message, "skipped"));
  CHECK(since(again) < 200ms);
  CHECK(stalling.requests().size() == 1);
  dead = false;
  std::this_thread::sleep_for(550ms);
  CHECK(as_text(ok(server.read_blob(blob))) == "abcdefgh");
}

TEST_CASE("while a server is passed over nobody waits for a process that asks it") {
  KeptFixture fixture;
  const auto dead =
      open_static_server(test::quick_client({"127.0.0.1:1"}), ok(Url::parse("http://127.0.0.1:1/")), nullptr);
  KeptServer server(dead, {.home = fixture.home});
  CHECK(server.read_blob(fixture.blob).error().code == ErrorCode::unavailable);
  const auto held = fixture.home->downloads().lock(fixture.blob.digest, 1s);
  const auto start = std::chrono::steady_clock::now();
  CHECK(contains(server.read_blob(fixture.blob).error().message, "skipped"));
  CHECK(std::chrono::steady_clock::now() - start < 1s);
}

TEST_CASE("what is written goes to the server") {
  KeptFixture fixture;
  const auto server = fixture.open();
  MemorySource source(as_bytes("more"));
  const BlobDescriptor more = describe_blob(as_bytes("more"));
  ok(server->write_blob(more, source));
  CHECK(ok(server->has_blob(more)));
  const Sha256Digest manifest = ok(server->write_manifest(as_bytes("{}")));
  ok(server->write_channel("stable", manifest));
  CHECK(ok(fixture.folder_server->read_channel("stable")) == manifest);
}
