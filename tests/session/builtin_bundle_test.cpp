// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/session.hpp>
#include <cubinet/session/builtin_bundle.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/trust/secret_key.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using test::ok;

namespace {

// A bundle of one kernel, and the digest of its root as a build of the library reads it.
struct BuiltinBundle {
  BuiltinBundle() {
    cubin = test::make_cubin(KernelSpec{"scale", {}}.set("factor", 1));
    ok(create_bundle(file(), {cubin}, {"", 1}));
    root = root_of(file());
    options.home = (folder / "home").string();
    options.builtin_bundle = file();
  }

  std::string file() const { return (folder / "builtin.bundle").string(); }
  static Sha256Digest root_of(const std::string& path) {
    const auto bundle = ok(Bundle::open(path));
    Sha256Digest digest;
    const ByteView stated = bundle->root_bytes().last(digest.bytes.size());
    std::copy(stated.begin(), stated.end(), digest.bytes.begin());
    return digest;
  }
  void write_policy(const std::string& text) {
    options.policy_file = (folder / "policy.json").string();
    test::write_file(options.policy_file, as_bytes(text));
  }
  std::vector<std::string> places() const {
    std::vector<std::string> places;
    for (const auto& store : ok(open_stores(options, root)).stores)
      places.push_back(store->description().place);
    return places;
  }

  test::TempDir folder;
  Cubin cubin;
  Sha256Digest root;
  SessionOptions options;
};

}  // namespace

TEST_CASE_FIXTURE(BuiltinBundle,
                  "the bundle of the library is searched after the homes, without a signature") {
  const std::string other = (folder / "other.bundle").string();
  ok(create_bundle(other, {cubin}, {"", 2}));
  ok(Home::open({.path = (folder / "site").string()}));
  options.site_homes = {(folder / "site").string()};
  options.bundles = {{other}};
  CHECK(places() == std::vector<std::string>{options.home, options.site_homes[0], "builtin:", other});
  const auto runtime =
      ok(make_runtime(options, ok(open_stores(options, root)), ok(TemplateCatalog::builtin())));
  const auto found = ok(runtime->resolve("kernel"));
  const KernelExplanation explanation = ok(runtime->explain(*found, {9, 0}));
  REQUIRE(explanation.builds.size() == 2);
  // A bundle that the user names precedes it by its version.
  CHECK(explanation.builds[0].place == other);
  CHECK(explanation.builds[1].place == "builtin:");
}

TEST_CASE_FIXTURE(BuiltinBundle, "its trust is that of the library, and reports name it") {
  const auto opened = ok(open_builtin_bundle(options, root));
  const TrustReport trust = TrustReport::of(*opened);
  CHECK(trust.builtin);
  CHECK(to_text(trust) == "the bundle of this library, which holds the digest of its root");
  CHECK(describe(trust)["builtin"] == true);
  CHECK_FALSE(TrustReport::of(*ok(Bundle::open(file()))).builtin);
  const BuiltinReport report = report_builtin_bundle(options, root);
  CHECK(to_text(report) == file() + ", 1 kernel, root " + root.to_hex());
  CHECK(describe(report)["used"] == true);
  CHECK(describe(report)["records"] == 1);
  SessionOptions none;
  CHECK(to_text(report_builtin_bundle(none, root)).find(root.to_hex()) != std::string::npos);
  CHECK(to_text(report_builtin_bundle(none, std::nullopt)) ==
        "none: this library was built without a bundle of its own");
}

TEST_CASE_FIXTURE(BuiltinBundle, "a file with another root is refused, whatever the policy says") {
  ok(create_bundle(file(), {cubin}, {"", 2}));
  for (const char* policy : {R"({})", R"({"default": {"require_signed": false}})",
                             R"({"stores": [{"place": "builtin:", "require_signed": false}]})"}) {
    write_policy(policy);
    const auto opened = open_stores(options, root);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::untrusted);
    CHECK(opened.error().message.find(file()) != std::string::npos);
    CHECK(opened.error().message.find(root.to_hex() + " is expected") != std::string::npos);
  }
  CHECK(report_builtin_bundle(options, root).error.has_value());
}

TEST_CASE_FIXTURE(BuiltinBundle, "a file that only states the digest is damaged, and so is a changed image") {
  const auto files = posix_file_system();
  const Bytes whole = ok(files->read(file(), 1 << 20));
  const std::size_t root_bytes = ok(Bundle::open(file()))->root_bytes().size();
  const auto with_changed = [&](std::size_t offset) {
    Bytes bytes = whole;
    bytes[offset] ^= std::byte{1};
    test::write_file(file(), bytes);
  };
  with_changed(20);
  CHECK(open_builtin_bundle(options, root).error().code == ErrorCode::corruption);
  with_changed(root_bytes - 1);
  CHECK(open_builtin_bundle(options, root).error().code == ErrorCode::untrusted);
  with_changed(whole.size() - 1);
  const auto opened = ok(open_builtin_bundle(options, root));
  const auto record = ok(opened->list()).front();
  CHECK_FALSE(ok(opened->load(record)).has_value());
}

TEST_CASE_FIXTURE(BuiltinBundle, "a policy refuses it only by its own place, and a default does not") {
  write_policy(R"({"default": {}})");
  CHECK(places() == std::vector<std::string>{options.home, "builtin:"});
  write_policy(R"({"stores": [{"place": "/"}]})");
  CHECK(places() == std::vector<std::string>{options.home, "builtin:"});
  write_policy(R"({"stores": [{"place": "builtin:"}]})");
  CHECK(places() == std::vector<std::string>{options.home});
  const BuiltinReport report = report_builtin_bundle(options, root);
  CHECK(report.refused);
  CHECK(to_text(report) == file() + " is refused by the policy for builtin:");
  write_policy(R"({"stores": [{"place": "builtin:", "require_signed": false, "minimum_version": 2}]})");
  CHECK(places() == std::vector<std::string>{options.home});
  write_policy(R"({"stores": [{"place": "builtin:", "require_signed": false, "minimum_version": 1}]})");
  CHECK(places() == std::vector<std::string>{options.home, "builtin:"});
  write_policy("not JSON");
  CHECK(open_stores(options, root).error().code == ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(BuiltinBundle, "a library without a bundle refuses every file and says so") {
  const auto opened = open_stores(options, std::nullopt);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::invalid_argument);
  CHECK(opened.error().message.find("built without a bundle of its own") != std::string::npos);
  if (!builtin_bundle_root()) CHECK(Session::open(options).error().code == ErrorCode::invalid_argument);
  options.builtin_bundle = (folder / "absent").string();
  CHECK(open_stores(options, root).error().code == ErrorCode::not_found);
}
