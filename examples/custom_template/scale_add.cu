// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "scale_add",
  "interface": 1,
  "summary": "y = a * x + y, element by element",
  "minimum_target": "sm_75",
  "parameters": [
    {"name": "dtype", "type": "dtype", "values": ["fp32", "bf16"], "default": "fp32",
     "summary": "element type of x and y; the sum is made in fp32"},
    {"name": "block", "type": "int", "minimum": 32, "maximum": 1024, "multiple_of": 32, "default": 256,
     "summary": "threads of a block"},
    {"name": "elements_per_thread", "type": "int", "values": [1, 2, 4, 8], "default": 4,
     "summary": "elements that each thread handles, a block's width apart"}
  ],
  "constraints": [
    {"require": "block * elements_per_thread <= 4096",
     "message": "a block handles at most 4096 elements, so that small inputs still use many blocks"}
  ],
  "kernels": [
    {"name": "scale_add", "threads": "block", "dynamic_shared_bytes": "0", "parameter_bytes": 32,
     "argument": "ScaleAddParameters", "grid": "ceil(count / (block * elements_per_thread))"}
  ]
}
*/
// A custom template. The comment above is its declaration (docs/formats/template.md). cubinet
// generates the header below for each specification; it holds the parameters as types and
// constants.
//
//   cubinet compile scale_add --template-file scale_add.cu -p dtype=bf16 --target sm_90a
//
// Grid: ceil(count / (block * elements_per_thread)) CTAs of `block` threads, which share nothing. A
// thread processes elements_per_thread elements, `block` elements apart.
#include <cubinet/parameters.cuh>

using namespace cubinet::parameters;

// The kernel's only argument, passed by value. The host declares the same struct; parameter_bytes
// above is its size.
struct ScaleAddParameters {
  const dtype* x;  // [count]
  dtype* y;        // [count]
  long long count;
  float a;
};
static_assert(sizeof(ScaleAddParameters) == 32, "the host's structure has 32 bytes");

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(cubinet::bf16 value) { return __uint_as_float(unsigned{value.bits} << 16); }

__device__ inline void store(float& to, float value) { to = value; }
// Rounds to nearest even in software: the instruction needs sm_80, and this template supports
// sm_75.
__device__ inline void store(cubinet::bf16& to, float value) {
  const unsigned bits = __float_as_uint(value);
  const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = static_cast<unsigned short>((is_nan ? bits | 0x400000u : rounded) >> 16);
}

extern "C" __global__ void __launch_bounds__(block) scale_add(const __grid_constant__ ScaleAddParameters p) {
  const long long first = static_cast<long long>(blockIdx.x) * (block * elements_per_thread) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < elements_per_thread; ++i) {
    const long long index = first + i * block;
    if (index < p.count) store(p.y[index], p.a * to_float(p.x[index]) + to_float(p.y[index]));
  }
}
