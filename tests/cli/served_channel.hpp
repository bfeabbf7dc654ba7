// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "tool.hpp"

#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/signature.hpp>

namespace cubinet::test {

// Versions of the channel "stable" on a server that is a folder.
struct ServedChannel {
  explicit ServedChannel(std::uint64_t version = 7) {
    if (version != 0) push(version);
  }
  // Returns the manifest's digest.
  std::string push(std::uint64_t version, const SecretKey* key = nullptr,
                   const std::vector<Cubin>& cubins = three_cubins()) const {
    const std::string file = sandbox.path("v" + std::to_string(version) + ".bundle");
    BundleOptions options;
    options.channel = "stable";
    options.version = version;
    ok(create_bundle(file, cubins, options));
    if (key != nullptr)
      sandbox.write("v" + std::to_string(version) + ".bundle." + key->public_key().id() + ".minisig",
                    ok(sign(*key, ok(Bundle::open(file))->root_bytes(), "")).to_file());
    const auto result = sandbox.run({"push", file, "file://" + sandbox.path("served"), "--json"});
    REQUIRE_MESSAGE(result.status == 0, result.err);
    return result.json()["manifest"];
  }
  std::string reference() const { return "file://" + sandbox.path("served") + "#stable"; }
  std::string at(const std::string& manifest) const {
    return "file://" + sandbox.path("served") + "@sha256:" + manifest;
  }
  std::uint64_t pulled_version() const {
    const auto result = sandbox.run({"pull", reference(), "-o", sandbox.path("b.bundle"), "--json"});
    REQUIRE_MESSAGE(result.status == 0, result.err);
    return result.json()["version"];
  }

  Sandbox sandbox;
};

}  // namespace cubinet::test
