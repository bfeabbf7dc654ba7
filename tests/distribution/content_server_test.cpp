// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/distribution/folder_server.hpp>

#include <fstream>

using namespace cubinet;
using test::ok;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

TEST_CASE("a blob becomes a file when it is right, and nothing where it is not") {
  const test::TempDir served, folder;
  const auto server = open_folder_server(posix_file_system(), served.path());
  const std::string content(3'000'000, 'c');
  const BlobDescriptor blob = describe_blob(as_bytes(content));
  std::ofstream(folder / "source") << content;
  FileSource source(posix_file_system(), folder / "source", blob.size);
  ok(server->write_blob(blob, source));
  ok(read_blob_to_file(*server, blob, *posix_file_system(), folder / "copy"));
  CHECK(describe_blob(ok(posix_file_system()->read(folder / "copy", blob.size))) == blob);
  std::fstream(served / ("blobs/sha256/" + blob.digest.to_hex()), std::ios::in | std::ios::out).put('d');
  const auto flipped = read_blob_to_file(*server, blob, *posix_file_system(), folder / "copy");
  REQUIRE_FALSE(flipped);
  CHECK(flipped.error().code == ErrorCode::corruption);
  CHECK(describe_blob(ok(posix_file_system()->read(folder / "copy", blob.size))) == blob);
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a file that becomes shorter while it is sent is an error") {
  const test::TempDir folder;
  std::ofstream(folder / "source") << "short";
  FileSource source(posix_file_system(), folder / "source", 10);
  Bytes chunk(4);
  CHECK(ok(source.read(2, chunk)) == 3);
  CHECK_FALSE(source.read(5, chunk));
  CHECK(ok(source.read(10, chunk)) == 0);
}

TEST_CASE("a manifest that no server takes is not sent") {
  const test::TempDir folder;
  const auto server = open_folder_server(posix_file_system(), folder.path());
  CHECK(server->write_manifest(Bytes(kMaximumManifest + 1)).error().code == ErrorCode::invalid_argument);
  CHECK(files_in(folder.path()) == 0);
}
