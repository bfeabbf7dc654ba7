// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"
#include "support/text.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/session/channel_pin.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace cubinet;
using test::ok;

TEST_CASE("a whole bundle is pulled into a file, and its progress ends at its size") {
  const test::ServedChannel served;
  const PushResult pushed = served.push(7);
  std::vector<TransferProgress> steps;
  PullOptions options = served.to_file();
  options.progress = [&](const TransferProgress& step) { steps.push_back(step); };
  const PullResult result = ok(pull(served.session, options));
  CHECK(result.reference == pushed.reference);
  CHECK(result.channel == "stable");
  CHECK(result.version == 7);
  CHECK(result.kernels == 2);
  CHECK(result.bytes == std::filesystem::file_size(options.output));
  REQUIRE_FALSE(steps.empty());
  CHECK(steps.front().bytes == 0);
  CHECK(steps.back().bytes == steps.back().total);
  CHECK(ok(ok(Bundle::open(options.output))->verify()).findings.empty());
}

TEST_CASE("kernels that the home has are not pulled again") {
  const test::ServedChannel served;
  served.push(7);
  PullOptions options{served.reference()};
  options.filter.targets = {{{8, 0, TargetKind::baseline}}};
  CHECK(ok(pull(served.session, options)).kernels == 1);
  options.filter = {};
  const PullResult rest = ok(pull(served.session, options));
  CHECK(rest.kernels == 1);
  CHECK(rest.present == 1);
  const auto home = ok(Home::open({.path = served.session.home}));
  CHECK(ok(home->list()).size() == 2);
  CHECK(ok(home->downloads().channel(served.reference())).manifest);
}

TEST_CASE("a whole bundle that is damaged on its server is not written") {
  const test::ServedChannel served;
  const PushResult pushed = served.push(7);
  const auto files = posix_file_system();
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(served.folder / "served" / "blobs")) {
    if (!entry.is_regular_file() || entry.file_size() < 10'000) continue;
    // The pack is stored under the digest of its damaged bytes, and the manifest names that digest.
    Bytes content = ok(files->read(entry.path(), std::uint64_t{1} << 20));
    const std::string before = sha256(content).to_hex();
    content.back() ^= std::byte{1};
    const std::string after = sha256(content).to_hex();
    test::write_file(entry.path().parent_path() / after, content);
    const std::filesystem::path manifest = entry.path().parent_path() / pushed.manifest;
    std::string text(as_text(ok(files->read(manifest, std::uint64_t{1} << 20))));
    text.replace(text.find(before), before.size(), after);
    const std::string digest = sha256(as_bytes(text)).to_hex();
    test::write_file(entry.path().parent_path() / digest, as_bytes(text));
    PullOptions options = served.to_file();
    options.reference = "file://" + (served.folder / "served").string() + "@sha256:" + digest;
    const auto refused = pull(served.session, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::corruption);
    CHECK_FALSE(std::filesystem::exists(options.output));
    return;
  }
  FAIL("the server has no pack");
}

TEST_CASE("a pull for which the bundle has no kernel is empty and changes nothing") {
  const test::ServedChannel served;
  served.push(7);
  PullOptions options = served.to_file();
  options.filter.templates = {"absent"};
  CHECK(ok(pull(served.session, options)).empty());
  CHECK_FALSE(std::filesystem::exists(options.output));
}

TEST_CASE("a dry run writes nothing and remembers nothing") {
  const test::ServedChannel served;
  served.push(7);
  PullOptions options{served.reference()};
  options.dry_run = true;
  CHECK(ok(pull(served.session, options)).kernels == 2);
  CHECK_FALSE(std::filesystem::exists(served.session.home));
}

TEST_CASE("a pinned channel is pulled as it was, and the result says so") {
  const test::ServedChannel served;
  served.push(6);
  CHECK(served.pulled_version() == 6);
  ok(Home::open({.path = served.session.home}));
  CHECK(ok(pull(served.session, {served.reference()})).version == 6);
  ok(pin_channel(served.session, {served.reference()}));
  served.push(7);
  const PullResult pinned = ok(pull(served.session, served.to_file()));
  CHECK(pinned.pinned);
  CHECK(pinned.version == 6);
}

TEST_CASE("a channel that has gone back is pulled with a warning") {
  test::ServedChannel served;
  std::string warnings;
  ok(Home::open({.path = served.session.home}));
  served.push(3);
  ok(pull(served.session, {served.reference()}));
  served.push(1);
  served.session.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) warnings += record.message;
  };
  const PullResult back = ok(pull(served.session, {served.reference()}));
  CHECK(back.version == 1);
  CHECK(back.older_than == 3);
  CHECK(nlohmann::json::parse(to_json(back))["older_than"] == 3);
  CHECK(test::contains(warnings, "has gone back: it names version 1 now, and named version 3 before"));
  warnings.clear();
  CHECK_FALSE(ok(pull(served.session, {served.reference()})).older_than);
  served.push(4);
  CHECK_FALSE(ok(pull(served.session, {served.reference()})).older_than);
  CHECK(warnings.empty());
}

TEST_CASE("a cancelled pull is unavailable, writes no bundle and continues the next time") {
  const test::ServedChannel served;
  served.push(7);
  PullOptions options = served.to_file();
  bool cancelled = false;
  options.progress = [&](const TransferProgress&) { cancelled = true; };
  options.cancelled = [&] { return cancelled; };
  const auto stopped = pull(served.session, options);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::unavailable);
  CHECK(test::contains(stopped.error().message, "cancelled"));
  CHECK_FALSE(std::filesystem::exists(options.output));
  options.progress = {};
  cancelled = false;
  CHECK(ok(pull(served.session, options)).kernels == 2);
}

TEST_CASE("references without a bundle, mirrors with one, and a home that is not named are refused") {
  const test::ServedChannel served;
  served.push(7);
  const auto code_of = [&](const PullOptions& options) {
    const auto pulled = pull(served.session, options);
    REQUIRE_FALSE(pulled);
    return pulled.error().code;
  };
  CHECK(code_of({(served.folder / "served").string()}) == ErrorCode::invalid_argument);
  CHECK(code_of({served.reference(), {served.reference()}}) == ErrorCode::invalid_argument);
  CHECK(code_of({"file://" + (served.folder / "served").string() + "#absent"}) == ErrorCode::not_found);
  CHECK(pull({}, {served.reference()}).error().code == ErrorCode::unavailable);
}

TEST_CASE("the policy judges a bundle before its kernels are fetched") {
  test::ServedChannel served;
  const SecretKey key = ok(SecretKey::generate());
  test::write_file(served.folder / "policy.json",
                   R"({"default":{"trusted_keys":[")" + key.public_key().to_string() + R"("]}})");
  served.session.policy_file = (served.folder / "policy.json").string();
  served.push(7);
  CHECK(pull(served.session, served.to_file()).error().code == ErrorCode::untrusted);
  served.push(8, &key);
  const PullResult result = ok(pull(served.session, served.to_file()));
  REQUIRE(result.trust.signers.size() == 1);
  CHECK(result.trust.signers.front().key == key.public_key());
}

TEST_CASE("the JSON of a pull has every field of its result") {
  PullResult result;
  result.reference = "oci://host/a@sha256:b";
  result.kernels = 2;
  result.refused.push_back({StoreFinding::Kind::damaged_cubin, "", "it is so"});
  result.unserved.push_back({"--batch 8", "no kernel"});
  const auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["kernels"] == 2);
  CHECK(json["refused"][0]["reason"] == "it is so");
  CHECK(json["unserved"][0] == nlohmann::json{{"problem", "--batch 8"}, {"reason", "no kernel"}});
  CHECK(json["trust"].is_null());
  for (const char* name : {"reference", "channel", "version", "present", "pinned", "bytes", "bundle"})
    CHECK(json.contains(name));
}
