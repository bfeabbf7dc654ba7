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

TEST_CASE("a link in the folder of a server is not written through") {
  for (const char* linked : {"blobs", "blobs/sha256", "refs"}) {
    CAPTURE(linked);
    const test::TempDir folder;
    const auto elsewhere = folder / "elsewhere", planted = folder / "served" / linked;
    std::filesystem::create_directories(elsewhere / "sha256");
    std::filesystem::create_directories(planted.parent_path());
    std::filesystem::create_directory_symlink(elsewhere, planted);
    const auto server = open_folder_server(posix_file_system(), folder / "served");
    MemorySource source(as_bytes("content"));
    const bool is_channel = std::string_view(linked) == "refs";
    const auto written = is_channel ? server->write_channel("stable", sha256({}))
                                    : server->write_blob(describe_blob(as_bytes("content")), source);
    REQUIRE_FALSE(written);
    CHECK(std::filesystem::is_empty(elsewhere / "sha256"));
    CHECK(std::distance(std::filesystem::directory_iterator(elsewhere),
                        std::filesystem::directory_iterator()) == 1);
  }
}

TEST_CASE("a link in the place of a channel or a blob is replaced") {
  const test::TempDir folder;
  const auto precious = folder / "precious";
  std::ofstream(precious) << "kept";
  std::filesystem::create_directories(folder / "served/refs");
  std::filesystem::create_symlink(precious, folder / "served/refs/stable");
  const auto server = open_folder_server(posix_file_system(), folder / "served");
  ok(server->write_channel("stable", sha256({})));
  CHECK(std::filesystem::is_symlink(folder / "served/refs/stable") == false);
  CHECK(std::filesystem::file_size(precious) == 4);
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
