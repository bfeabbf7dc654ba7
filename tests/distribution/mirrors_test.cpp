// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/mirrors.hpp>
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

struct TwoMirrors {
  TwoMirrors() {
    for (const auto& server : {first, second}) {
      MemorySource source(as_bytes("content"));
      ok(server->write_blob(blob, source));
    }
  }
  void change(const test::TempDir& folder, const std::string& content) const {
    std::ofstream(folder / ("blobs/sha256/" + blob.digest.to_hex()), std::ios::trunc) << content;
  }
  std::string read(ContentServer& server) const { return std::string(as_text(ok(server.read_blob(blob)))); }

  BlobDescriptor blob = describe_blob(as_bytes("content"));
  test::TempDir one, two;
  std::shared_ptr<ContentServer> first = open_folder_server(posix_file_system(), one.path());
  std::shared_ptr<ContentServer> second = open_folder_server(posix_file_system(), two.path());
};

std::shared_ptr<ContentServer> at(const FaultServer& server) {
  return open_static_server(test::quick_client({server.authority()}), ok(Url::parse(server.url("/"))),
                            nullptr);
}

}  // namespace

TEST_CASE("what one mirror has wrong or not at all is taken from the next") {
  TwoMirrors pair;
  const auto mirrors = join_mirrors({pair.first, pair.second});
  for (const std::string wrong : {"contemt", "conten"}) {
    pair.change(pair.one, wrong);
    CHECK(pair.read(*mirrors) == "content");
  }
  std::filesystem::remove_all(pair.one / "blobs");
  CHECK(pair.read(*mirrors) == "content");
  CHECK(as_text(ok(mirrors->read_blob_part(pair.blob, {2, 3}))) == "nte");
  pair.change(pair.two, "contemt");
  const auto read = mirrors->read_blob(pair.blob);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::corruption);
  CHECK(contains(read.error().message, pair.one.path().string()));
}

TEST_CASE("a channel is that of the first mirror that has it, and what is written goes to the first") {
  TwoMirrors pair;
  const auto mirrors = join_mirrors({pair.first, pair.second});
  CHECK_FALSE(ok(mirrors->read_channel("stable")));
  ok(pair.second->write_channel("stable", sha256({})));
  CHECK(ok(mirrors->read_channel("stable")) == sha256({}));
  const Sha256Digest digest = ok(mirrors->write_manifest(as_bytes("{}")));
  ok(mirrors->write_channel("stable", digest));
  CHECK(ok(pair.first->read_channel("stable")) == digest);
  CHECK(ok(pair.second->read_channel("stable")) == sha256({}));
  CHECK(as_text(ok(mirrors->read_manifest(digest))) == "{}");
}

TEST_CASE("a mirror that gives no answer is passed over for a while, and asked again") {
  TwoMirrors pair;
  std::atomic<bool> dead = true;
  const FaultServer server([&](auto&, auto) { return dead ? reply(503) : reply(200, "content"); });
  const auto mirrors = join_mirrors({at(server), pair.second}, 300ms);
  CHECK(pair.read(*mirrors) == "content");
  const std::size_t asked = server.requests().size();
  CHECK(asked == 3);
  CHECK(pair.read(*mirrors) == "content");
  CHECK(server.requests().size() == asked);
  std::filesystem::remove_all(pair.two / "blobs");
  const auto read = mirrors->read_blob(pair.blob);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::unavailable);
  CHECK(contains(read.error().message, "1 mirror that gave no answer before"));
  dead = false;
  std::this_thread::sleep_for(350ms);
  CHECK(pair.read(*mirrors) == "content");
}

TEST_CASE("where all mirrors are passed over, all are asked") {
  std::atomic<bool> dead = true;
  const FaultServer server([&](auto&, auto) { return dead ? reply(503) : reply(200, "content"); });
  const auto mirrors = join_mirrors({at(server), at(server)});
  const BlobDescriptor blob = describe_blob(as_bytes("content"));
  CHECK(mirrors->read_blob(blob).error().code == ErrorCode::unavailable);
  dead = false;
  CHECK(as_text(ok(mirrors->read_blob(blob))) == "content");
}

TEST_CASE("one mirror is itself") {
  TwoMirrors pair;
  CHECK(join_mirrors({pair.first}) == pair.first);
}
