// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/kernel_resources.hpp>

#include <doctest/doctest.h>

#include <tuple>

namespace cubinet {
namespace {

constexpr const char* kSample = R"(.version 9.0
.target sm_90a
.visible .entry bounded(
  .param .u32 bounded_param_0,
  .param .f64 bounded_param_1, // the fourth is 8 bytes behind a byte
  .param .u8 bounded_param_2,
  .param .u64 .ptr .global .align 256 bounded_param_3,
  .param .align 16 .b8 bounded_param_4[24]
)
.maxntid 256, 2
.minnctapersm 3
{ ret; }
.visible .entry clustered(.param .u64 p)
.blocksareclusters
.reqntid 64, 1, 1
.reqnctapercluster 2, 1, 1
{ ret; }
.visible .entry plain()
{ ret; }
)";

TEST_CASE("arguments, launch bounds and clusters are read as PTX states them") {
  const auto kernels = ptx_resources(as_bytes(kSample));
  REQUIRE(kernels);
  REQUIRE(kernels->size() == 3);
  const KernelResources& bounded = (*kernels)[0];
  CHECK(bounded.name == "bounded");
  CHECK(bounded.arguments == std::vector<ArgumentPlace>{{0, 4}, {8, 8}, {16, 1}, {24, 8}, {32, 24}});
  CHECK(bounded.argument_bytes == 56);
  CHECK(bounded.max_threads == KernelResources::Extent{256, 2, 1});
  CHECK(bounded.minimum_blocks == 3);
  CHECK_FALSE(bounded.registers);
  CHECK_FALSE(bounded.static_shared_bytes);
  const KernelResources& clustered = (*kernels)[1];
  CHECK(clustered.required_threads == KernelResources::Extent{64, 1, 1});
  CHECK(clustered.cluster == KernelResources::Extent{2, 1, 1});
  CHECK((*kernels)[2].argument_bytes == 0);
}

TEST_CASE("variables of a module are told with their size, those of a function are not") {
  const auto globals = ptx_globals(as_bytes(R"(.version 9.0
.target sm_90
.const .align 4 .b8 scale[16];
.visible .global .align 4 .u32 counter = 7;
.global .attribute(.managed) .align 4 .b8 shared_by_all[12];
.global .align 8 .b8 table[4] = {1, 2, 3, 4};
.global .v4 .f32 vectors[2][3];
.extern .const .align 4 .b8 unknown[];
.visible .entry k() { .local .b8 depot[8]; ld.global.u32 %r1, [counter]; }
)"));
  const std::vector<std::tuple<std::string, std::string_view, std::optional<std::uint64_t>>> expected = {
      {"scale", "constant", 16}, {"counter", "global", 4},  {"shared_by_all", "managed", 12},
      {"table", "global", 4},    {"vectors", "global", 96}, {"unknown", "constant", std::nullopt}};
  REQUIRE(globals.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(globals[i].name);
    CHECK(std::tie(globals[i].name, globals[i].space, globals[i].bytes) == expected[i]);
  }
}

TEST_CASE("arguments that cannot be are damage") {
  for (const char* arguments :
       {"(.param .u64", "(.param .u64 a,", "(.reg .u64 a)", "(.param name)", "(.param .b8 a[0])",
        "(.param .b8 a[99999999999999999999])", "(.param .b8 a[32760], .param .u64 b, .param .u64 c)"}) {
    CAPTURE(arguments);
    const auto kernels = ptx_resources(as_bytes(".entry k" + std::string(arguments)));
    REQUIRE_FALSE(kernels);
    CHECK(kernels.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("every truncation and every flipped bit of PTX gives resources or an error" *
          doctest::test_suite("loop")) {
  const std::string text = kSample;
  for (std::size_t length = 0; length < text.size(); ++length)
    static_cast<void>(ptx_resources(as_bytes(text.substr(0, length))));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string mutant = text;
      mutant[i] = static_cast<char>(static_cast<unsigned char>(mutant[i]) ^ (1U << bit));
      static_cast<void>(ptx_resources(as_bytes(mutant)));
    }
  }
}

}  // namespace
}  // namespace cubinet
