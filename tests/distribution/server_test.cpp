// SPDX-License-Identifier: Apache-2.0
#include "bazel_cache.hpp"
#include "served_bundle.hpp"
#include "support/server_process.hpp"

#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/static_server.hpp>

using namespace cubinet;
using test::cubins_of;
using test::ok;

TEST_CASE("a program gives its Runtime a server by a reference alone") {
  const auto nginx = test::Nginx::start();
  if (!nginx) return;
  const auto client = test::quick_client({nginx->authority()});
  const test::ServedBundle served(open_static_server(client, ok(Url::parse(nginx->url("/b"))), nullptr));
  served.push(7);
  ServerOptions options;
  options.reference = nginx->url("/b#stable");
  options.access.plain_http = {nginx->authority()};
  options.home = served.home();
  const auto store = ok(open_server(options));
  const Cubin wanted = cubins_of(1).front();
  const auto found = ok(store->find(wanted.record->identity.kernel()));
  REQUIRE(found.size() == 1);
  CHECK(*ok(store->load(found.front()))->image == *wanted.image);
  CHECK(ok(options.home->find(wanted.record->identity.kernel())).size() == 1);
}

TEST_CASE("a mirror has what the server lacks, and a reference without a bundle is refused") {
  const test::TempDir folder;
  const test::ServedBundle served(open_folder_server(posix_file_system(), folder / "mirror"));
  served.push(7);
  ServerOptions options;
  options.reference = "file://" + (folder / "served").string() + "#stable";
  options.mirrors = {(folder / "mirror").string()};
  CHECK(ok(ok(open_server(options))->list()).size() == 3);
  options.mirrors = {"gopher://host"};
  CHECK(open_server(options).error().code == ErrorCode::invalid_argument);
  options.mirrors = {};
  options.reference = (folder / "served").string();
  CHECK(open_server(options).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a program gives its Runtime a cache by a URL, a policy and the file of a key") {
  const test::BazelCache server;
  const test::TempDir folder;
  const SecretKey key = ok(SecretKey::generate());
  ok(write_secret_file(folder / "writer.key", ok(key.to_file(nullptr))));
  ServerOptions options;
  options.reference = server.url();
  options.access.plain_http = {server.authority()};
  CHECK(open_cache(options).error().code == ErrorCode::untrusted);
  options.policy.emplace().trusted_keys = {key.public_key()};
  const Cubin made = cubins_of(1).front();
  ok(open_cache(options, (folder / "writer.key").string()))->share(made);
  const CubinRecord& record = *made.record;
  const auto reader = ok(open_cache(options));
  const auto found = ok(reader->find_build(record.identity, record.kind, record.fingerprint));
  REQUIRE(found);
  CHECK(*found->image == *made.image);
  const SecretBytes password(Bytes(3, std::byte{'x'}));
  ok(write_secret_file(folder / "locked.key", ok(key.to_file(&password, {32'768, 16'777'216}))));
  CHECK(open_cache(options, (folder / "locked.key").string()).error().code == ErrorCode::invalid_argument);
  CHECK(open_cache(options, (folder / "locked.key").string(), "yyy").error().code == ErrorCode::untrusted);
  CHECK(open_cache(options, (folder / "locked.key").string(), "xxx"));
  CHECK(open_cache(options, (folder / "absent").string()).error().code == ErrorCode::not_found);
  options.mirrors = {"https://mirror"};
  CHECK(open_cache(options).error().code == ErrorCode::invalid_argument);
}
