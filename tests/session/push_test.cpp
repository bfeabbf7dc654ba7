// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"

#include <cubinet/base/file_system.hpp>

#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

namespace {

// Changes the last byte of the file, which is in a frame.
void damage(const std::string& path) {
  Bytes content = ok(posix_file_system()->read(path, std::uint64_t{1} << 20));
  content.back() ^= std::byte{1};
  test::write_file(path, content);
}

}  // namespace

TEST_CASE("a push takes the signatures beside the bundle and the channel of the bundle") {
  const test::ServedChannel served;
  const SecretKey key = ok(SecretKey::generate());
  const PushResult result = served.push(7, &key);
  CHECK(result.channel == "stable");
  CHECK(result.signatures == 1);
  CHECK(result.reference.ends_with("@sha256:" + result.manifest));
  CHECK(ok(pull(served.session, served.to_file())).reference == result.reference);
  CHECK(std::filesystem::exists(served.to_file().output + "." + key.public_key().id() + ".minisig"));
}

TEST_CASE("a channel of the reference has priority, and a manifest is refused") {
  const test::ServedChannel served;
  const std::string file = served.bundle(7), place = "file://" + (served.folder / "served").string();
  CHECK(ok(push(served.session, {file, place + "#next"})).channel == "next");
  const std::string manifest = place + "@sha256:" + std::string(64, 'a');
  CHECK(push(served.session, {file, manifest}).error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(push(served.session, {file + ".absent", place}));
}

TEST_CASE("a folder that does not exist is created only for a URL") {
  const test::ServedChannel served;
  const std::string file = served.bundle(7), folder = (served.folder / "my srv").string();
  const auto refused = push(served.session, {file, folder});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK(refused.error().remedy.find("my%20srv") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder));
  ok(push(served.session, {file, "file://" + (served.folder / "my%20srv").string()}));
  CHECK(std::filesystem::exists(folder + "/refs/stable"));
  ok(push(served.session, {file, folder + "#next"}));
}

TEST_CASE("a channel that no server can have is refused before anything is written") {
  const test::ServedChannel served;
  const std::string file = (served.folder / "a.bundle").string();
  const std::string place = "file://" + (served.folder / "served").string();
  BundleOptions options;
  options.channel = "not a tag";
  ok(create_bundle(file, test::ServedChannel::cubins(), options));
  const auto refused = push(served.session, {file, place});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("'not a tag'") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(served.folder / "served"));
  CHECK(ok(push(served.session, {file, place + "#stable"})).channel == "stable");
}

TEST_CASE("an older version than the channel names is pushed with a warning") {
  test::ServedChannel served;
  std::string warnings;
  served.session.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) warnings += record.message;
  };
  CHECK_FALSE(served.push(3).older_than);
  CHECK_FALSE(served.push(3).older_than);
  CHECK(warnings.empty());
  CHECK(served.push(1).older_than == 3);
  CHECK(warnings.find("version 3, and is made to name the older version 1") != std::string::npos);
}

TEST_CASE("a damaged bundle is not pushed") {
  const test::ServedChannel served;
  const std::string file = served.bundle(7);
  damage(file);
  const auto refused = push(served.session, {file, served.reference()});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::corruption);
  CHECK(refused.error().message.find("is damaged and not pushed") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(served.folder / "served"));
}

TEST_CASE("the JSON of a push names the manifest") {
  const auto json = nlohmann::json::parse(to_json(PushResult{"r", "m", "c", 2}));
  CHECK(json == nlohmann::json{{"reference", "r"},
                               {"manifest", "m"},
                               {"channel", "c"},
                               {"signatures", 2},
                               {"older_than", nullptr}});
}

TEST_CASE("a server that a policy keeps from being contacted gets nothing") {
  const test::ServedChannel served;
  SessionOptions session = served.session;
  session.policy_file = (served.folder / "local.json").string();
  test::write_file(session.policy_file, as_bytes(R"({"default":{"local_only":true}})"));
  const auto refused = push(session, {served.bundle(7), "https://127.0.0.1:1/kernels"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::untrusted);
  CHECK(refused.error().message.find("local_only") != std::string::npos);
}
