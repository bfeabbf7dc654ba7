// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/folder_server.hpp>

#include <fstream>

using namespace cubinet;
using test::ok;

TEST_CASE("a folder keeps blobs, manifests and channels") {
  const test::TempDir folder;
  const auto server = open_folder_server(posix_file_system(), folder / "new/one");
  test::check_round_trip(*server);
  CHECK(std::filesystem::exists(folder / "new/one/refs/stable"));
  for (const auto& entry : std::filesystem::directory_iterator(folder / "new/one/blobs/sha256"))
    CHECK(entry.path().filename().string().size() == 64);
}

TEST_CASE("a blob that was changed, cut or lengthened is corruption") {
  const test::TempDir folder;
  const auto server = open_folder_server(posix_file_system(), folder.path());
  const BlobDescriptor blob = describe_blob(as_bytes("content"));
  MemorySource source(as_bytes("content"));
  ok(server->write_blob(blob, source));
  const auto path = folder / ("blobs/sha256/" + blob.digest.to_hex());
  for (const std::string other : {"contemt", "conten", "contents", ""}) {
    std::ofstream(path, std::ios::trunc) << other;
    const auto read = server->read_blob(blob);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("a channel that names no manifest is corruption") {
  for (const std::string& bad :
       {std::string(), std::string("sha256:12"), std::string("<html>"), "md5:" + std::string(64, 'a')}) {
    const auto digest = parse_channel_text(bad, "it");
    REQUIRE_FALSE(digest);
    CHECK(digest.error().code == ErrorCode::corruption);
  }
  const Sha256Digest digest = sha256({});
  CHECK(ok(parse_channel_text(channel_text(digest), "it")) == digest);
  CHECK(ok(parse_channel_text("sha256:" + digest.to_hex() + "\r\n", "it")) == digest);
}
