// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"
#include "support/text.hpp"

#include <cubinet/session/channel_pin.hpp>

#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

namespace {

// Versions 6 and 7 that the home has seen.
struct SeenChannel : test::ServedChannel {
  SeenChannel() {
    for (const std::uint64_t version : {6U, 7U}) {
      manifests.push_back(push(version).manifest);
      ok(pull(session, {reference()}));
    }
  }
  std::vector<std::string> manifests;
};

}  // namespace

TEST_CASE_FIXTURE(SeenChannel, "a pin stays with the newest, the one before, a version or a manifest") {
  CHECK(ok(pin_channel(session, {reference()})).pinned == manifests[1]);
  PinOptions options{reference()};
  options.before = true;
  CHECK(ok(pin_channel(session, options)).pinned == manifests[0]);
  CHECK(pulled_version() == 6);
  options = {reference()};
  options.version = 7;
  CHECK(ok(pin_channel(session, options)).pinned == manifests[1]);
  options = {reference(), "sha256:" + manifests[0]};
  CHECK(ok(pin_channel(session, options)).pinned == manifests[0]);
}

TEST_CASE_FIXTURE(SeenChannel, "an unpinned channel is followed, and one that is not pinned is not found") {
  ok(pin_channel(session, {reference(), manifests[0]}));
  CHECK_FALSE(ok(unpin_channel(session, reference())).pinned);
  CHECK(pulled_version() == 7);
  CHECK(unpin_channel(session, reference()).error().code == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(SeenChannel, "an unknown version is refused with the versions that there are") {
  PinOptions options{reference()};
  options.version = 9;
  const auto refused = pin_channel(session, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK(test::contains(refused.error().message, "7; 6"));
}

TEST_CASE("references without a channel, wrong digests and unknown channels are refused") {
  const test::ServedChannel served;
  const auto code_of = [&](const PinOptions& options) {
    return pin_channel(served.session, options).error().code;
  };
  CHECK(code_of({(served.folder / "served").string()}) == ErrorCode::invalid_argument);
  CHECK(code_of({served.reference(), "sha256:12"}) == ErrorCode::invalid_argument);
  CHECK(code_of({served.reference()}) == ErrorCode::not_found);
  CHECK(pin_channel({}, {served.reference()}).error().code == ErrorCode::unavailable);
}

TEST_CASE("the JSON of a pin is null for a channel that is followed") {
  CHECK(nlohmann::json::parse(to_json(PinResult{"r"}))["pinned"].is_null());
  CHECK(nlohmann::json::parse(to_json(PinResult{"r", "d"}))["pinned"] == "d");
}

TEST_CASE_FIXTURE(SeenChannel, "channels are listed without their server, with pin and versions") {
  ok(pin_channel(session, {reference(), manifests[0]}));
  std::filesystem::remove_all(folder / "served");
  const ChannelList list = ok(list_channels(session));
  REQUIRE(list.channels.size() == 1);
  CHECK(list.channels[0].reference == reference());
  CHECK(list.channels[0].pinned.manifest == manifests[0]);
  CHECK(list.channels[0].pinned.version == 6);
  CHECK(list.channels[0].named.version == 7);
  CHECK(list.channels[0].before.version == 6);
  CHECK(nlohmann::json::parse(to_json(list))["channels"][0]["manifest_version"] == 7);
  SessionOptions none;
  none.home = (folder / "none").string();
  CHECK(ok(list_channels(none)).channels.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
}
