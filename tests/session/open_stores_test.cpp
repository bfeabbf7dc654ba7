// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/open_stores.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

struct Log {
  std::vector<std::string> lines;
  LogSink sink() {
    return [this](const LogRecord& record) { lines.emplace_back(record.message); };
  }
};

SessionOptions options_with(const std::filesystem::path& home) {
  SessionOptions options;
  options.home = home.string();
  return options;
}

std::vector<std::string> kinds_of(const OpenedStores& opened) {
  std::vector<std::string> kinds;
  for (const auto& store : opened.stores)
    kinds.push_back(store->description().kind);
  return kinds;
}

}  // namespace

TEST_CASE(
    "stores are the home, site homes, bundles and servers in their order, and caches are none of them") {
  const test::TempDir folder;
  ok(Home::open({.path = (folder / "site").string()}));
  const std::string key = ok(SecretKey::generate()).public_key().to_string();
  test::write_file(folder / "policy.json", R"({"default":{"trusted_keys":[")" + key + R"("]}})");
  SessionOptions options = options_with(folder / "home");
  options.policy_file = (folder / "policy.json").string();
  options.site_homes = {(folder / "site").string()};
  options.bundles = {{"https://host/kernels#stable", {"https://mirror/kernels"}}};
  options.caches = {{"https://host/cache"}};
  const OpenedStores opened = ok(open_stores(options));
  CHECK(kinds_of(opened) == std::vector<std::string>{"home", "home", "server"});
  REQUIRE(opened.caches.size() == 1);
  CHECK(opened.caches.front()->place() == "https://host/cache");
  REQUIRE(opened.home != nullptr);
  CHECK(opened.stores.front() == opened.home);
  CHECK_FALSE(opened.stores[1]->description().writable);
}

TEST_CASE(
    "a channel of a folder is a server with and without a scheme, and a file of that name is a bundle") {
  const test::TempDir folder;
  std::filesystem::create_directory(folder / "srv");
  const std::string plain = (folder / "srv").string() + "#stable";
  CHECK(names_server(plain));
  CHECK(names_server("file://" + plain));
  CHECK(names_server((folder / "srv").string() + "@sha256:" + std::string(64, 'a')));
  CHECK_FALSE(names_server((folder / "srv").string()));
  CHECK_FALSE(names_server((folder / "absent").string() + "#stable"));
  SessionOptions options = options_with(folder / "home");
  options.bundles = {{plain}};
  CHECK(kinds_of(ok(open_stores(options))).back() == "server");
  test::write_file(plain, as_bytes("text"));
  CHECK_FALSE(names_server(plain));
}

TEST_CASE("a site home that is not there is an error that names the option of the session") {
  const test::TempDir folder;
  SessionOptions options = options_with(folder / "home");
  options.site_homes = {(folder / "none").string()};
  const auto opened = open_stores(options);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find((folder / "none").string()) != std::string::npos);
  CHECK(opened.error().remedy.find("`SessionOptions::site_homes`") != std::string::npos);
}

TEST_CASE("without a home nothing is kept, and no store is needed") {
  const OpenedStores opened = ok(open_stores({}));
  CHECK(opened.home == nullptr);
  CHECK(opened.stores.empty());
  CHECK(open_home({}, HomeOptions::Access::read_only).error().code == ErrorCode::unavailable);
}

TEST_CASE("a home that cannot be opened is an error if it is required and a warning if it is not") {
  const test::TempDir folder;
  test::write_file(folder / "home", as_bytes("a file"));
  Log log;
  SessionOptions options = options_with(folder / "home");
  options.log = log.sink();
  CHECK_FALSE(open_stores(options));
  options.home_required = false;
  CHECK(ok(open_stores(options)).home == nullptr);
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines.front().find("kept in memory") != std::string::npos);
}

TEST_CASE("a session that only reads never creates a home") {
  const test::TempDir folder;
  SessionOptions options = options_with(folder / "home");
  options.home_access = HomeOptions::Access::read_only;
  options.home_required = false;
  CHECK(ok(open_stores(options)).stores.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "home"));
}

TEST_CASE("a bundle that is missing and a reference that names no bundle are errors") {
  SessionOptions options;
  options.bundles = {{"/absent.bundle"}};
  CHECK_FALSE(open_stores(options));
  options.bundles = {{"https://host/kernels"}};
  CHECK(open_stores(options).error().code == ErrorCode::invalid_argument);
  options.bundles = {};
  options.caches = {{"https://host/cache"}};
  CHECK(open_stores(options).error().code == ErrorCode::untrusted);
}
