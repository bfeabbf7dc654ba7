// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_reduction",
  "interface": 1,
  "summary": "Combines the partial results that a published split-KV attention kernel left in global memory",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of Q, and so of the probabilities: those of e4m3 were multiplied by 448"},
    {"name": "dtype_o", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default": "bf16",
     "summary": "element type of the output; partial results are bf16 if it is bf16, otherwise fp16"},
    {"name": "head_dim_per_tile", "type": "int", "values": [64, 128, 256, 512],
     "summary": "columns of V of a partial result; if a pair of thread blocks shares an MMA, of both"},
    {"name": "tile_size_q", "type": "int", "values": [64, 128], "default": 64,
     "summary": "rows of a partial result"}
  ],
  "constraints": [
    {"require": "dtype_q == 'e4m3' || dtype_q == dtype_o",
     "message": "dtype_o must be the same as dtype_q unless dtype_q is e4m3"}
  ],
  "kernels": [
    {"name": "attention_reduction",
     "threads": "512",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 136,
     "argument": "cubinet::kernel_templates::AttentionReductionParameters",
     "argument_header": "cubinet/kernel_templates/attention_reduction_parameters.h",
     "grid": "(tiles_q * n, heads_q / heads_per_tile * head_dim_tiles, batch), n from 1 on",
     "programmatic_launch": true}
  ]
}
*/
// Grid: (tiles_q * n, heads_q / heads_per_tile * head_dim_tiles, batch). n (1 or more) CTAs share
// the rows of a tile. A CTA has 512 threads; kVectors adjacent threads share a row. A thread loads
// the same 16 bytes of the partial result of each split, several splits at once, and accumulates in
// fp32. The kernel never reads splits beyond the length of a sequence.
#include <cubinet/kernel_templates/attention_reduction_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet {
namespace {

using namespace parameters;
using kernel_templates::AttentionReductionParameters;

template <typename Output>
struct PartialOf {
  using Type = Output;
};
template <>
struct PartialOf<e4m3> {
  using Type = fp16;
};
using Partial = Vector16<PartialOf<dtype_o>::Type>;

constexpr int kThreads = 512;
constexpr int kBlocksPerSm = 2;
constexpr int kElements = Partial::kElements;
constexpr int kVectors = head_dim_per_tile / kElements;  // of a row
constexpr int kRowsAtOnce = kThreads / kVectors;
constexpr int kSplitsAtOnce = 4;
constexpr int kTokensPerSplit = 128;  // the KV tile of the kernels that write the partial results
// The scale of the probabilities, which makes them use the whole range of their type. The sums
// include it. The partial results do not: they would not fit fp16.
constexpr float kProbabilityScale = sizeof(dtype_q) == 1 ? 448.0f : 1.0f;

static_assert(attention_reduction_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_reduction_shared_bytes == 0, "the kernel uses no shared memory");
#if __CUDA_ARCH__ < 890
static_assert(sizeof(dtype_o) != 1, "dtype_o e4m3 needs a target from sm_89 on");
#endif

// The query tokens of a tile, and the number of splits of their KV.
struct Tile {
  long long first_token;  // index in the output
  int tokens;             // below 1 if the sequence has no token in this tile
  int splits;

  __device__ Tile(const AttentionReductionParameters& p, int batch, int tile) {
    int begin = batch * p.q_len;
    int q_len = p.q_len;
    if (p.q_offsets != 0) {
      const GlobalAddress offset = p.q_offsets + 4ull * static_cast<unsigned>(batch);
      begin = load_global_constant_int(offset);
      q_len = load_global_constant_int(offset + 4) - begin;
    }
    const int first = tile * p.tokens_per_tile;
    first_token = static_cast<long long>(begin) + first;
    tokens = minimum(q_len - first, p.tokens_per_tile);
    int visible = load_global_constant_int(p.kv_lengths + 4ull * static_cast<unsigned>(batch));
    visible -= q_len - first - tokens;  // tokens that the tile's last query token sees
    visible = minimum(maximum(visible, 0), p.max_kv_tokens);
    splits = minimum(divide_up(visible, kTokensPerSplit), p.max_splits);
  }
};

// The running sums of one row. Probabilities are 2^(logit - maximum); logits are multiplied by
// log2(e).
struct RowState {
  float maximum;
  float sum;
  float values[kElements];

  // Returns a finite offset: a row that has seen no token has the maximum -infinity, and the
  // difference of two infinities is NaN.
  __device__ float offset() const { return maximum == negative_infinity() ? 0.0f : maximum; }
};

// Adds kSplitsAtOnce splits of one row, starting at split `first`. Past the last split it reads
// that split again and ignores it, which avoids a separate loop for the rest. It also ignores a
// partial result with weight 0, which may be infinite.
__device__ inline void take_splits(RowState& state, GlobalAddress stats, GlobalAddress values, int first,
                                   int splits, float scale_log2) {
  uint2 extremes[kSplitsAtOnce];
  uint4 parts[kSplitsAtOnce];
#pragma unroll
  for (int k = 0; k < kSplitsAtOnce; ++k) {
    const long long row = static_cast<long long>(minimum(first + k, splits - 1)) * tile_size_q;
    extremes[k] = load_global_8(stats + row * 8);
    parts[k] = load_global_16(values + row * (head_dim_per_tile * 2));
  }
  const float before = state.maximum;
  float maxima[kSplitsAtOnce];
#pragma unroll
  for (int k = 0; k < kSplitsAtOnce; ++k) {
    maxima[k] = __uint_as_float(extremes[k].x) * scale_log2;
    state.maximum = fmaxf(state.maximum, maxima[k]);
  }
  const float kept = exp2_approx(before - state.offset());
  state.sum *= kept;
#pragma unroll
  for (int i = 0; i < kElements; ++i)
    state.values[i] *= kept;
#pragma unroll
  for (int k = 0; k < kSplitsAtOnce; ++k) {
    const float weight = first + k < splits ? exp2_approx(maxima[k] - state.offset()) : 0.0f;
    float part[kElements];
    Partial::unpack(parts[k], part);
    if (weight == 0.0f) continue;
    state.sum = fmaf(weight, __uint_as_float(extremes[k].y), state.sum);
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      state.values[i] = fmaf(weight, part[i], state.values[i]);
  }
}

__device__ inline void store_elements(GlobalAddress address, const float (&values)[kElements]) {
  if constexpr (sizeof(dtype_o) == 1) {
    store_global_8(address, make_uint2(pack4_e4m3(values), pack4_e4m3(values + 4)));
  } else {
    store_global_16(address, Vector16<dtype_o>::pack(values));
  }
}

}  // namespace
}  // namespace cubinet

extern "C" __global__ void __launch_bounds__(cubinet::kThreads, cubinet::kBlocksPerSm)
    attention_reduction(const __grid_constant__ cubinet::kernel_templates::AttentionReductionParameters p) {
  using namespace cubinet;
  const int block = static_cast<int>(blockIdx.x);
  const int block_of_tile = p.tiles_q.quotient(block);
  const int blocks_of_tile = p.tiles_q.quotient(static_cast<int>(gridDim.x));
  const int tile_q = p.tiles_q.remainder(block);
  const int head_tile = p.head_dim_tiles.quotient(static_cast<int>(blockIdx.y));
  const int head_dim_tile = p.head_dim_tiles.remainder(static_cast<int>(blockIdx.y));
  const int batch = static_cast<int>(blockIdx.z);
  const int vector = threadIdx.x % kVectors;
  const long long tile_index =
      (static_cast<long long>(batch) * gridDim.y + blockIdx.y) * p.tiles_q.divisor + tile_q;
  const long long first_row = tile_index * p.max_splits * tile_size_q;

  wait_for_prerequisites();
  const Tile tile(p, batch, tile_q);
  const float scale_log2 =
      p.softmax_scale_address != 0 ? load_global_float(p.softmax_scale_address) : p.softmax_scale_log2;
  const int rows = tile.tokens * p.heads_per_tile.divisor;
#pragma unroll 1
  for (int row = block_of_tile * kRowsAtOnce + static_cast<int>(threadIdx.x) / kVectors; row < rows;
       row += blocks_of_tile * kRowsAtOnce) {
    const int token = p.heads_per_tile.quotient(row);
    const int head = head_tile * p.heads_per_tile.divisor + p.heads_per_tile.remainder(row);
    RowState state{negative_infinity(), 0.0f, {}};
    // A sink is treated as a split without V whose only probability is 1.
    if (p.sinks != 0) {
      state.maximum = load_global_float(p.sinks + 4ull * static_cast<unsigned>(head)) * kLog2E;
      state.sum = state.maximum == negative_infinity() ? 0.0f : kProbabilityScale;
    }
    const GlobalAddress stats = p.partial_stats + (first_row + row) * 8;
    const GlobalAddress values = p.partial_o + (first_row + row) * (head_dim_per_tile * 2) + vector * 16;
#pragma unroll 1
    for (int split = 0; split < tile.splits; split += kSplitsAtOnce)
      take_splits(state, stats, values, split, tile.splits, scale_log2);

    const float scale = state.sum == 0.0f ? 0.0f : kProbabilityScale * reciprocal_approx(state.sum);
#pragma unroll
    for (int i = 0; i < kElements; ++i)
      state.values[i] *= scale;
    const long long output_row = (tile.first_token + token) * p.heads_q + head;
    const long long column = head_dim_tile * head_dim_per_tile + vector * kElements;
    store_elements(
        p.o + (output_row * p.head_dim_tiles.divisor * head_dim_per_tile + column) * sizeof(dtype_o),
        state.values);
    if (p.softmax_stats != 0 && head_dim_tile == 0 && vector == 0) {
      store_global_8(p.softmax_stats + output_row * 8,
                     make_uint2(__float_as_uint(state.maximum * kLn2),
                                __float_as_uint(state.sum * (1.0f / kProbabilityScale))));
    }
  }
  launch_dependents();
}
