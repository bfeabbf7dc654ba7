// SPDX-License-Identifier: Apache-2.0
#include "chunk_folder.hpp"

#include "support/ok.hpp"
#include "support/skip.hpp"
#include "support/temp_dir.hpp"

#include <fstream>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = std::size_t{8} << 20;

// A blob of 20 MB, and a server that fails from one offset on.
class BlobServer final : public ContentServer {
 public:
  BlobServer() {
    for (int i = 0; i < 20; ++i)
      content.insert(content.end(), 1'000'000, static_cast<std::byte>('a' + i));
    blob = describe_blob(content);
  }
  std::string name() const override { return "it"; }

  Bytes content;
  BlobDescriptor blob;
  std::optional<Error> failure;
  std::uint64_t fails_from = 0;
  std::vector<std::uint64_t> asked;  // offsets
  int asked_as_a_whole = 0;

 protected:
  Result<bool> do_has_blob(const BlobDescriptor&) override { return true; }
  Result<void> do_read_blob(const BlobDescriptor&, BodySink& sink) override {
    ++asked_as_a_whole;
    return sink.write(content);
  }
  Result<void> do_read_part(const BlobDescriptor&, const BytePart& part, BodySink& sink) override {
    asked.push_back(part.offset);
    if (failure && part.offset >= fails_from) return *failure;
    return sink.write(ByteView(content).subspan(part.offset, part.count));
  }
  Result<void> do_write_blob(const BlobDescriptor&, BodySource&) override { return {}; }
  Result<void> do_read_manifest(const Sha256Digest&, BodySink&) override { return {}; }
  Result<void> do_write_manifest(const Sha256Digest&, ByteView) override { return {}; }
  Result<std::optional<Sha256Digest>> do_read_channel(const std::string&) override {
    return std::optional<Sha256Digest>();
  }
  Result<void> do_write_channel(const std::string&, const Sha256Digest&) override { return {}; }
};

struct Pull {
  Result<void> read() {
    sink.bytes.clear();
    return ChunkFolder(*posix_file_system(), folder / "b", server.blob).read(server, sink);
  }
  fs::path parts() const { return folder / (".b." + server.blob.digest.to_hex().substr(0, 16) + ".parts"); }
  fs::path chunk(std::size_t number) const {
    return parts() / (server.blob.digest.to_hex() + "." + std::to_string(number * kChunk));
  }

  TempDir folder;
  BlobServer server;
  MemorySink sink;
};

}  // namespace

TEST_CASE("a pull that lost its connection continues, and nothing is left behind it") {
  Pull pull;
  pull.server.failure = Error{ErrorCode::unavailable, "the connection is lost"};
  pull.server.fails_from = kChunk;
  REQUIRE_FALSE(pull.read());
  CHECK(fs::file_size(pull.chunk(0)) == kChunk);
  std::ofstream(pull.parts() / ("." + pull.chunk(1).filename().string() + ".1.0.2.tmp")) << "half of it";
  pull.server.failure.reset();
  ok(pull.read());
  CHECK(pull.sink.bytes == pull.server.content);
  CHECK(pull.server.asked == std::vector<std::uint64_t>{0, kChunk, kChunk, 2 * kChunk});
  CHECK_FALSE(fs::exists(pull.parts()));
}

TEST_CASE("any other error than a lost connection leaves no chunks") {
  for (const ErrorCode code :
       {ErrorCode::corruption, ErrorCode::io, ErrorCode::untrusted, ErrorCode::not_found}) {
    Pull pull;
    pull.server.failure = Error{code, "no"};
    pull.server.fails_from = kChunk;
    CHECK(pull.read().error().code == code);
    CHECK(fs::is_empty(pull.folder.path()));
  }
}

TEST_CASE("a wrong chunk is found, and the blob read as a whole") {
  Pull pull;
  fs::create_directory(pull.parts());
  fs::permissions(pull.parts(), fs::perms(0700));
  std::ofstream(pull.chunk(0)) << std::string(kChunk, 'x');
  ok(pull.read());
  CHECK(pull.sink.bytes == pull.server.content);
  CHECK(pull.server.asked_as_a_whole == 1);
  CHECK_FALSE(fs::exists(pull.parts()));
}

TEST_CASE("a link in the place of the folder is not followed, and nothing is removed where it leads") {
  Pull pull;
  fs::create_directory(pull.folder / "precious");
  for (const char* name : {"0", "mine"})
    std::ofstream(pull.folder / "precious" / name) << "kept";
  fs::create_directory_symlink(pull.folder / "precious", pull.parts());
  ok(pull.read());
  CHECK(pull.sink.bytes == pull.server.content);
  CHECK(fs::is_symlink(pull.parts()));
  CHECK(ok(posix_file_system()->list(pull.folder / "precious")).names ==
        std::vector<std::string>{"0", "mine"});
}

TEST_CASE("a folder that others may write, or of another user, holds no chunks") {
  Pull pull;
  fs::create_directory(pull.parts());
  fs::permissions(pull.parts(), fs::perms(0777));
  ok(pull.read());
  CHECK(fs::is_empty(pull.parts()));
  CHECK(pull.server.asked_as_a_whole == 1);
  if (::geteuid() != 0) return skip("only root gives a folder away");
  fs::permissions(pull.parts(), fs::perms(0700));
  REQUIRE(::chown(pull.parts().c_str(), 12345, 12345) == 0);
  ok(pull.read());
  CHECK(fs::is_empty(pull.parts()));
}

TEST_CASE("files of others in the folder stay") {
  Pull pull;
  fs::create_directory(pull.parts());
  fs::permissions(pull.parts(), fs::perms(0700));
  for (const char* name : {"0", "mine", ".mine.tmp"})
    std::ofstream(pull.parts() / name) << "kept";
  ok(pull.read());
  CHECK(ok(posix_file_system()->list(pull.parts())).names ==
        std::vector<std::string>{".mine.tmp", "0", "mine"});
}
