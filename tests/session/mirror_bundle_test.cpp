// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"

#include <cubinet/session/mirror_bundle.hpp>

#include <nlohmann/json.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("a bundle is copied to another server under the channel of its source or of its destination") {
  const test::ServedChannel served;
  const PushResult pushed = served.push(7);
  const std::string destination = "file://" + (served.folder / "copy").string();
  const MirrorBundleResult result = ok(mirror_bundle(served.session, {served.reference(), {}, destination}));
  CHECK(result.manifest == pushed.manifest);
  CHECK(result.channel == "stable");
  CHECK(result.version == 7);
  CHECK(ok(mirror_bundle(served.session, {served.reference(), {}, destination + "#next"})).channel == "next");
  for (const char* channel : {"#stable", "#next"}) {
    PullOptions options = served.to_file();
    options.reference = destination + channel;
    CHECK(ok(pull(served.session, options)).version == 7);
  }
}

TEST_CASE("a cancelled copy names nothing at the destination") {
  const test::ServedChannel served;
  served.push(7);
  MirrorBundleOptions options{served.reference(), {}, "file://" + (served.folder / "copy").string()};
  bool cancelled = false;
  options.progress = [&](const TransferProgress&) { cancelled = true; };
  options.cancelled = [&] { return cancelled; };
  CHECK(mirror_bundle(served.session, options).error().code == ErrorCode::unavailable);
  CHECK_FALSE(std::filesystem::exists(served.folder / "copy/refs/stable"));
}

TEST_CASE("a source without a bundle and a manifest as destination are refused") {
  const test::ServedChannel served;
  const PushResult pushed = served.push(7);
  const std::string place = (served.folder / "served").string();
  CHECK_FALSE(ok(names_bundle(place)));
  CHECK(ok(names_bundle(served.reference())));
  CHECK(ok(names_bundle(pushed.reference)));
  CHECK(mirror_bundle(served.session, {place, {}, place}).error().code == ErrorCode::invalid_argument);
  CHECK(mirror_bundle(served.session, {served.reference(), {}, pushed.reference}).error().code ==
        ErrorCode::invalid_argument);
}

TEST_CASE("the JSON of a copied bundle has its size and its trust") {
  MirrorBundleResult result;
  result.bytes = 5;
  const auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["bytes"] == 5);
  CHECK(json["trust"].is_null());
}
