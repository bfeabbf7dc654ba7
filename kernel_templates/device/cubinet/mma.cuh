// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warp-level matrix instructions of sm_80 and later: D[16x8] += A[16x16] * B[16x8] with fp32 sums.
// All lanes of a warp must call them together. Lane l holds rows l/4 and l/4+8 of D, and columns
// 2(l%4) and 2(l%4)+1: r[0] and r[1] of row l/4, r[2] and r[3] of row l/4+8 (PTX ISA, "Matrix
// Fragments for mma.m16n8k16").
#include <cubinet/memory.cuh>
#include <cubinet/types.cuh>

namespace cubinet {

// A lane's part of A, two 16-bit elements in each register: r[0] and r[1] hold rows l/4 and l/4+8
// of columns 2(l%4) and 2(l%4)+1; r[2] and r[3] hold the same rows of columns 2(l%4)+8 and
// 2(l%4)+9.
struct FragmentA {
  unsigned r[4];
};

// A lane's part of D.
struct FragmentD {
  float r[4];
};

// Computes D += A * B for elements of type T (bf16 or fp16). Lane l passes the elements of column
// l/4 of B: rows 2(l%4) and 2(l%4)+1 in `b0`, rows 2(l%4)+8 and 2(l%4)+9 in `b1`.
template <typename T>
__device__ inline void mma_16x8x16(FragmentD& d, const FragmentA& a, unsigned b0, unsigned b1);

template <>
__device__ inline void mma_16x8x16<bf16>(FragmentD& d, const FragmentA& a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d.r[0]), "+f"(d.r[1]), "+f"(d.r[2]), "+f"(d.r[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma_16x8x16<fp16>(FragmentD& d, const FragmentA& a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d.r[0]), "+f"(d.r[1]), "+f"(d.r[2]), "+f"(d.r[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b0), "r"(b1));
}

// Loads four 8x8 matrices of 16-bit elements from shared memory. Lane l passes the address of row
// l%8 (16 bytes) of matrix l/8, and gets two elements of each matrix.
__device__ inline void load_matrix_x4(unsigned (&r)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

// Loads like load_matrix_x4, and transposes each matrix.
__device__ inline void load_matrix_x4_transposed(unsigned (&r)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

// Stores four 8x8 matrices of 16-bit elements, each held as load_matrix_x4 loads it. Lane l passes
// the address of row l%8 of matrix l/8. sm_90 and later.
__device__ inline void store_matrix_x4(SharedAddress row, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(row), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Stores four 8x8 matrices, each held like the rows of FragmentD, transposed: each row becomes a
// column. Lane l passes the address of row l%8 of matrix l/8 as stored. sm_90 and later.
__device__ inline void store_matrix_x4_transposed(SharedAddress row, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(row), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

}  // namespace cubinet
