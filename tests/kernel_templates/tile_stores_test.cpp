// SPDX-License-Identifier: Apache-2.0
// Runs the stores of product tiles on the host, with the lanes of a warp.
#include <cubinet/attention/tile_stores.cuh>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

using namespace cubinet;

namespace {

constexpr std::size_t kRowsOfTiles = 8;  // of a warp
constexpr std::size_t kColumnsOfTiles = 32;
constexpr std::size_t kAbsentRow = 5;

// Returns the element of a row and column. Every type has it without rounding.
float tile_element(std::size_t row, std::size_t column) {
  return static_cast<float>(1U << row % 4) * (static_cast<float>(column % 8) + 8) *
         (column / 8 % 2 == 0 ? 1.0F : -1.0F) * (column / 16 == 0 ? 1.0F : 0.25F);
}

template <class Element>
std::uint32_t element_bits(float number) {
  if constexpr (is_same<Element, fp32>) return std::bit_cast<std::uint32_t>(number);
  if constexpr (is_same<Element, e4m3>) {
    const std::array values{number, 0.0F, 0.0F, 0.0F};
    return pack4_e4m3(values.data()) & 0xffU;
  }
  if constexpr (is_same<Element, bf16>) return pack2<bf16>(number, 0.0F) & 0xffffU;
}

// Returns how many elements of the stored rows are wrong.
template <class Element>
std::size_t wrong_elements() {
  constexpr std::size_t kRowBytes = kColumnsOfTiles * sizeof(Element);
  alignas(16) static std::array<std::uint8_t, kRowsOfTiles * kRowBytes> memory;
  memory.fill(0xa5);
  Warp::run([&] {
    const std::size_t row = Warp::lane() / 4;
    const std::size_t lane = Warp::lane() % 4;
    float values[4][2];
    for (std::size_t tile = 0; tile < 4; ++tile) {
      for (std::size_t k = 0; k < 2; ++k)
        values[tile][k] = tile_element(row, 8 * tile + 2 * lane + k);
    }
    attention::store_four_tiles<Element>(static_cast<int>(lane),
                                         std::bit_cast<GlobalAddress>(&memory[row * kRowBytes]), values,
                                         row != kAbsentRow);
  });
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < kRowsOfTiles; ++row) {
    for (std::size_t column = 0; column < kColumnsOfTiles; ++column) {
      std::uint32_t stored = 0;
      std::memcpy(&stored, &memory[row * kRowBytes + column * sizeof(Element)], sizeof(Element));
      const std::uint32_t untouched = 0xa5a5a5a5U >> (32 - 8 * sizeof(Element));
      const std::uint32_t expected =
          row == kAbsentRow ? untouched : element_bits<Element>(tile_element(row, column));
      wrong += stored == expected ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("Four lanes store a row of four tiles whole, and nothing of an absent row") {
  CHECK(wrong_elements<fp32>() == 0);
  CHECK(wrong_elements<bf16>() == 0);
  CHECK(wrong_elements<e4m3>() == 0);
}
