// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header. Boxes of a map that the kernel makes arrive at random
// times. Of other maps, tests write what a box would contain.
#include <cubinet/cluster.cuh>
#include <cubinet/memory.cuh>

#include <cstdint>
#include <vector>

namespace cubinet {

// The test's view of the copies of boxes.
class BoxObserver {
 public:
  virtual ~BoxObserver() = default;
  virtual void on_copy(SharedAddress target, const void* map, const std::vector<int>& coordinates,
                       SharedAddress barrier) = 0;
};
inline BoxObserver* box_observer = nullptr;

inline void copy_box(SharedAddress target, const void* map, int x0, int x1, int x2, int x3,
                     SharedAddress barrier) {
  if (box_observer != nullptr) box_observer->on_copy(target, map, {x0, x1, x2, x3}, barrier);
}
inline void copy_box(SharedAddress target, const void* map, int x0, int x1, int x2, int x3, int x4,
                     SharedAddress barrier) {
  if (box_observer != nullptr) box_observer->on_copy(target, map, {x0, x1, x2, x3, x4}, barrier);
}
template <int kClusterSize, class... Coordinates>
void copy_box_in_cluster(SharedAddress target, const void* map, Coordinates... coordinates_and_barrier) {
  if constexpr (kClusterSize == 1) return copy_box(target, map, coordinates_and_barrier...);
  std::vector<unsigned> words = {static_cast<unsigned>(coordinates_and_barrier)...};
  const SharedAddress barrier = words.back();
  words.pop_back();
  for (int rank = 0; rank < kClusterSize; ++rank)
    box_observer->on_copy(address_in(target, rank), map, {words.begin(), words.end()},
                          address_in(barrier, rank));
}
// A tensor of elements of 16 bits, and its boxes.
struct TensorOfRows {
  GlobalAddress address;
  unsigned columns;
  unsigned rows;
  unsigned groups;
  unsigned long long row_bytes;
  unsigned long long group_bytes;
  unsigned box_columns;
  unsigned box_rows;
};

// Overwrites `place`, where the map is made.
inline void make_tensor_map(GlobalAddress map, SharedAddress place, const TensorOfRows& of) {
  store_shared(place + 4 * static_cast<unsigned>(Warp::lane()), 0U);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): kernels have addresses as integers
  *reinterpret_cast<TensorOfRows*>(map) = of;
  Warp::exchange(0);
}

// Writes a box of a tensor to one CTA.
inline void write_box(const TensorOfRows& of, SharedAddress target, unsigned column, unsigned row,
                      unsigned group, SharedAddress barrier) {
  for (unsigned i = 0; i < of.box_rows; ++i) {
    for (unsigned j = 0; j < of.box_columns; j += 8) {
      const bool is_inside = row + i < of.rows && column + j < of.columns && group < of.groups;
      const GlobalAddress source =
          of.address + group * of.group_bytes + (row + i) * of.row_bytes + 2 * (column + j);
      const uint4 bits = load_global_16_or_zero(source, is_inside);
      store_shared(swizzled_address(target + i * 128 + j * 2), bits);
    }
  }
  barrier_observer->on_bytes(barrier, of.box_rows * of.box_columns * 2);
}

inline void bulk_copy_box_to(unsigned short blocks, SharedAddress target, GlobalAddress map, int column,
                             int row, int group, SharedAddress barrier) {
  for (int rank = 0; rank < 2; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    Events::add([=, target = address_in(target, rank), barrier = address_in(barrier, rank)] {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): kernels have addresses as integers
      write_box(*reinterpret_cast<const TensorOfRows*>(map), target, static_cast<unsigned>(column),
                static_cast<unsigned>(row), static_cast<unsigned>(group), barrier);
    });
  }
}

template <class... Coordinates>
void prefetch_box(const void*, Coordinates...) {}
inline void prefetch_tensor_map(const void*) {}

}  // namespace cubinet
