// SPDX-License-Identifier: Apache-2.0
// Tests the stand-in for published kernels, as far as possible without a GPU.
#include "attention/stand_in/stand_in_home.hpp"
#include "attention/stand_in/stand_in_rows.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/base/elf.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using test::StandInCase;

// Returns the sizes of a kernel's parameters, EIATTR_KPARAM_INFO of its attributes.
// EIATTR_CBANK_PARAM_SIZE is 1392 here: parameters of sm_90 begin 16 bytes after a multiple of 128,
// and tensor maps are aligned to 128.
std::vector<std::uint32_t> parameter_bytes(const Bytes& image, const std::string& function) {
  const ElfImage elf = ok(ElfImage::parse(image));
  const ElfSection* section = elf.find_section(".nv.info." + function);
  REQUIRE(section != nullptr);
  const ByteView content = section->content;
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(content[at]); };
  constexpr std::uint32_t kSized = 4;  // the value is the size of the data that follows
  constexpr std::uint32_t kParameter = 0x17;
  std::vector<std::uint32_t> sizes;
  for (std::size_t at = 0; at + 4 <= content.size();) {
    const std::uint32_t value = byte(at + 2) | byte(at + 3) << 8U;
    if (byte(at) == kSized && byte(at + 1) == kParameter) {
      REQUIRE(at + 16 <= content.size());
      sizes.push_back((byte(at + 14) | byte(at + 15) << 8U) >> 2U);
    }
    at += 4 + (byte(at) == kSized ? value : 0);
  }
  return sizes;
}

TEST_CASE("The stand in is compiled for Hopper and takes the 1280 bytes of a published kernel") {
  const auto nvrtc = ok(test::open_nvrtc(test::compiler_search()));
  for (const StandInCase& tested : {test::option_cases().back(), test::separate_context_cases().front(),
                                    test::separate_reduction_cases().front()}) {
    const KernelRow& row = tested.rows.front();
    const Bytes image = ok(test::compile_stand_in(*nvrtc, row));
    ok(check_cubin(image, *SmTarget::parse("sm_90a"), {row.function_name}));
    CHECK(parameter_bytes(image, row.function_name) == std::vector<std::uint32_t>{1280});
  }
}

TEST_CASE("The stand in is imported like a published folder, and what is planned with it can be launched") {
  const std::vector<StandInCase> cases = {test::decode_cases().front(), test::paged_context_cases().front(),
                                          test::latent_cases().front()};
  std::vector<KernelRow> rows;
  for (const StandInCase& tested : cases)
    rows.insert(rows.end(), tested.rows.begin(), tested.rows.end());
  const test::TempDir folder;
  const auto home = ok(test::StandInHome::create(folder.path(), rows, test::compiler_search()));
  CHECK(home.imported().sound());
  CHECK(home.imported().rows == rows.size());
  CHECK(home.imported().unchecked_names == 0);
  for (const StandInCase& tested : cases) {
    CAPTURE(tested.name);
    PlanOptions options;
    options.backend = kPublishedBackend;
    const AttentionPlan plan =
        ok(plan_attention(tested.problem, {{9, 0}, 132, 0}, ok(home.kernels(tested.rows)),
                          ok(AttentionBackends::builtin()), options));
    CHECK(plan.launchable());
    CHECK(plan.row.function_name == tested.rows.front().function_name);
    CHECK(plan.row.shared_bytes == tested.rows.front().shared_bytes);
    CHECK(plan.row.traits == tested.rows.front().traits);
    REQUIRE(plan.steps.front().arguments != nullptr);
    CHECK(plan.steps.front().arguments->size() == 1280);
  }
}

}  // namespace
}  // namespace cubinet
