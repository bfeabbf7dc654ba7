// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: products of one warp of a warpgroup, which has 16 of the
// 64 rows. The products of an element are added one after the other.
#include <cubinet/mma.cuh>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace cubinet {

// The address and the strides of an operand whose rows of 128 bytes are swizzled.
struct MatrixDescriptor {
  SharedAddress first = 0;
  unsigned block_bytes = 0;
  unsigned group_bytes = 0;
};

inline MatrixDescriptor rows_of_k(SharedAddress first, unsigned group_bytes = 1024) {
  return {first, 0, group_bytes};
}
inline MatrixDescriptor columns_of_k(SharedAddress first, unsigned block_bytes, unsigned group_bytes = 1024) {
  return {first, block_bytes, group_bytes};
}
inline MatrixDescriptor descriptor_behind(MatrixDescriptor descriptor, int bytes) {
  descriptor.first += static_cast<unsigned>(bytes);
  return descriptor;
}

enum class LayoutB { rows_of_k, columns_of_k };

// A lane's part of a product of 32 bytes of columns of A and `tiles` tiles of 8 columns of D.
struct Product {
  FragmentD* d;
  unsigned tiles;
  const FragmentA* a;  // null: A is in shared memory
  MatrixDescriptor shared_a;
  MatrixDescriptor b;
  LayoutB layout;
  bool accumulate;
  unsigned element_bytes;
  float (*number_of)(unsigned bits);  // the number that an element is

  unsigned depth() const { return 32 / element_bytes; }
};

// The products that the lanes of the running warp have started. The tensor cores may compute a
// product at any time between its start and the end of the wait for it.
class Products {
 public:
  static inline bool late = true;  // whether products are computed in the wait, or at once

  static void start(const Product& product) {
    own().started.push_back({product, own().commits});
    if (!late) compute_before(own().commits + 1);
  }
  static void commit() { ++own().commits; }
  static void wait(int pending) { compute_before(own().commits - pending); }
  static bool all_complete() {
    for (const Lane& lane : lanes)
      if (!lane.started.empty()) return false;
    return true;
  }
  static void clear() { lanes = {}; }

 private:
  static constexpr unsigned kMostDepth = 32;

  struct Started {
    Product product;
    int group;
  };
  struct Lane {
    std::deque<Started> started;
    int commits;  // static, so 0 at first
  };

  static Lane& own() { return lanes[Warp::thread()]; }

  // Computes the products of the groups before `group`. The first lane computes the parts of all.
  static void compute_before(int group) {
    const std::array<Lane*, kLanes> warp = Warp::exchange(&own());
    if (Warp::lane() == 0) {
      while (!warp[0]->started.empty() && warp[0]->started.front().group < group) {
        std::array<const Product*, kLanes> of_lanes;
        for (std::size_t i = 0; i < kLanes; ++i)
          of_lanes[i] = &warp[i]->started.front().product;
        compute(of_lanes);
        for (Lane* const lane : warp)
          lane->started.pop_front();
      }
    }
    Warp::exchange(0);
  }

  static float element_at(const Product& product, SharedAddress address) {
    const SharedAddress place = swizzled_address(address);
    return product.number_of(product.element_bytes == 1 ? load_shared<std::uint8_t>(place)
                                                        : load_shared<std::uint16_t>(place));
  }
  // Returns the address of element `k` of row `row` of A or of column `row` of B, whose rows hold
  // elements of K.
  static SharedAddress address_of(const Product& product, const MatrixDescriptor& rows, unsigned row,
                                  unsigned k) {
    return rows.first + row / 8 * rows.group_bytes + row % 8 * 128 + k * product.element_bytes;
  }
  static float element_of_b(const Product& product, unsigned column, unsigned k) {
    const MatrixDescriptor& b = product.b;
    if (product.layout == LayoutB::rows_of_k) return element_at(product, address_of(product, b, column, k));
    return element_at(product, b.first + k / 8 * b.group_bytes + k % 8 * 128 + column / 64 * b.block_bytes +
                                   column % 64 * 2);
  }
  static float element_of_a(const std::array<const Product*, kLanes>& of_lanes, unsigned row, unsigned k) {
    const Product& first = *of_lanes[0];
    if (first.a == nullptr)
      return element_at(first, address_of(first, first.shared_a, threadIdx.x / 32 % 4 * 16 + row, k));
    const unsigned word = of_lanes[row % 8 * 4 + k % 8 / 2]->a->r[row / 8 + k / 8 * 2];
    return first.number_of(k % 2 == 0 ? word & 0xffffu : word >> 16);
  }

  static void compute(const std::array<const Product*, kLanes>& of_lanes) {
    const Product& product = *of_lanes[0];
    float a[kMostDepth][16];
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned k = 0; k < product.depth(); ++k)
        a[k][row] = element_of_a(of_lanes, row, k);
    for (unsigned column = 0; column < product.tiles * 8; ++column) {
      const auto d = [&](unsigned row) -> float& {
        return of_lanes[row % 8 * 4 + column % 8 / 2]->d[column / 8].r[row / 8 * 2 + column % 2];
      };
      float sums[16] = {};
      for (unsigned row = 0; product.accumulate && row < 16; ++row)
        sums[row] = d(row);
      for (unsigned k = 0; k < product.depth(); ++k) {
        const float b = element_of_b(product, column, k);
        for (unsigned row = 0; row < 16; ++row)
          sums[row] += a[k][row] * b;
      }
      for (unsigned row = 0; row < 16; ++row)
        d(row) = sums[row];
    }
  }

  static inline std::array<Lane, Warp::kMostThreads> lanes;
};

template <typename... Fragments>
void keep_in_order(Fragments&...) {}
template <typename... Fragments>
void wgmma_begin(Fragments&...) {}
inline void wgmma_resume() {}
inline void wgmma_commit() {
  Products::commit();
}
template <int kPending, typename... Fragments>
void wgmma_wait(Fragments&...) {
  Products::wait(kPending);
}

template <typename T, int N>
struct Wgmma {
  static_assert(is_same<T, bf16> || is_same<T, fp16> || is_same<T, e4m3>);
  static constexpr auto kNumberOf = is_same<T, e4m3>   ? float_of_e4m3
                                    : is_same<T, bf16> ? float_of_bf16
                                                       : float_of_fp16;

  template <LayoutB kLayout = LayoutB::rows_of_k>
  static void multiply(FragmentD (&d)[N / 8], const FragmentA& a, MatrixDescriptor b, bool accumulate) {
    static_assert(sizeof(T) == 2, "A of 8-bit elements is in shared memory");
    Products::start({d, N / 8, &a, {}, b, kLayout, accumulate, sizeof(T), kNumberOf});
  }
  template <LayoutB kLayout = LayoutB::rows_of_k>
  static void multiply(FragmentD (&d)[N / 8], MatrixDescriptor a, MatrixDescriptor b, bool accumulate) {
    Products::start({d, N / 8, nullptr, a, b, kLayout, accumulate, sizeof(T), kNumberOf});
  }
};

}  // namespace cubinet
