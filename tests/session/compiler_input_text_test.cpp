// SPDX-License-Identifier: Apache-2.0
#include "compiler_input_text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

CompilerInput sample() {
  CompilerInput input;
  input.flags = {"--gpu-architecture=sm_90a", "--std=c++17"};
  input.names = {"axpy<float, 4>"};
  input.source = {"axpy.cu", 100, ""};
  input.headers = {{"helper.h", 20, "/src/helper.h"}};
  input.sources = sha256(as_bytes("texts"));
  input.variables_kept = "the image is PTX";
  return input;
}

}  // namespace

TEST_CASE("what a compiler is given is described as a document") {
  const auto document = describe(sample(), "NVRTC 13.0", "sm_90a");
  CHECK(document["compiler"] == "NVRTC 13.0");
  CHECK(document["target"] == "sm_90a");
  CHECK(document["flags"].size() == 2);
  CHECK(document["names"][0] == "axpy<float, 4>");
  CHECK(document["source"]["bytes"] == 100);
  CHECK(document["source"]["place"].is_null());
  CHECK(document["headers"][0]["place"] == "/src/helper.h");
  CHECK(document["variables_kept"] == "the image is PTX");
  CHECK(document["sources_sha256"] == sha256(as_bytes("texts")).to_hex());
}

TEST_CASE("what a compiler is given is described in lines") {
  const auto lines = to_lines(sample(), "NVRTC 13.0", "sm_90a");
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "for sm_90a, NVRTC 13.0 is given");
  CHECK(lines[1] == "  flags: --gpu-architecture=sm_90a --std=c++17");
  CHECK(lines[2] == "  names: axpy<float, 4>");
  CHECK(lines[3] == "  unused variables: kept, because the image is PTX");
  CHECK(lines[6] == "    helper.h, 20 bytes, from /src/helper.h");
  CompilerInput unnamed = sample();
  unnamed.names.clear();
  unnamed.variables_kept.clear();
  const auto fewer = to_lines(unnamed, "NVRTC 13.0", "sm_90a");
  REQUIRE(fewer.size() == 6);
  CHECK(fewer[2] == "  unused variables: removed if the machine code stays the same");
  CHECK(describe(unnamed, "NVRTC 13.0", "sm_90a")["variables_kept"].is_null());
}
