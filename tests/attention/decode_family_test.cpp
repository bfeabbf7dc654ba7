// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_family.hpp"

#include "decode_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"

#include <cubinet/jit/compiler.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace cubinet {
namespace {

using namespace test::decode;
using test::ok;

TEST_CASE("the head dims and pages that decode has are those of its templates") {
  for (const std::uint32_t qk : {64U, 72U, 80U, 96U, 128U, 192U, 256U, 512U, 576U}) {
    for (const std::uint32_t v : {64U, 72U, 80U, 96U, 128U, 256U, 512U}) {
      for (const std::uint32_t page : {4U, 8U, 24U, 256U, 512U}) {
        AttentionProblem problem = llama(4, 5000);
        problem.head_dim_qk = qk;
        problem.head_dim_v = v;
        problem.tokens_per_page = page;
        if (problem.is_mla_generation()) {
          problem.heads_q = problem.group_size();
          problem.heads_kv = 1;
        }
        const auto families = decode_families(problem, kHopper.capability);
        const bool served = std::any_of(families.begin(), families.end(), [&](const DecodeFamily* family) {
          return family->gap(problem, kHopper.capability).empty() &&
                 template_of(*family)->resolve(decode_specification(*family, problem));
        });
        CHECK_MESSAGE(decode_has_sizes(problem) == served,
                      (std::to_string(qk) + " " + std::to_string(v) + " " + std::to_string(page)));
      }
    }
  }
}

TEST_CASE("Every family is a template whose declaration takes what its tiles are, to the shared memory") {
  using HeadDims = std::pair<std::uint32_t, std::uint32_t>;
  std::set<std::string> seen;
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    for (const auto& [qk, v] : {HeadDims{64, 64}, {128, 64}, {256, 256}, {512, 512}, {576, 512}}) {
      for (const std::uint32_t q_len : {1U, 2U, 4U, 8U}) {
        AttentionProblem problem = llama(4, 5000, q_len);
        problem.head_dim_qk = qk;
        problem.head_dim_v = v;
        if (problem.is_mla_generation()) {
          problem.heads_q = problem.group_size();
          problem.heads_kv = 1;
        }
        problem.data_type_k = problem.data_type_v = type;
        for (const DecodeFamily* family : decode_families(problem, kHopper.capability)) {
          if (!family->gap(problem, kHopper.capability).empty()) continue;
          const auto kernel_template = template_of(*family);
          if (!kernel_template->resolve(decode_specification(*family, problem))) continue;
          for (const DecodeCandidate& rule : family->tiles(problem)) {
            const KernelSpec spec = decode_specification(*family, problem, rule.tile);
            CAPTURE(spec.to_string());
            const auto resolved = kernel_template->resolve(spec);
            REQUIRE(resolved);
            CHECK(*resolved == spec);  // nothing is left to a default
            const auto entries = kernel_template->entry_points(*resolved);
            REQUIRE(entries);
            const DecodeBlock block = family->block(problem, rule.tile);
            CHECK(entries->front().name == family->name);
            CHECK(entries->front().dynamic_shared_bytes == block.shared_bytes);
            CHECK(entries->front().threads == block.threads);
            CHECK(kSplitTokensMultiple % rule.tile.kv == 0);
            seen.insert(spec.name);
          }
        }
      }
    }
  }
  CHECK(seen.size() == decode_families(llama(1, 1), kHopper.capability).size());
}

// Returns a source that compiles if the device code of a family's kernel begins to read at
// multiples of `slice` tokens.
std::string slice_check(const KernelTemplate& kernel_template, std::uint32_t slice) {
  const std::string& source = kernel_template.source();
  const std::string& name = kernel_template.name();
  return source.substr(0, source.find("*/") + 2) +
         "\n#include <cubinet/attention/rows.cuh>\n#include <cubinet/" + name +
         "/shape.cuh>\nstatic_assert(cubinet::" + name + "::Shape::kSlice == " + std::to_string(slice) +
         ");\nextern \"C\" __global__ void " + name +
         "(cubinet::kernel_templates::AttentionDecodeParameters) {}\n";
}

TEST_CASE("The kernel that combines begins to read where the kernel before it does") {
  const auto nvrtc = Compiler::open(test::compiler_search());
  REQUIRE(nvrtc);
  const auto combine = ok(ok(TemplateCatalog::builtin()).find(kCombineTemplate));
  std::set<std::string> seen;
  const auto check = [&](const DecodeFamily& family, const AttentionProblem& problem,
                         const DecodeTile& tile) {
    const KernelSpec spec = combine_specification(family, problem, tile);
    CAPTURE(spec.to_string());
    CHECK(ok(combine->resolve(spec)) == spec);  // nothing is left to a default
    const auto slice = std::get<std::int64_t>(spec.parameters.at("slice"));
    if (!problem.is_windowed()) CHECK(slice == 16);
    if (!problem.is_windowed()) return;
    CompileRequest request;
    const auto checked = template_of(family);
    request.kernel_template = ok(KernelTemplate::parse(
        slice_check(*checked, static_cast<std::uint32_t>(slice)), "f", {}, {},
        [&](const std::string&) -> Result<std::string> { return checked->base().text; }));
    request.spec = decode_specification(family, problem, tile);
    request.target = *SmTarget::parse("sm_90a");
    const auto output = (*nvrtc)->compile(request);
    CHECK_MESSAGE(output, (output ? "" : output.error().message + output.error().detail));
    seen.insert(family.name);
  };
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t head_dim : {64U, 256U, 512U}) {
      for (const std::uint32_t q_len : {1U, 4U, 8U}) {
        AttentionProblem problem = llama(4, 5000, q_len);
        problem.head_dim_qk = problem.head_dim_v = head_dim;
        problem.data_type_k = problem.data_type_v = type;
        for (const DecodeFamily* family : decode_families(problem, kHopper.capability)) {
          if (!family->gap(problem, kHopper.capability).empty()) continue;
          if (!template_of(*family)->resolve(decode_specification(*family, problem))) continue;
          AttentionProblem windowed = problem;
          windowed.window = 1000;
          AttentionProblem capped = windowed;
          capped.soft_cap = 30;
          const auto fits = [&](const DecodeCandidate& rule) {
            return family->block(problem, rule.tile).shared_bytes <= kHopper.shared_limit();
          };
          for (const AttentionProblem& each : {problem, windowed, capped}) {
            const auto tiles = family->tiles(each);
            const auto tile = std::find_if(tiles.begin(), tiles.end(), fits);
            REQUIRE(tile != tiles.end());
            check(*family, each, tile->tile);
          }
        }
      }
    }
  }
  CHECK(seen.size() >= 4);  // latent attention has no window
}

TEST_CASE("The one pool of latent attention counts once") {
  AttentionProblem problem = llama(4, 5000);
  CHECK(kv_row_bytes(problem) == 512);
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  CHECK(kv_row_bytes(problem) == 1152);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(kv_row_bytes(problem) == 576);
}

}  // namespace
}  // namespace cubinet
