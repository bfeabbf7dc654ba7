// SPDX-License-Identifier: Apache-2.0
// Runs the transposer of attention_prefill_wgmma on the host. lanes/ has the lanes of a warp and
// replaces the headers of the device library that have instructions.
#include "lanes/fields.hpp"

#include <cubinet/attention_prefill_wgmma/transposer.cuh>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

using namespace cubinet;
using namespace cubinet::attention_prefill_wgmma;

namespace {

constexpr int kColumns = head_dim_v;

// Writes V of a stage as TMA does: groups of 8 tokens, whose rows have 128 columns.
void write_v(const SharedLayout& layout, int stage, const std::function<int(int, int)>& element) {
  for (int token = 0; token < kStep; ++token) {
    for (int column = 0; column < kColumns; ++column) {
      const int offset = token / 8 * kGroupBytesV + token % 8 * 128 + column;
      store_shared(swizzled_address(layout.v(stage) + static_cast<unsigned>(offset)),
                   static_cast<std::uint8_t>(element(token, column)));
    }
  }
}

// Returns an element of the right operand of a product of 32 tokens, as wgmma reads rows of 128
// bytes: row `n` of the product's columns, element `k` of its tokens.
int operand(const SharedLayout& layout, int stage, int part, int n, int k) {
  const int offset = part / 4 * kTransposedBlockBytes + part % 4 * 32 + n / 8 * 8 * 128 + n % 8 * 128 + k;
  return load_shared<std::uint8_t>(
      swizzled_address(layout.transposed_v(stage) + static_cast<unsigned>(offset)));
}

// Returns the token of an element of the weights. A lane q of a row has tokens 2q and 2q + 1 of
// each 8, and passes four adjacent elements of each 16: pack() takes those of two groups of 8.
int token_of(int part, int k) {
  const int lane = k % 16 / 4;
  const int group = k % 4 / 2;
  return part * 32 + k / 16 * 16 + group * 8 + lane * 2 + k % 2;
}

// Returns the column that the epilogue stores for a column of the product: the even ones of 16 are
// in one tile of 8, the odd ones in the next.
int column_of(int n) {
  return n / 16 * 16 + n % 8 * 2 + n / 8 % 2;
}

// Checks that each weight meets its token's V in each column of the output.
void check(int stage, const InvisibleRows& invisible) {
  const SharedLayout layout{0};
  // A byte cannot name token and column at once.
  for (const bool names_tokens : {true, false}) {
    const auto element = [&](int token, int column) { return names_tokens ? token + 1 : column + 1; };
    shared_memory.fill(std::byte{0xff});
    write_v(layout, stage, element);
    for (int warp = 0; warp < kTransposers; ++warp) {
      Warp::run([&] {
        const TransposerOfV transposer(layout, warp);
        if (invisible.any()) {
          transposer.transpose<true>(stage, invisible);
        } else {
          transposer.transpose<false>(stage, invisible);
        }
      });
    }
    int wrong = 0;
    for (int part = 0; part < kStep / 32; ++part) {
      for (int n = 0; n < kColumns; ++n) {
        for (int k = 0; k < 32; ++k) {
          const int token = token_of(part, k);
          const bool seen = token >= invisible.begin && token < invisible.end;
          if (operand(layout, stage, part, n, k) != (seen ? element(token, column_of(n)) : 0)) ++wrong;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

// Returns the rows of the second step of a tile of one query token that no query token sees.
InvisibleRows invisible_rows(int kv_len, int window) {
  AttentionPrefillParameters p{};
  p.window = window;
  p.page_size = divisor(1024);  // all rows of the step are in one page
  Tile tile{};
  tile.q_len = 1;
  tile.kv_len = kv_len;
  return {p, tile, /*step=*/1};
}

}  // namespace

TEST_CASE("transposed V of e4m3 has the order of the weights and of the columns of the output") {
  const InvisibleRows none = invisible_rows(2 * kStep, 1 << 20);
  CHECK_FALSE(none.any());
  for (const int stage : {0, 1})
    check(stage, none);
}

TEST_CASE("rows of V after the last page are zero already") {
  AttentionPrefillParameters p{};
  p.window = 1 << 20;
  p.page_size = divisor(16);
  Tile tile{};
  tile.q_len = 1;
  for (const int visible : {1, 15, 16, 17, kStep - 16, kStep - 1, kStep}) {
    CAPTURE(visible);
    tile.kv_len = kStep + visible;
    const InvisibleRows invisible(p, tile, /*step=*/1);
    CHECK(invisible.end == visible);
    CHECK(invisible.end_of_page == divide_up(visible, 16) * 16);
    CHECK(invisible.any() == (visible % 16 != 0));
    CHECK_FALSE(InvisibleRows(p, tile, /*step=*/0).any());
  }
}

TEST_CASE("rows of V that no query token sees are zero when they are transposed") {
  for (const int visible : {1, 2, 7, 8, 15, 16, 31, 32, 33, 127, 128, 129, 159}) {
    CAPTURE(visible);
    check(0, invisible_rows(kStep + visible, 1 << 20));  // the last ones are invisible
    check(1, invisible_rows(2 * kStep, visible));        // the first ones
    check(1, invisible_rows(2 * kStep - 1, visible / 2 + 1));
  }
  check(0, invisible_rows(kStep, 1 << 20));
}
