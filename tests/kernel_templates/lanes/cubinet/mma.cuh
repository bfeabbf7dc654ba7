// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: fragments, ldmatrix and stmatrix, as the PTX manual
// defines them.
#include "warp.hpp"

#include <cubinet/memory.cuh>
#include <cubinet/types.cuh>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cubinet {

struct FragmentA {
  unsigned r[4];
};
struct FragmentD {
  float r[4];
};

// Loads four matrices of 8 x 8 elements of 16 bits, transposed. Lane 8m + i passes the address of
// row i of matrix m. Lane 4g + q gets elements g of the rows 2q and 2q + 1 of each.
inline void load_matrix_x4_transposed(unsigned (&r)[4], SharedAddress row) {
  const std::array<SharedAddress, kLanes> rows = Warp::exchange(row);
  const std::size_t lane = Warp::lane();
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    const std::size_t first = 8 * matrix + lane % 4 * 2;
    const auto element = [&](std::size_t of) {
      return load_shared<std::uint16_t>(rows[of] + static_cast<unsigned>(lane / 4 * 2));
    };
    r[matrix] = element(first) | static_cast<unsigned>(element(first + 1)) << 16;
  }
}

// Stores four matrices. Lane 4g + q has elements 2q and 2q + 1 of row g of each.
inline void store_matrix_x4(SharedAddress row, const unsigned (&r)[4]) {
  const std::array<SharedAddress, kLanes> rows = Warp::exchange(row);
  const std::size_t lane = Warp::lane();
  for (std::size_t matrix = 0; matrix < 4; ++matrix)
    store_shared(rows[8 * matrix + lane / 4] + static_cast<unsigned>(lane % 4 * 4), r[matrix]);
}

}  // namespace cubinet
