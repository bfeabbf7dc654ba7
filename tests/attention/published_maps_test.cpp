// SPDX-License-Identifier: Apache-2.0
// That the maps are the publisher's own is tests/cli/golden_launches_test.cpp's to show.
#include "published/published_maps.hpp"

#include "published_launches.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using Maps = std::array<PlacedTensorMap, kMaximumTensorMaps>;

Maps maps_of(const AttentionProblem& problem, const AttentionTensors& tensors) {
  Maps maps;
  CHECK(published_maps(test::published_launch(problem), tensors, maps) == 4);
  return maps;
}

AttentionProblem paged_decode() {
  AttentionProblem problem = test::generation(4, 1, 4096, 32, 8);
  problem.tokens_per_page = 32;
  return problem;
}

TEST_CASE("pages are described token by token or head by head, as the problem or the tensor says") {
  AttentionProblem problem = paged_decode();
  AttentionTensors tensors;
  tensors.k.bytes = 10 * 32 * 4 * 128 * 2;
  using Strides = std::array<std::uint64_t, 4>;
  CHECK(maps_of(problem, tensors)[1].description.strides_bytes == Strides{1024, 256, 32'768, 0});
  problem.kv_order = KvOrder::hnd;
  const TensorMapDescription by_head = maps_of(problem, tensors)[1].description;
  CHECK(by_head.strides_bytes == Strides{256, 8192, 32'768, 0});
  CHECK(by_head.sizes == std::array<std::uint64_t, 5>{128, 32, 4, 20, 1});  // K and V apart: twice the pages
  tensors.k.strides = {40'000, 128, 4096};
  CHECK(maps_of(problem, tensors)[1].description.strides_bytes == Strides{256, 8192, 80'000, 0});
}

TEST_CASE("every map of a launch that is decided is one that the driver takes") {
  for (const std::uint32_t group : {1U, 5U, 8U, 16U}) {
    AttentionTensors tensors;
    tensors.k.bytes = 1 << 24;
    AttentionProblem problem = test::generation(2, 3, 4096, 2 * group, group);
    problem.tokens_per_page = 32;
    for (const PlacedTensorMap& map : maps_of(problem, tensors)) {
      if (map.description.sizes[0] <= 1) continue;
      const auto checked = check_tensor_map(map.description);
      CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
    }
  }
}

TEST_CASE("sequences side by side end where the tensors do") {
  AttentionProblem problem = test::context(2, 100, 300, 8, 1);
  problem.layout = QkvLayout::separate_qkv;
  AttentionTensors tensors;
  tensors.k.bytes = 450 * 8 * 128 * 2;
  tensors.v.bytes = tensors.k.bytes;
  const Maps maps = maps_of(problem, tensors);
  CHECK(maps[1].description.sizes[1] == 450);
  CHECK(maps[2].description.sizes[1] == 450);
  CHECK(pool_pages(test::published_launch(problem), tensors) == 0);
}

TEST_CASE("from version 72 on sequences side by side have no batch stride") {
  AttentionProblem problem = test::context(2, 511, 511, 32, 8);
  problem.layout = QkvLayout::separate_qkv;
  PublishedLaunch launch = test::published_launch(problem);
  AttentionTensors tensors;
  tensors.q.bytes = tensors.k.bytes = tensors.v.bytes = tensors.o.bytes = 1 << 24;
  const auto stride = [&] {
    Maps maps;
    REQUIRE(published_maps(launch, tensors, maps) > 2);
    return maps[1].description.strides_bytes[2];
  };
  CHECK(stride() > 0);
  launch.layout = find_argument_layout("0.7.2");
  CHECK(stride() == 0);
}

}  // namespace
}  // namespace cubinet
