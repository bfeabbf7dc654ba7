// SPDX-License-Identifier: Apache-2.0
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
  options.plain_http = {nginx->authority()};
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
