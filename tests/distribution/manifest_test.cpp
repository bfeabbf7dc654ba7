// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/text.hpp"

#include <cubinet/distribution/manifest.hpp>

using namespace cubinet;
using test::ok;

namespace {

Manifest example_manifest() {
  return {"application/vnd.example",
          {{"application/vnd.example.root", describe_blob(as_bytes("root")), "a.root"},
           {"application/vnd.example.pack", describe_blob(as_bytes("pack")), ""}},
          {{"version", "7"}}};
}

}  // namespace

TEST_CASE("a manifest is the same bytes for the same content") {
  CHECK(to_json(example_manifest()) ==
        R"({"annotations":{"version":"7"},"artifactType":"application/vnd.example",)"
        R"("config":{"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",)"
        R"("mediaType":"application/vnd.oci.empty.v1+json","size":2},"layers":[)"
        R"({"annotations":{"org.opencontainers.image.title":"a.root"},)"
        R"("digest":"sha256:4813494d137e1631bba301d5acab6e7bb7aa74ce1185d456565ef51d737677b2",)"
        R"("mediaType":"application/vnd.example.root","size":4},)"
        R"({"digest":"sha256:4862f447f2c7f272fa2f4aaf89dadb3b1ac09105bd5864f8d1a0c9452bb0a226",)"
        R"("mediaType":"application/vnd.example.pack","size":4}],)"
        R"("mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2})");
}

TEST_CASE("what is written is read again") {
  const Manifest manifest = ok(parse_manifest(to_json(example_manifest()), "it"));
  CHECK(manifest.artifact_type == "application/vnd.example");
  REQUIRE(manifest.layers.size() == 2);
  CHECK(manifest.layers[0].media_type == "application/vnd.example.root");
  CHECK(manifest.layers[0].blob == describe_blob(as_bytes("root")));
  CHECK(manifest.layers[0].title == "a.root");
  CHECK(manifest.layers[1].title.empty());
  CHECK(manifest.annotations.at("version") == "7");
}

TEST_CASE("what is no manifest of an image is corruption") {
  const std::string good = to_json(example_manifest());
  ok(parse_manifest(good, "it"));
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string changed = good;
    REQUIRE(changed.find(part) != std::string::npos);
    return changed.replace(changed.find(part), part.size(), other);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() - 1), good + "x",
        with("image.manifest", "image.index"), with("\"layers\":[", "\"layers\":[1,"),
        with("\"layers\":", "\"layer\":"), with("sha256:4813", "sha512:4813"),
        with("sha256:4813", "sha256:481"), with("\"size\":4", "\"size\":-4"),
        with("\"size\":4", "\"size\":\"4\""), with("\"mediaType\":\"application/vnd.example.pack\",", ""),
        std::string(kMaximumManifest + 1, ' ')}) {
    CAPTURE(bad.substr(0, 400));
    const auto manifest = parse_manifest(bad, "what was read");
    REQUIRE_FALSE(manifest);
    CHECK(manifest.error().code == ErrorCode::corruption);
    CHECK(test::contains(manifest.error().message, "what was read"));
  }
}
