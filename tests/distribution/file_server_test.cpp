// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"
#include "support/fault_server.hpp"
#include "support/server_process.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/file_server.hpp>

#include <fstream>

using namespace cubinet;
using test::contains;
using test::FaultServer;
using test::ok;
using test::reply;

namespace {

std::shared_ptr<FileServer> files_at(const std::vector<std::string>& texts,
                                     const std::vector<std::string>& plain_http = {}) {
  std::vector<ServerReference> references;
  for (const std::string& text : texts)
    references.push_back(ok(ServerReference::parse(text)));
  return ok(connect_files(references, test::quick_client(plain_http), posix_file_system(), {}));
}

const Sha256Digest kDigest = sha256(as_bytes("content"));

Error read_error(FileServer& server, const std::string& file = "a/b.h", std::uint64_t limit = 100) {
  const auto bytes = server.read(file, kDigest, limit);
  REQUIRE_FALSE(bytes);
  return bytes.error();
}

void put_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::trunc) << content;
}

}  // namespace

TEST_CASE("a file of a folder is read where its bytes have the digest") {
  const test::TempDir folder;
  put_file(folder / "a/b.h", "content");
  for (const auto& server :
       {files_at({folder.path().string()}), files_at({"file://" + folder.path().string()})}) {
    CHECK(as_text(ok(server->read("a/b.h", kDigest, 7))) == "content");
    CHECK(read_error(*server, "a/b.h", 6).code == ErrorCode::corruption);
    CHECK(read_error(*server, "a").code == ErrorCode::corruption);
    CHECK(read_error(*server, "a/c.h").code == ErrorCode::not_found);
  }
  put_file(folder / "a/b.h", "contemt");
  const Error wrong = read_error(*files_at({folder.path().string()}));
  CHECK(wrong.code == ErrorCode::corruption);
  CHECK(contains(wrong.message, kDigest.to_hex()));
}

TEST_CASE("a file of nginx is read by its name") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  put_file(nginx->served() / "kernels/a b/c+d,e=@~f.h", "content");
  const auto server = files_at({nginx->url("/kernels")}, {nginx->authority()});
  CHECK(server->name() == nginx->url("/kernels"));
  CHECK(as_text(ok(server->read("a b/c+d,e=@~f.h", kDigest, 7))) == "content");
  CHECK(read_error(*server).code == ErrorCode::not_found);
  CHECK(read_error(*files_at({nginx->url("/kernels")})).code == ErrorCode::untrusted);
}

TEST_CASE("what a server says is no evidence, neither a page with 200 nor a size that lies") {
  const std::vector<std::string> answers = {reply(200, "<html>Sign in</html>").bytes,
                                            reply(200, std::string(101, 'x')).bytes,
                                            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncontent",
                                            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ncontent",
                                            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\ncontent"};
  for (const std::string& answer : answers) {
    CAPTURE(answer);
    FaultServer server([&](const auto&, std::size_t) { return test::ServerReply{answer}; });
    const Error error = read_error(*files_at({server.url("/k")}, {server.authority()}));
    CHECK((error.code == ErrorCode::corruption || error.code == ErrorCode::unavailable));
  }
  test::ServerReply endless{"HTTP/1.1 200 OK\r\n\r\n" + std::string(1024, 'x')};
  endless.repeats = true;
  FaultServer server([&](const auto&, std::size_t) { return endless; });
  CHECK(read_error(*files_at({server.url("/k")}, {server.authority()})).code == ErrorCode::corruption);
}

TEST_CASE("what one place has wrong or lacks comes from the next") {
  const test::TempDir one, two;
  put_file(two / "a/b.h", "content");
  const auto both = files_at({one.path().string(), two.path().string()});
  CHECK(as_text(ok(both->read("a/b.h", kDigest, 100))) == "content");
  put_file(one / "a/b.h", "contemt");
  CHECK(as_text(ok(both->read("a/b.h", kDigest, 100))) == "content");
  put_file(two / "a/b.h", "other");
  CHECK(read_error(*both).code == ErrorCode::corruption);
}

TEST_CASE("a registry of images has no files by name") {
  const auto none = connect_files({ok(ServerReference::parse("oci://host/a"))}, test::quick_client({}),
                                  posix_file_system(), {});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::invalid_argument);
}
