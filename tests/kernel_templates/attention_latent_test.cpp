// SPDX-License-Identifier: Apache-2.0
// Runs all warps of attention_latent together on the host, at different speeds. lanes/ has the lanes
// of a warp and replaces the headers of the device library that have instructions. CMakeLists.txt
// compiles this file for several kernels.
#include "exact_row.hpp"
#include "latent_blocks.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace cubinet;

namespace {

using Speeds = LatentBlocks::Speeds;

// Runs the kernel and checks all rows.
void check(const LatentSizes& sizes, const Speeds& speeds = {}) {
  static unsigned seed = 3;
  const LatentBatch batch(sizes);
  Products::late = ++seed % 2 == 0;
  CAPTURE(seed);
  LatentBlocks blocks(batch, seed);
  REQUIRE(blocks.run(speeds) == "");
  CHECK(batch.counters_are_zero());
  int wrong = 0;
  for (int sequence = 0; sequence < batch.sequences(); ++sequence) {
    for (int token = 0; token < batch.q_len(sequence); ++token) {
      for (int head = 0; head < sizes.heads; ++head) {
        const std::size_t row = batch.output_row(sequence, token, head);
        if (!ExactRow(batch, sequence, token, head)
                 .is_close(&batch.output[row * LatentBatch::kColumnsV], batch.lse[row]))
          ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a CTA of latent attention computes one sequence of whole slices") {
  for (const int length : {64, 128, 192, 640})
    check({{length}});
}
