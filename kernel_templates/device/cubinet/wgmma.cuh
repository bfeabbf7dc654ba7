// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix instructions of a warpgroup (sm_90a): D[64xN] += A[64xK] * B[KxN] with fp32 sums, where K
// is 32 bytes of elements. A warpgroup is four warps; the index of the first is a multiple of four.
// All of its threads must call these functions. Warp w holds rows 16w to 16w + 15 of D, and of A if
// A is in registers, in the layout of mma_16x8x16. The instructions run asynchronously until
// wgmma_wait().
//
// An operand in shared memory consists of blocks of adjacent rows of 128 bytes, swizzled by
// `swizzled<128>`; a block starts at a multiple of 1024 bytes. Either a row holds adjacent elements
// of K, of a row of A or a column of B (`rows_of_k`); or, for B of 16-bit elements, a row is one
// element of K for 64 adjacent columns of B (`columns_of_k`).
#include <cubinet/mma.cuh>

namespace cubinet {

// The descriptor of an operand in shared memory (PTX ISA, "Matrix descriptor format"). Groups of 8
// rows of a block are `group_bytes` apart: kGroupBytes if a block's rows are adjacent.
using MatrixDescriptor = unsigned long long;
inline constexpr unsigned kGroupBytes = 1024;

__device__ inline MatrixDescriptor matrix_descriptor(SharedAddress first, unsigned block_bytes,
                                                     unsigned group_bytes) {
  constexpr MatrixDescriptor kSwizzle128 = 1ull << 62;
  return kSwizzle128 | static_cast<MatrixDescriptor>(group_bytes >> 4) << 32 |
         static_cast<MatrixDescriptor>(block_bytes >> 4) << 16 | (first & 0x3ffffu) >> 4;
}

// Describes an operand whose rows hold adjacent elements of K. `first` is the address of the first
// row, plus 32 bytes for each earlier step of K; a block holds four steps.
__device__ inline MatrixDescriptor rows_of_k(SharedAddress first, unsigned group_bytes = kGroupBytes) {
  return matrix_descriptor(first, 16, group_bytes);  // the hardware ignores the 16
}

// Describes an operand each row of which is one element of K. `first` is the address of the first
// row of the step, whose index must be a multiple of 8, in the block of the first 64 columns of B.
// Blocks are `block_bytes` apart.
__device__ inline MatrixDescriptor columns_of_k(SharedAddress first, unsigned block_bytes,
                                                unsigned group_bytes = kGroupBytes) {
  return matrix_descriptor(first, block_bytes, group_bytes);
}

// Returns the descriptor of an operand `bytes` bytes further. Shared memory addresses end below the
// other fields of the descriptor, so this is one addition; a new descriptor would take several.
__device__ inline MatrixDescriptor descriptor_behind(MatrixDescriptor descriptor, int bytes) {
  unsigned low;
  unsigned high;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(descriptor));
  asm("mov.b64 %0, {%1, %2};" : "=l"(descriptor) : "r"(low + static_cast<unsigned>(bytes >> 4)), "r"(high));
  return descriptor;
}

// Prevents the compiler from moving accesses to these registers across this call.
template <int kTiles>
__device__ inline void keep_in_order(FragmentD (&d)[kTiles]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
    asm volatile("" : "+f"(d[tile].r[0]), "+f"(d[tile].r[1]), "+f"(d[tile].r[2]), "+f"(d[tile].r[3]));
}
template <int kSteps>
__device__ inline void keep_in_order(FragmentA (&a)[kSteps]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
    asm volatile("" : "+r"(a[step].r[0]), "+r"(a[step].r[1]), "+r"(a[step].r[2]), "+r"(a[step].r[3]));
}

// Resumes products of the same registers after other instructions. Must be called between such
// products.
__device__ inline void wgmma_resume() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Begins products. Must be called before the first product, and before a product whose registers
// were accessed since the last product.
template <typename... Fragments>
__device__ inline void wgmma_begin(Fragments&... registers) {
  (keep_in_order(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Makes a group of the products since the last call.
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Blocks until at most `kPending` of the newest groups are in flight. `registers` are the registers
// of the groups that have completed.
template <int kPending, typename... Fragments>
__device__ inline void wgmma_wait(Fragments&... registers) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
  (keep_in_order(registers), ...);
}

// The layout of B in shared memory.
enum class LayoutB { rows_of_k, columns_of_k };

// The products with N columns; each tile of D has 8. If `accumulate` is false, D becomes the
// product alone.
template <typename T, int N>
struct Wgmma;

// Arguments: N, the number of tiles of D, and the numbers of the asm operands after those of D.
#define CUBINET_WGMMA(N, TILES, O0, O1, O2, O3, O4, O5, O6)                                              \
  CUBINET_WGMMA_OF(bf16, "k16.f32.bf16.bf16", ", %" #O6, ", 0, %" #O3, N, TILES, O0, O1, O2, O3, O4, O5) \
  CUBINET_WGMMA_OF(fp16, "k16.f32.f16.f16", ", %" #O6, ", 0, %" #O3, N, TILES, O0, O1, O2, O3, O4, O5)   \
  CUBINET_WGMMA_OF(e4m3, "k32.f32.e4m3.e4m3", "", "", N, TILES, O0, O1, O2, O3, O4, O5)
#define CUBINET_WGMMA_OF(T, SHAPE, LAYOUTS, LAYOUTS_SHARED, N, TILES, O0, O1, O2, O3, O4, O5)                \
  template <>                                                                                                \
  struct Wgmma<T, N> {                                                                                       \
    template <LayoutB kLayout = LayoutB::rows_of_k>                                                          \
    __device__ static void multiply(FragmentD (&d)[N / 8], const FragmentA& a, MatrixDescriptor b,           \
                                    bool accumulate) {                                                       \
      static_assert(kLayout == LayoutB::rows_of_k || sizeof(T) == 2, "of 8-bit elements K is side by side"); \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #O5 ", 0; wgmma.mma_async.sync.aligned.m64n" #N SHAPE   \
                   " {" CUBINET_R##TILES "}, {%" #O0 ",%" #O1 ",%" #O2 ",%" #O3 "}, %" #O4                   \
                                         ", p, 1, 1" LAYOUTS ";}"                                            \
                   : CUBINET_D##TILES(0)                                                                     \
                   : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "l"(b), "r"(int{accumulate}),       \
                     "n"(int{kLayout == LayoutB::columns_of_k}));                                            \
    }                                                                                                        \
    template <LayoutB kLayout = LayoutB::rows_of_k>                                                          \
    __device__ static void multiply(FragmentD (&d)[N / 8], MatrixDescriptor a, MatrixDescriptor b,           \
                                    bool accumulate) {                                                       \
      static_assert(kLayout == LayoutB::rows_of_k || sizeof(T) == 2, "of 8-bit elements K is side by side"); \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #O2 ", 0; wgmma.mma_async.sync.aligned.m64n" #N SHAPE   \
                   " {" CUBINET_R##TILES "}, %" #O0 ", %" #O1 ", p, 1, 1" LAYOUTS_SHARED ";}"                \
                   : CUBINET_D##TILES(0)                                                                     \
                   : "l"(a), "l"(b), "r"(int{accumulate}), "n"(int{kLayout == LayoutB::columns_of_k}));      \
    }                                                                                                        \
  };

#define CUBINET_D1(i) "+f"(d[i].r[0]), "+f"(d[i].r[1]), "+f"(d[i].r[2]), "+f"(d[i].r[3])
#define CUBINET_D2(i) CUBINET_D1(i), CUBINET_D1(i + 1)
#define CUBINET_D4(i) CUBINET_D2(i), CUBINET_D2(i + 2)
#define CUBINET_D6(i) CUBINET_D4(i), CUBINET_D2(i + 4)
#define CUBINET_D8(i) CUBINET_D4(i), CUBINET_D4(i + 4)
#define CUBINET_D9(i) CUBINET_D8(i), CUBINET_D1(i + 8)
#define CUBINET_D10(i) CUBINET_D8(i), CUBINET_D2(i + 8)
#define CUBINET_D11(i) CUBINET_D10(i), CUBINET_D1(i + 10)
#define CUBINET_D12(i) CUBINET_D8(i), CUBINET_D4(i + 8)
#define CUBINET_D14(i) CUBINET_D12(i), CUBINET_D2(i + 12)
#define CUBINET_D16(i) CUBINET_D8(i), CUBINET_D8(i + 8)
#define CUBINET_D18(i) CUBINET_D16(i), CUBINET_D2(i + 16)
#define CUBINET_D20(i) CUBINET_D16(i), CUBINET_D4(i + 16)
#define CUBINET_D22(i) CUBINET_D20(i), CUBINET_D2(i + 20)
#define CUBINET_D24(i) CUBINET_D16(i), CUBINET_D8(i + 16)
#define CUBINET_D28(i) CUBINET_D24(i), CUBINET_D4(i + 24)
#define CUBINET_D32(i) CUBINET_D16(i), CUBINET_D16(i + 16)
#define CUBINET_R1 "%0,%1,%2,%3"
#define CUBINET_R2 CUBINET_R1 ",%4,%5,%6,%7"
#define CUBINET_R4 CUBINET_R2 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define CUBINET_R6 CUBINET_R4 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define CUBINET_R8 CUBINET_R4 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define CUBINET_R9 CUBINET_R8 ",%32,%33,%34,%35"
#define CUBINET_R10 CUBINET_R8 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define CUBINET_R11 CUBINET_R10 ",%40,%41,%42,%43"
#define CUBINET_R12 CUBINET_R8 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define CUBINET_R14 CUBINET_R12 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define CUBINET_R16                                                  \
  CUBINET_R8                                                         \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define CUBINET_R18 CUBINET_R16 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define CUBINET_R20 CUBINET_R18 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define CUBINET_R22 CUBINET_R20 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define CUBINET_R24                                                  \
  CUBINET_R16                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79" \
  ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define CUBINET_R28 \
  CUBINET_R24       \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define CUBINET_R32                                                              \
  CUBINET_R16                                                                    \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"             \
  ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"             \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111" \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

CUBINET_WGMMA(8, 1, 4, 5, 6, 7, 8, 9, 10)
CUBINET_WGMMA(16, 2, 8, 9, 10, 11, 12, 13, 14)
CUBINET_WGMMA(32, 4, 16, 17, 18, 19, 20, 21, 22)
CUBINET_WGMMA(48, 6, 24, 25, 26, 27, 28, 29, 30)
CUBINET_WGMMA(64, 8, 32, 33, 34, 35, 36, 37, 38)
CUBINET_WGMMA(72, 9, 36, 37, 38, 39, 40, 41, 42)
CUBINET_WGMMA(80, 10, 40, 41, 42, 43, 44, 45, 46)
CUBINET_WGMMA(88, 11, 44, 45, 46, 47, 48, 49, 50)
CUBINET_WGMMA(96, 12, 48, 49, 50, 51, 52, 53, 54)
CUBINET_WGMMA(112, 14, 56, 57, 58, 59, 60, 61, 62)
CUBINET_WGMMA(128, 16, 64, 65, 66, 67, 68, 69, 70)
CUBINET_WGMMA(160, 20, 80, 81, 82, 83, 84, 85, 86)
CUBINET_WGMMA(176, 22, 88, 89, 90, 91, 92, 93, 94)
CUBINET_WGMMA(192, 24, 96, 97, 98, 99, 100, 101, 102)
CUBINET_WGMMA(224, 28, 112, 113, 114, 115, 116, 117, 118)
CUBINET_WGMMA(256, 32, 128, 129, 130, 131, 132, 133, 134)

#undef CUBINET_WGMMA
#undef CUBINET_WGMMA_OF
#undef CUBINET_D1
#undef CUBINET_D2
#undef CUBINET_D4
#undef CUBINET_D6
#undef CUBINET_D8
#undef CUBINET_D9
#undef CUBINET_D10
#undef CUBINET_D11
#undef CUBINET_D12
#undef CUBINET_D14
#undef CUBINET_D16
#undef CUBINET_D18
#undef CUBINET_D20
#undef CUBINET_D22
#undef CUBINET_D24
#undef CUBINET_D28
#undef CUBINET_D32
#undef CUBINET_R1
#undef CUBINET_R2
#undef CUBINET_R4
#undef CUBINET_R6
#undef CUBINET_R8
#undef CUBINET_R9
#undef CUBINET_R10
#undef CUBINET_R11
#undef CUBINET_R12
#undef CUBINET_R14
#undef CUBINET_R16
#undef CUBINET_R18
#undef CUBINET_R20
#undef CUBINET_R22
#undef CUBINET_R24
#undef CUBINET_R28
#undef CUBINET_R32

}  // namespace cubinet
