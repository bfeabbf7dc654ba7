// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_alternatives.hpp"

#include "decode_fixture.hpp"

#include <set>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("alternatives are the tiles that fit, each left to the model and with splits around it") {
  const PlanRequest request = decode::request(decode::llama(8, 8192));
  const auto alternatives =
      decode_alternatives(request, kAttentionDecode, *decode::template_of(kAttentionDecode));
  std::set<std::string> kernels;
  std::size_t left_to_the_model = 0;
  for (const FamilyAlternative& alternative : alternatives) {
    REQUIRE(alternative.options.kernel);
    REQUIRE(tile_of(*alternative.options.kernel));
    const auto planned = plan_decode({request.problem, request.device, {}, alternative.options},
                                     kAttentionDecode, std::vector{*tile_of(*alternative.options.kernel)});
    REQUIRE(planned);
    CHECK(planned->cost.time == alternative.time);
    kernels.insert(alternative.options.kernel->to_string());
    left_to_the_model += alternative.options.splits ? 0U : 1U;
  }
  CHECK(left_to_the_model == kernels.size());
  CHECK(kernels.size() > 20);
  CHECK(alternatives.size() > 3 * kernels.size());
}

TEST_CASE("powers of two of splits are alternatives where the grid stays small") {
  const auto splits_of = [](const AttentionProblem& problem) {
    const PlanRequest request = decode::request(problem);
    std::set<std::uint32_t> splits;
    for (const FamilyAlternative& alternative :
         decode_alternatives(request, kAttentionDecode, *decode::template_of(kAttentionDecode))) {
      if (tile_of(*alternative.options.kernel)->kv == 64 && alternative.options.splits)
        splits.insert(*alternative.options.splits);
    }
    return splits;
  };
  const auto of_one = splits_of(decode::llama(1, 1024));
  for (const std::uint32_t splits : {2U, 4U, 8U, 16U})
    CHECK(of_one.count(splits) == 1);
  CHECK(of_one.count(64) == 0);  // fewer steps
  CHECK(splits_of(decode::llama(1024, 1024)).count(16) == 0);
}

TEST_CASE("a tile is read off a kernel, and off nothing else") {
  const AttentionProblem problem = decode::llama(8, 8192);
  const DecodeTile tile{32, 64, 3};
  CHECK(tile_of(decode_specification(kAttentionDecode, problem, tile)) == tile);
  CHECK_FALSE(tile_of(decode_specification(kAttentionDecode, problem)));
  KernelSpec wrong = decode_specification(kAttentionDecode, problem, tile);
  CHECK_FALSE(tile_of(wrong.set("stages", 0)));
  CHECK_FALSE(tile_of(wrong.set("stages", "many")));
}

}  // namespace
}  // namespace cubinet
