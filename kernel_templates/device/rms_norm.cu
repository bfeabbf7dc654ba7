// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "rms_norm",
  "interface": 1,
  "summary": "Root-mean-square normalisation of rows, with an optional residual added first",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype", "type": "dtype", "values": ["bf16", "fp16", "fp32"], "default": "bf16",
     "summary": "element type of the rows, the residual and the output"},
    {"name": "dtype_weight", "type": "dtype", "values": ["bf16", "fp16", "fp32"], "default": "bf16",
     "summary": "element type of the weight"},
    {"name": "hidden_size", "type": "int", "minimum": 64, "maximum": 32768, "multiple_of": 8,
     "summary": "elements of a row"},
    {"name": "threads_per_row", "type": "int", "values": [32, 64, 128, 256, 512, 1024],
     "default_expression": "hidden_size <= 8192 ? 256 : hidden_size <= 16384 ? 512 : 1024",
     "summary": "threads that share a row; each keeps its part in registers"},
    {"name": "rows_per_block", "type": "int", "values": [1, 2, 4, 8], "default": 1,
     "summary": "rows of a thread block"},
    {"name": "residual_add", "type": "bool", "default": false,
     "summary": "residual = residual + x is stored and normalised"}
  ],
  "constraints": [
    {"require": "threads_per_row * rows_per_block <= 1024",
     "message": "threads_per_row * rows_per_block must be 1024 or less, the size of a thread block"},
    {"require": "hidden_size <= threads_per_row * 32",
     "message": "hidden_size must be 32 * threads_per_row or less: a thread keeps at most 32 elements"}
  ],
  "kernels": [
    {"name": "rms_norm",
     "threads": "threads_per_row * rows_per_block",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 64,
     "argument": "cubinet::kernel_templates::RmsNormParameters",
     "argument_header": "cubinet/kernel_templates/rms_norm_parameters.h",
     "grid": "ceil(rows / rows_per_block)",
     "programmatic_launch": true}
  ]
}
*/
// Grid: ceil(rows / rows_per_block) CTAs. threads_per_row threads share a row: they sum its squares
// through shared memory. Each element is loaded once, in a 16-byte vector, and stays in registers
// between the sum of squares and the scaling.
#include <cubinet/kernel_templates/rms_norm_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet {
namespace {

using namespace parameters;
using kernel_templates::RmsNormParameters;

constexpr int kThreads = threads_per_row * rows_per_block;
constexpr int kWarpsPerRow = threads_per_row / 32;
constexpr int kElements = Vector16<dtype>::kElements;
constexpr int kVectors = hidden_size / kElements;
constexpr int kVectorsPerThread = divide_up(kVectors, threads_per_row);
// Bytes of weights for one vector. A vector of 8 16-bit elements needs two vectors of fp32 weights;
// a vector of 4 fp32 elements needs half a vector of bf16 weights.
constexpr int kWeightBytes = kElements * int{sizeof(dtype_weight)};

static_assert(rms_norm_threads == kThreads, "the host's formula of the block size differs");
static_assert(rms_norm_shared_bytes == 0, "the kernel uses static shared memory alone");
static_assert(hidden_size % kElements == 0, "a row must be a whole number of 16-byte vectors");

template <typename Weight>
__device__ inline void load_weights(GlobalAddress address, float (&values)[kElements]) {
  if constexpr (kWeightBytes == 8) {
    const uint2 bits = load_global_8(address);
    const float2 low = unpack2<Weight>(bits.x);
    const float2 high = unpack2<Weight>(bits.y);
    values[0] = low.x;
    values[1] = low.y;
    values[2] = high.x;
    values[3] = high.y;
  } else {
#pragma unroll
    for (int i = 0; i < kWeightBytes / 16; ++i) {
      Vector16<Weight>::unpack(load_global_16(address + i * 16), values + i * Vector16<Weight>::kElements);
    }
  }
}

// Returns the sum over the threads of one row. All threads of the block must call it.
__device__ inline float row_sum(float value, int row_in_block) {
  value = lanes_sum<32>(value);
  if constexpr (kWarpsPerRow > 1) {
    __shared__ float sums[rows_per_block][kWarpsPerRow];
    const int thread = threadIdx.x % threads_per_row;
    if (thread % 32 == 0) sums[row_in_block][thread / 32] = value;
    __syncthreads();
    value = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarpsPerRow; ++w)
      value += sums[row_in_block][w];
  }
  return value;
}

}  // namespace
}  // namespace cubinet

extern "C" __global__ void __launch_bounds__(cubinet::kThreads)
    rms_norm(const __grid_constant__ cubinet::kernel_templates::RmsNormParameters p) {
  using namespace cubinet;
  const int row_in_block = threadIdx.x / threads_per_row;
  const int thread = threadIdx.x % threads_per_row;
  const long long row = static_cast<long long>(blockIdx.x) * rows_per_block + row_in_block;
  const bool active = row < p.rows;
  const GlobalAddress x = p.x + sizeof(dtype) * (row * p.x_row_stride);
  const GlobalAddress y = p.y + sizeof(dtype) * (row * p.y_row_stride);
  const GlobalAddress residual = p.residual + sizeof(dtype) * (row * p.residual_row_stride);
  wait_for_prerequisites();
  launch_dependents();

  float values[kVectorsPerThread][kElements];
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const int vector = thread + i * threads_per_row;
    if (!active || vector >= kVectors) continue;
    Vector16<dtype>::unpack(load_global_16(x + vector * 16), values[i]);
    if constexpr (residual_add) {
      float other[kElements];
      Vector16<dtype>::unpack(load_global_16(residual + vector * 16), other);
#pragma unroll
      for (int j = 0; j < kElements; ++j)
        values[i][j] += other[j];
      const uint4 bits = Vector16<dtype>::pack(values[i]);
      store_global_16(residual + vector * 16, bits);
      // Normalises the rounded sum, because the next layer reads that.
      Vector16<dtype>::unpack(bits, values[i]);
    }
#pragma unroll
    for (int j = 0; j < kElements; ++j)
      squares += values[i][j] * values[i][j];
  }

  const float scale = rsqrt_approx(row_sum(squares, row_in_block) * (1.0f / hidden_size) + p.epsilon);
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const int vector = thread + i * threads_per_row;
    if (!active || vector >= kVectors) continue;
    float weights[kElements];
    load_weights<dtype_weight>(p.weight + static_cast<unsigned>(vector * kWeightBytes), weights);
#pragma unroll
    for (int j = 0; j < kElements; ++j)
      values[i][j] *= scale * weights[j];
    store_global_16(y + vector * 16, Vector16<dtype>::pack(values[i]));
  }
}
