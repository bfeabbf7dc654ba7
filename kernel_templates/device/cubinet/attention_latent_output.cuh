// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of the template `attention_latent`.
#include <cubinet/attention_decode_reduce.cuh>
#include <cubinet/attention_latent_layout.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/warp_roles.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention {

// A warpgroup that has half of the output's columns.
class Accumulator {
 public:
  __device__ Accumulator(const AttentionDecodeParameters& p, const SharedLayout& layout, int half)
      : p_(p), layout_(layout), first_column_(half * kColumns) {}

  __device__ void piece(const WorkDivision& division, const Piece& piece, const PackedRows& rows,
                        const PieceTokens& tokens) {
    const int slices = tokens.slices();
    const int lane = threadIdx.x % 32;
    const int first_row = threadIdx.x % kWarpgroup / 32 * 16;
    const bool has_rows = first_row < tile_size_q;
    Output output = {};
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
      if (has_rows) {
        const float upper = load_shared_float(layout_.factor(buffer_.index, first_row + lane / 4));
        const float lower = load_shared_float(layout_.factor(buffer_.index, first_row + lane / 4 + 8));
        // The maximum settles after a few slices; then the accumulators need no scaling.
        if (__any_sync(kAllLanes, upper != 1.0f || lower != 1.0f)) {
#pragma unroll
          for (int part = 0; part < 2; ++part) {
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
              output[part][tile].r[0] *= upper;
              output[part][tile].r[1] *= upper;
              output[part][tile].r[2] *= lower;
              output[part][tile].r[3] *= lower;
            }
          }
        }
      }
      fence_async_proxy();
      // In registers: the two warpgroups would read them again for each product of columns.
      FragmentA weights[kSlice / 16];
#pragma unroll
      for (int step = 0; step < kSlice / 16; ++step)
        load_matrix_x4(weights[step].r,
                       layout_.weights() +
                           swizzled<kBlockRowBytes>(first_row + (lane & 15),
                                                    buffer_.index * (kSlice / 8) + step * 2 + (lane >> 4)));
      const MatrixDescriptor v = columns_of_k(
          layout_.kv(place_.index) + first_column_ / kBlockElements * kKvBlockBytes, kKvBlockBytes);
      wgmma_begin(output[0], output[1], weights);
#pragma unroll
      for (int step = 0; step < kSlice / 16; ++step) {
#pragma unroll
        for (int part = 0; part < 2; ++part)
          Wgmma<Product, kColumns / 2>::template multiply<LayoutB::columns_of_k>(
              output[part], weights[step],
              descriptor_behind(v, part * (kBlocksOfPart * kKvBlockBytes) + step * 16 * kBlockRowBytes),
              true);
      }
      wgmma_commit();
      wgmma_wait<0>(output[0], output[1], weights);
      if (lane == 0) {
        mbarrier_arrive(layout_.kv_empty(place_.index));
        mbarrier_arrive(layout_.weights_empty(buffer_.index));
      }
      place_.advance();
      buffer_.advance();
    }
    mbarrier_wait(layout_.weights_full(buffer_.index), buffer_.phase);
    if (has_rows) store(division, piece, rows, output, first_row, lane);
    __syncwarp();
    if (lane == 0) mbarrier_arrive(layout_.weights_empty(buffer_.index));
    buffer_.advance();
    if (p_.counters != 0 && !piece.is_whole()) reduce(division, piece, rows);
  }

 private:
  // No instruction may name as many registers as a thread has when the kernel starts.
  static constexpr int kTiles = kColumns / 2 / 8;
  static constexpr int kBlocksOfPart = kColumns / 2 / kBlockElements;
  using Output = FragmentD[2][kTiles];

  // To the output or, where blocks share the tile, to the block's slot.
  __device__ void store(const WorkDivision& division, const Piece& piece, const PackedRows& rows,
                        const Output& output, int first_row, int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + lane / 4 + 8 * half;
      if (!rows.holds(row)) continue;
      const float factor = load_shared_float(layout_.factor(buffer_.index, row));
      const float lse = load_shared_float(layout_.lse(buffer_.index, row));
      const int column = first_column_ + (lane & 3) * 2;
      if (piece.is_whole()) {
        const OutputRow target = output_row(rows, piece.sequence, 0, row);
        RowEnd end(p_, target.head);
        const float lse_of_row = end.close(lse);
        store_row<dtype_o>(output, half, target.output(p_) + column * sizeof(dtype_o), factor * end.factor);
        if (column == 0 && p_.lse != 0) store_global_float(p_.lse + 4 * target.index(p_), lse_of_row * kLn2);
      } else {
        const long long partial = static_cast<long long>(division.slot(p_, piece)) * p_.partial_rows + row;
        store_row<fp32>(output, half, p_.partial_o + 4 * (partial * head_dim_v + column), factor);
        if (column == 0) store_global_float(p_.partial_lse + 4 * partial, lse);
      }
    }
  }

  // Of a tile that blocks share: the one that ends last brings their partial results together.
  __device__ void reduce(const WorkDivision& division, const Piece& piece, const PackedRows& rows) const {
    const PartialSlots slots(p_, piece, division.share());
    const int thread = threadIdx.x - kFirstOutputThread;
    synchronize_warps(1, 2 * kWarpgroup);
    if (thread == 0) {
      const GlobalAddress counter =
          p_.counters + 4 * (static_cast<long long>(piece.sequence.index) * p_.q_tiles + piece.q_tile);
      const bool last = add_global(counter, 1) == slots.count - 1;
      if (last) store_global_int(counter, 0);
      store_shared_4(layout_.is_last(), last ? 1 : 0);
    }
    synchronize_warps(1, 2 * kWarpgroup);
    if (load_shared_4(layout_.is_last()) == 0) return;
#pragma unroll 1
    for (int i = thread; i < RowParts::kAll; i += 2 * kWarpgroup) {
      const int row = i / RowParts::kParts;
      const int first = i % RowParts::kParts * RowParts::kElements;
      if (!rows.holds(row)) break;
      PartialSum<RowParts::kElements> sum;
      sum.add(PartialRow(p_, slots, 0, row), first, 0, 1, slots.count);
      const float lse = sum.close();
      const OutputRow target = output_row(rows, piece.sequence, 0, row);
      store_output(p_, target, first, sum.values, RowEnd(p_, target.head), lse);
    }
  }

  template <typename Element>
  __device__ static void store_row(const Output& output, int half, GlobalAddress target, float factor) {
#pragma unroll
    for (int tile = 0; tile < 2 * kTiles; ++tile) {
      const float* const two = output[tile / kTiles][tile % kTiles].r + 2 * half;
      store_two_elements<Element>(target + tile * 8 * sizeof(Element), two[0] * factor, two[1] * factor);
    }
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int first_column_;
  RingPlace<kPlaces> place_;
  RingPlace<2> buffer_;
};

}  // namespace cubinet::attention
