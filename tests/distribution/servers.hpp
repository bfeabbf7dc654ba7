// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ok.hpp"

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/manifest.hpp>
#include <cubinet/transport/http_client.hpp>

#include <string>

namespace cubinet::test {

inline std::shared_ptr<HttpClient> quick_client(std::vector<std::string> plain_http) {
  HttpSettings settings;
  settings.plain_http = std::move(plain_http);
  settings.first_delay = std::chrono::milliseconds(1);
  settings.longest_delay = std::chrono::milliseconds(4);
  settings.attempts = 3;
  settings.deadline = std::chrono::seconds(20);
  return std::make_shared<HttpClient>(std::move(settings));
}

// Whether the server keeps what it is given, whatever it is: two blobs, their manifest and a
// channel that names it.
inline void check_round_trip(ContentServer& server) {
  const std::string root = "the root of " + server.name();
  const std::string pack(300'000, 'p');
  Manifest manifest{"application/vnd.cubinet.test", {}};
  for (const auto& [title, content] : {std::pair("root", root), std::pair("pack", pack),
                                       std::pair("", std::string(as_text(empty_configuration())))}) {
    const BlobDescriptor blob = describe_blob(as_bytes(content));
    CHECK_FALSE(ok(server.has_blob(blob)));
    MemorySource source(as_bytes(content));
    ok(server.write_blob(blob, source));
    ok(server.write_blob(blob, source));
    CHECK(ok(server.has_blob(blob)));
    CHECK_FALSE(ok(server.has_blob({blob.digest, blob.size + 1})));
    CHECK(as_text(ok(server.read_blob(blob))) == content);
    if (*title != '\0') manifest.layers.push_back({"application/octet-stream", blob, title});
  }
  const BlobDescriptor packed = manifest.layers[1].blob;
  CHECK(as_text(ok(server.read_blob_part(packed, {100, 5}))) == "ppppp");
  CHECK(as_text(ok(server.read_blob_part(packed, {packed.size - 1, 1}))) == "p");
  CHECK(ok(server.read_blob_part(packed, {0, 0})).empty());
  CHECK(server.read_blob_part(packed, {packed.size - 1, 2}).error().code == ErrorCode::invalid_argument);
  const BlobDescriptor absent = describe_blob(as_bytes("absent"));
  CHECK(server.read_blob(absent).error().code == ErrorCode::not_found);
  CHECK(server.read_blob({packed.digest, packed.size + 1}).error().code == ErrorCode::corruption);

  CHECK_FALSE(ok(server.read_channel("stable")));
  const std::string json = to_json(manifest);
  const Sha256Digest digest = ok(server.write_manifest(as_bytes(json)));
  CHECK(digest == sha256(as_bytes(json)));
  CHECK(as_text(ok(server.read_manifest(digest))) == json);
  CHECK(server.read_manifest(absent.digest).error().code == ErrorCode::not_found);
  ok(server.write_channel("stable", digest));
  CHECK(ok(server.read_channel("stable")) == digest);
  manifest.annotations["next"] = "1";
  const Sha256Digest next = ok(server.write_manifest(as_bytes(to_json(manifest))));
  ok(server.write_channel("stable", next));
  CHECK(ok(server.read_channel("stable")) == next);
  CHECK(as_text(ok(server.read_manifest(digest))) == json);
  CHECK(server.read_channel("../stable").error().code == ErrorCode::invalid_argument);
}

}  // namespace cubinet::test
