// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

constexpr const char* kGolden = R"({
 "files": [
  {
   "path": "csrc/twice.h",
   "sha256": "DIGEST"
  }
 ],
 "kernels": [
  {
   "block": [
    32,
    1,
    1
   ],
   "cluster": [
    1,
    1,
    1
   ],
   "cooperative": false,
   "dynamic_shared_bytes": 0,
   "flags": [
    "-std=c++17"
   ],
   "headers": [],
   "name": "twice_kernel",
   "programmatic_launch": false,
   "raw_strings": "CODE",
   "source": "csrc/twice.h",
   "symbol": "twice",
   "target": "sm_80"
  }
 ],
 "library": "library 1.0",
 "licenses": [],
 "name": "own",
 "schema": "cubinet.sources.v1"
}
)";

std::string golden() {
  std::string text = kGolden;
  text.replace(text.find("DIGEST"), 6, std::string(64, 'a'));
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Error text_refusal(const std::string& text) {
  const auto parsed = parse_source_manifest(text, "m.json");
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error();
}

TEST_CASE("A manifest of our own schema has these bytes") {
  const SourceManifest manifest = ok(parse_source_manifest(golden(), "m.json"));
  CHECK(to_json(manifest) == golden());
  REQUIRE(manifest.kernels.size() == 1);
  CHECK(manifest.kernels.front().raw_strings == "CODE");
  CHECK(manifest.kernels.front().block == std::array<std::uint32_t, 3>{32, 1, 1});
  CHECK(manifest.find("csrc/twice.h") != nullptr);
  CHECK(manifest.find("csrc/other.h") == nullptr);
}

TEST_CASE("A manifest with licences is read as it was written") {
  std::map<std::string, Bytes> contents;
  const SourceManifest manifest = test::own_catalog(contents);
  const SourceManifest again = ok(parse_source_manifest(to_json(manifest), "m.json"));
  CHECK(to_json(again) == to_json(manifest));
  CHECK(again.licences.front().digest == manifest.licences.front().digest);
}

TEST_CASE("Another schema is not one of ours, and another version of ours is refused") {
  CHECK(text_refusal("{}").code == ErrorCode::unsupported);
  CHECK(text_refusal(R"({"schema": "flashinfer.experimental.source_closure.v2"})").code ==
        ErrorCode::unsupported);
  const Error version = text_refusal(replaced(golden(), "sources.v1", "sources.v2"));
  CHECK(version.code == ErrorCode::invalid_argument);
  CHECK(version.message == "m.json: its schema 'cubinet.sources.v2' is not known");
  CHECK(text_refusal(R"({"schema": "cake.library_export.v4"})").code == ErrorCode::invalid_argument);
}

TEST_CASE("A text that is no manifest is refused with its line") {
  CHECK(text_refusal("{\n\n:").message.find("m.json:3: ") == 0);
  CHECK(text_refusal(replaced(golden(), "\"cluster\"", "\"clusters\"")).message.find("'cluster'") !=
        std::string::npos);
  CHECK(text_refusal(replaced(golden(), "\"library\"", "\"libary\"")).message.find("libary") !=
        std::string::npos);
  CHECK(text_refusal(replaced(golden(), "\"sm_80\"", "\"sm_8\"")).message.find("sm_8") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
