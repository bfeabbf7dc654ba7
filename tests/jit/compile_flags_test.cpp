// SPDX-License-Identifier: Apache-2.0
#include "compile_flags.hpp"

#include "jit/test_templates.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;

namespace {

bool holds(const std::vector<std::string>& flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

}  // namespace

TEST_CASE("a cubin is built for a real target and PTX for a virtual one") {
  CompileRequest request = test::scale_request(test::kScaleBody, "sm_100f");
  CHECK(code_flags(request) == std::vector<std::string>{"--gpu-architecture=sm_100f", "--std=c++17"});
  request.kind = ImageKind::ptx;
  CHECK(code_flags(request).front() == "--gpu-architecture=compute_100f");
  request.spec.options = {{"generate-line-info", ""}, {"std", "c++20"}, {"D:N", "4"}};
  CHECK(code_flags(request) == std::vector<std::string>{"--gpu-architecture=compute_100f", "-DN=4",
                                                        "--generate-line-info", "--std=c++20"});
}

TEST_CASE("flags that an older NVRTC does not know are left out, and none of them changes the code") {
  const CompileRequest request = test::scale_request();
  const Sha256Digest texts = sha256(as_bytes("texts"));
  const std::string seed = "--frandom-seed=" + texts.to_hex();
  for (const NvrtcVersion version : {NvrtcVersion{12, 9}, NvrtcVersion{13, 0}}) {
    CHECK(holds(compile_flags(request, version, texts), "--no-cache"));
    CHECK(holds(compile_flags(request, version, texts), seed));
  }
  CHECK_FALSE(holds(compile_flags(request, {12, 8}, texts), "--no-cache"));
  CHECK_FALSE(holds(compile_flags(request, {12, 8}, texts), seed));
  CHECK_FALSE(holds(code_flags(request), "--no-cache"));
  CHECK_FALSE(holds(code_flags(request), seed));
}

TEST_CASE("a seed that was asked for is the only one") {
  CompileRequest request = test::scale_request();
  request.spec.options = {{"frandom-seed", "7"}};
  const std::vector<std::string> flags = compile_flags(request, {13, 0}, sha256(as_bytes("texts")));
  CHECK(holds(flags, "--frandom-seed=7"));
  CHECK(std::count_if(flags.begin(), flags.end(),
                      [](const std::string& flag) { return flag.find("seed") != std::string::npos; }) == 1);
}

TEST_CASE("paths are flags for the compiler and no part of what is hashed or recorded") {
  CompileRequest request = test::scale_request();
  CHECK(holds(compile_flags(request, {13, 0}, {}), "--no-source-include"));
  request.options.include_directories = {"/somewhere/include", "/elsewhere"};
  CHECK(holds(compile_flags(request, {13, 0}, {}), "--no-source-include"));
  CHECK(code_flags(request).size() == 2);
}

TEST_CASE("the linker is told the target, and what of the options is its to do") {
  const SmTarget target = *SmTarget::parse("sm_90a");
  CompilerOptions options = {{"relocatable-device-code", "true"}, {"use_fast_math", ""}, {"D:N", "4"}};
  CHECK(needs_link(options));
  CHECK(link_flags(target, ImageKind::cubin, options) == std::vector<std::string>{"-arch=sm_90a"});
  options = {{"dlink-time-opt", ""}, {"generate-line-info", ""}, {"maxrregcount", "32"},
             {"prec-div", "true"},   {"use_fast_math", ""},      {"ptxas-options", "-O1,-v"}};
  CHECK(needs_link(options));
  CHECK(optimises_at_link(options));
  CHECK(link_flags(target, ImageKind::cubin, options) ==
        std::vector<std::string>{"-arch=sm_90a", "-lineinfo", "-maxrregcount=32", "-Xptxas=-O1", "-Xptxas=-v",
                                 "-lto", "-ftz=1", "-prec-div=1", "-prec-sqrt=0", "-fma=1"});
  CHECK(link_flags(target, ImageKind::ptx, {{"dlink-time-opt", ""}}) ==
        std::vector<std::string>{"-arch=compute_90a", "-ptx", "-lto"});
  CHECK_FALSE(needs_link({{"generate-line-info", ""}}));
}

TEST_CASE("suffixed targets follow from the release") {
  const std::vector<int> listed = {75, 90, 100};
  const auto names = [](const std::vector<SmTarget>& targets) {
    std::string text;
    for (const SmTarget target : targets)
      text += target.to_string() + " ";
    return text;
  };
  CHECK(names(targets_of(listed, {13, 0})) == "sm_75 sm_90 sm_90a sm_100 sm_100a sm_100f ");
  CHECK(names(targets_of(listed, {12, 8})) == "sm_75 sm_90 sm_90a sm_100 sm_100a ");
  CHECK(targets_of({}, {13, 0}).empty());
  CHECK(targets_of({50, 101}, {12, 9}).empty());
}
