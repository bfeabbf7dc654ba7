// SPDX-License-Identifier: Apache-2.0
#include "templates/decode_family.hpp"

#include "decode_fixture.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace cubinet {
namespace {

using namespace test::decode;

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
          for (const DecodeTileWish& wish : family->tiles(problem)) {
            const KernelSpec spec = decode_specification(*family, problem, wish.tile);
            CAPTURE(spec.to_string());
            const auto resolved = kernel_template->resolve(spec);
            REQUIRE(resolved);
            CHECK(*resolved == spec);  // nothing is left to a default
            const auto entries = kernel_template->entry_points(*resolved);
            REQUIRE(entries);
            const DecodeBlock block = family->block(problem, wish.tile);
            CHECK(entries->front().name == family->name);
            CHECK(entries->front().dynamic_shared_bytes == block.shared_bytes);
            CHECK(entries->front().threads == block.threads);
            CHECK(kSplitTokensMultiple % wish.tile.kv == 0);
            seen.insert(spec.name);
          }
        }
      }
    }
  }
  CHECK(seen.size() == decode_families(llama(1, 1), kHopper.capability).size());
}

TEST_CASE("The families are asked in one order, of which each that is preferred comes before all others") {
  const AttentionProblem problem = llama(4, 5000);
  const auto families = decode_families(problem, kHopper.capability);
  CHECK(std::find(families.begin(), families.end(), &kAttentionDecode) != families.end());
  CHECK(std::is_partitioned(families.begin(), families.end(), [&](const DecodeFamily* family) {
    return family->preferred(problem, kHopper.capability);
  }));
  for (const DecodeFamily* family : families)
    CHECK_FALSE(std::string(family->source).empty());
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
