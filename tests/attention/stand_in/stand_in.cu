// SPDX-License-Identifier: Apache-2.0
// A stand-in for the published attention kernels (argument layout 0.6.13) on devices where none of
// them runs. Tests compare everything that a launch states with a reference. The kernel is slow and
// follows the argument: it reads Q, K and V through the argument's tensor maps and everything else
// from its members. The output is NaN if a member contradicts the launch or if a member is set that
// no launch sets.
//
// Macros state the contents of a metadata row: STAND_IN (the function's name), THREADS, TILE_Q,
// STEP_Q, BOX_TOKENS (of the maps of K and V), HEAD_DIM_QK, HEAD_DIM_V, HEAD_DIM_PER_CTA (columns
// of V), and as 0 or 1 FP16, CONTEXT, PAGED, CAUSAL, SLIDING, GROUPS_HEADS, GROUPS_TOKENS, SPLITS
// (KV, through global memory), SEPARATE (a launch of its own reduces the splits).

#include <cubinet/kernel_templates/parameter_layout.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/pdl.cuh>
#include <cubinet/types.cuh>

using namespace cubinet;
using u32 = unsigned int;

#if FP16
using Element = fp16;
#else
using Element = bf16;
#endif

struct alignas(128) TensorMap {
  unsigned char opaque[128];
};

struct Divisor {
  int divisor;
  u32 multiplier;
  u32 add;
  int shift;
};

// The names are the publisher's.
struct KernelParams {
  TensorMap tmaQ_, tmaK_, tmaKSlidingWindowKvPool_, tmaV_, tmaO_, tmaKSf_, tmaVSf_;
  u32 logicalGridDimX, logicalGridDimY, logicalGridDimZ;
  Element* ptrO;
  void* ptrSfO;
  const float* ptrAttentionSinks;
  const int* ptrCumSeqLensQ;
  const int* ptrCumSeqLensKv;
  const void* ptrCustomMask;
  const void* ptrCustomMaskOffsets;
  const void* ptrDebugO;
  const void* ptrFirstSparseMaskOffsetsKv;
  int* ptrMultiCtasKvCounter;
  const float* ptrOutputScale;
  const int* ptrPageIdxKv;
  void* ptrPartialO;
  float2* ptrPartialStats;
  const void* ptrSageAttnSfs[4];
  const float* ptrScaleSoftmaxLog2;
  const void* ptrScaleSfKv;
  const void* ptrScaleSfO;
  const int* ptrSeqLensKv;
  const void* ptrSkipSoftmaxStats;
  float2* ptrSoftmaxStats;
  const void* ptrSparseMlaTopKLens;
  int mAttentionWindowSize;
  int mBatchSize;
  int mChunkedAttentionSizeLog2;
  int mInflateMax;
  int mLogNumEltsPerSageAttnBlk[4];
  int mMaxSeqLenQ;
  int mMaxSeqLenKv;
  int mMaxNumCtasQ;
  int mMaxNumCtasKv;
  int mMaxNumPagesPerSeqKv;
  int mNumHeadsKv;
  int mNumHeadsQ;
  int mNumHeadsQPerKv;
  Divisor mNumHeadsQPerKvDivisor;
  long long mNumHiddenEltsO;
  int mNumPagesInMemPool;
  int mNumTokensPerCtaQ;
  int mNumTokensPerPageLog2;
  int mReshapeFactorKv;
  float mOutputScale;
  float mScaleSoftmaxLog2;
  float mScaleSfKv;
  float mScaleSfO;
  float mSkipSoftmaxThresholdScaleFactor;
  int mSparseAttnTopK;
  int mStartTokenIdxSfO;
  int mSumOfSeqLensQ;
  int mSumOfSeqLensKv;
  bool mUseBlockSparseAttention;
  bool mUsesSharedPagedKvIdx;
};
static_assert(sizeof(KernelParams) == 1280);
CUBINET_ASSERT_OFFSET(KernelParams, ptrO, 912);
CUBINET_ASSERT_OFFSET(KernelParams, ptrSoftmaxStats, 1096);
CUBINET_ASSERT_OFFSET(KernelParams, mAttentionWindowSize, 1112);
CUBINET_ASSERT_OFFSET(KernelParams, mNumHiddenEltsO, 1192);
CUBINET_ASSERT_OFFSET(KernelParams, mUsesSharedPagedKvIdx, 1253);

constexpr int kRowBytes = 128;  // of one row of a box: the widest swizzle
constexpr int kRowElements = kRowBytes / 2;
constexpr int kStep = BOX_TOKENS > 64 ? BOX_TOKENS : 64;  // KV tokens per step, in whole boxes
constexpr int kSplitTokens = 128;                         // tokens that stay together when KV is split
constexpr int kSlicesQk = HEAD_DIM_QK / kRowElements;
constexpr int kSlicesV = HEAD_DIM_PER_CTA / kRowElements;
constexpr int kKvSlices = kSlicesQk > kSlicesV ? kSlicesQk : kSlicesV;
constexpr int kPairs = HEAD_DIM_PER_CTA / 2;  // column pairs of a row
constexpr int kHeadDimCtas = HEAD_DIM_V / HEAD_DIM_PER_CTA;
constexpr int kAccumulators = TILE_Q * kPairs / THREADS;
static_assert(HEAD_DIM_QK % kRowElements == 0 && HEAD_DIM_PER_CTA % kRowElements == 0);
static_assert(kStep % BOX_TOKENS == 0 && BOX_TOKENS % 8 == 0 && kSplitTokens % kStep == 0);
static_assert(TILE_Q % 8 == 0 && TILE_Q * kPairs % THREADS == 0 && STEP_Q % TILE_Q == 0);

// Shared memory holds Q, then K or V of a step, then the weights of the step. It has 1024 more
// bytes, because the swizzle's pattern repeats every 1024 bytes.
constexpr int kQBytes = kSlicesQk * TILE_Q * kRowBytes;
constexpr int kKvBytes = kKvSlices * kStep * kRowBytes;
constexpr int kWeightBytes = TILE_Q * kStep * 4;
static_assert(1024 + kQBytes + kKvBytes + kWeightBytes <= SHARED_BYTES);

// >>> PTX
// A barrier that counts the bytes of copies. Each batch of copies is one phase.
struct Barrier {
  unsigned long long state;

  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&state)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  // Announces the bytes of the next copies. The fence orders earlier reads of the memory before the
  // copies that overwrite it.
  __device__ void expect(u32 bytes) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&state)),
                 "r"(bytes)
                 : "memory");
  }
  __device__ void wait(u32 phase) {
    u32 done = 0;
    while (done == 0) {
      asm volatile(
          "{ .reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(shared_address(&state)), "r"(phase)
          : "memory");
    }
  }
};

__device__ inline void copy_box(void* to, const TensorMap& map, Barrier& barrier, int c0, int c1, int c2,
                                int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6}], [%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier.state)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ unsigned char memory[];
  return memory + (-shared_address(memory) & 1023u);
}
// <<< PTX

__device__ inline int divide(int n, const Divisor& by) {
  if (by.divisor == 1) return n;
  return static_cast<int>((__umulhi(static_cast<u32>(n), by.multiplier) + by.add * static_cast<u32>(n)) >>
                          by.shift);
}

// Returns 8 elements (16 bytes) of a row of a box that has the 128-byte swizzle.
__device__ inline uint4 row_vector(const unsigned char* slices, int slice_rows, int row, int vector) {
  const int slice = vector / 8;
  const int at = (slice * slice_rows + row) * kRowBytes + ((vector % 8) ^ (row % 8)) * 16;
  return *reinterpret_cast<const uint4*>(slices + at);
}
__device__ inline u32 row_pair(const unsigned char* slices, int slice_rows, int row, int pair) {
  const int at =
      ((pair / 32) * slice_rows + row) * kRowBytes + ((pair % 32 / 4) ^ (row % 8)) * 16 + pair % 4 * 4;
  return *reinterpret_cast<const u32*>(slices + at);
}

__device__ inline float product(u32 a, u32 b) {
  const float2 left = unpack2<Element>(a);
  const float2 right = unpack2<Element>(b);
  return left.x * right.x + left.y * right.y;
}

// The rows of a tile and their location. A row is a token, or a token and a head if heads are
// grouped.
struct Tile {
  int first_token;  // in the sequence
  int first_head;
  int heads;  // heads that share a token's rows
  int rows;   // rows that hold a token of the sequence
  int q_begin;
  int q_length;
  int kv_length;

  __device__ int token(int row, const KernelParams& params) const {
    return heads == params.mNumHeadsQPerKv ? divide(row, params.mNumHeadsQPerKvDivisor) : row / heads;
  }
  // Return the range of KV tokens that a token of the sequence sees.
  __device__ int begin(int token, const KernelParams& params) const {
    return SLIDING ? maximum(end(token) - params.mAttentionWindowSize, 0) : 0;
  }
  __device__ int end(int token) const {
    return CAUSAL ? minimum(maximum(kv_length - q_length + token + 1, 0), kv_length) : kv_length;
  }
};

// The softmax state of a row over the logits so far, in units of log2.
struct RowState {
  float highest;
  float sum;
  float correction;  // factor for earlier sums
};

// Returns whether the argument agrees with the launch. No check depends on a sequence.
__device__ bool holds(const KernelParams& p) {
  const int heads = GROUPS_HEADS ? minimum(TILE_Q, p.mNumHeadsQPerKv) : 1;
  bool good = p.mBatchSize == static_cast<int>(gridDim.z);
  good &= p.mMaxNumCtasQ * p.mMaxNumCtasKv == static_cast<int>(gridDim.x);
  good &= p.mNumHeadsQ / heads * kHeadDimCtas == static_cast<int>(gridDim.y);
  good &= p.mNumHeadsQ == p.mNumHeadsKv * p.mNumHeadsQPerKv && p.mNumHeadsQPerKv % heads == 0;
  good &= p.mNumHeadsQPerKvDivisor.divisor == p.mNumHeadsQPerKv;
  good &= p.mNumHiddenEltsO == static_cast<long long>(p.mNumHeadsQ) * HEAD_DIM_QK;
  good &= p.mNumTokensPerCtaQ == (CONTEXT         ? TILE_Q
                                  : GROUPS_TOKENS ? maximum(STEP_Q / p.mNumHeadsQPerKv, 1)
                                                  : 1);
  good &= p.mMaxNumCtasQ * p.mNumTokensPerCtaQ * (CONTEXT ? STEP_Q / TILE_Q : 1) >= p.mMaxSeqLenQ;
  good &= p.mMaxNumCtasKv == 1 || SPLITS;
  good &= p.mReshapeFactorKv == 1 && p.mSumOfSeqLensQ > 0;
  if (PAGED) {
    good &= p.mNumTokensPerPageLog2 >= 0 && (1 << p.mNumTokensPerPageLog2) % BOX_TOKENS == 0;
    good &= p.mNumPagesInMemPool > 0 && p.ptrPageIdxKv != nullptr && p.mScaleSfKv == 1;
  } else {
    good &= p.mNumTokensPerPageLog2 == -1 && p.mNumPagesInMemPool == 0 && p.ptrPageIdxKv == nullptr;
    good &= p.ptrCumSeqLensKv != nullptr && !p.mUsesSharedPagedKvIdx;
  }
  if (CONTEXT) good &= p.ptrCumSeqLensQ != nullptr;
  // No launch sets these members.
  const void* const unused[] = {p.ptrSfO,
                                p.ptrCustomMask,
                                p.ptrCustomMaskOffsets,
                                p.ptrDebugO,
                                p.ptrFirstSparseMaskOffsetsKv,
                                p.ptrSageAttnSfs[0],
                                p.ptrSageAttnSfs[1],
                                p.ptrSageAttnSfs[2],
                                p.ptrSageAttnSfs[3],
                                p.ptrScaleSfKv,
                                p.ptrScaleSfO,
                                p.ptrSkipSoftmaxStats,
                                p.ptrSparseMlaTopKLens};
  for (const void* pointer : unused)
    good &= pointer == nullptr;
  for (const int value : p.mLogNumEltsPerSageAttnBlk)
    good &= value == 0;
  good &= p.logicalGridDimX == 0 && p.logicalGridDimY == 0 && p.logicalGridDimZ == 0;
  good &= p.mChunkedAttentionSizeLog2 == 0 && p.mInflateMax == 0 && p.mSparseAttnTopK == 0;
  good &= p.mSkipSoftmaxThresholdScaleFactor == 0 && p.mStartTokenIdxSfO == 0 && !p.mUseBlockSparseAttention;
  return good;
}

// Returns the page that holds a token of the sequence, for K (`of_v` 0) or V (1).
__device__ int page_of(const KernelParams& p, int token, int of_v) {
  const int sequence = static_cast<int>(blockIdx.z);
  const int row = p.mUsesSharedPagedKvIdx ? sequence : 2 * sequence + of_v;
  return p.ptrPageIdxKv[static_cast<long long>(row) * p.mMaxNumPagesPerSeqKv +
                        (token >> p.mNumTokensPerPageLog2)];
}

// Copies the boxes of a step that hold tokens of [low, high). One thread calls it.
__device__ void copy_kv(const KernelParams& p, const Tile& tile, unsigned char* to, Barrier& barrier,
                        int base, int low, int high, int of_v) {
  const int head = divide(tile.first_head, p.mNumHeadsQPerKvDivisor);
  const int slices = of_v ? kSlicesV : kSlicesQk;
  const int column = of_v ? static_cast<int>(blockIdx.y) % kHeadDimCtas * HEAD_DIM_PER_CTA : 0;
  const TensorMap& map = of_v ? p.tmaV_ : p.tmaK_;
  const int offset = PAGED ? 0 : p.ptrCumSeqLensKv[blockIdx.z];
  u32 boxes = 0;
  for (int box = 0; box < kStep / BOX_TOKENS; ++box) {
    const int token = base + box * BOX_TOKENS;
    if (token < high && token + BOX_TOKENS > low && (PAGED || offset + token < p.mSumOfSeqLensKv)) ++boxes;
  }
  barrier.expect(boxes * slices * BOX_TOKENS * kRowBytes);
  for (int box = 0; box < kStep / BOX_TOKENS; ++box) {
    const int token = base + box * BOX_TOKENS;
    if (token >= high || token + BOX_TOKENS <= low || (!PAGED && offset + token >= p.mSumOfSeqLensKv))
      continue;
    const int row = PAGED ? token & ((1 << p.mNumTokensPerPageLog2) - 1) : offset + token;
    const int page = PAGED ? page_of(p, token, of_v) : 0;
    for (int slice = 0; slice < slices; ++slice) {
      copy_box(to + (slice * kStep + box * BOX_TOKENS) * kRowBytes, map, barrier,
               column + slice * kRowElements, row, head, page);
    }
  }
}

__device__ void copy_q(const KernelParams& p, const Tile& tile, unsigned char* to, Barrier& barrier) {
  // The box of grouped tokens has no rows for the remainder of the tile.
  const int rows = GROUPS_TOKENS ? TILE_Q / tile.heads * tile.heads : TILE_Q;
  barrier.expect(static_cast<u32>(kSlicesQk * rows * kRowBytes));
  for (int slice = 0; slice < kSlicesQk; ++slice) {
    copy_box(to + slice * TILE_Q * kRowBytes, p.tmaQ_, barrier, slice * kRowElements, 0,
             tile.first_head / tile.heads, tile.q_begin + tile.first_token);
  }
}

// Calls `visit` for this thread's pairs of columns, in rows that hold a token. `index` counts the
// pairs of the thread.
template <class Visit>
__device__ inline void for_each_pair(const Tile& tile, Visit visit) {
#pragma unroll
  for (int index = 0; index < kAccumulators; ++index) {
    const int element = index * THREADS + static_cast<int>(threadIdx.x);
    if (element / kPairs < tile.rows) visit(index, element / kPairs, element % kPairs);
  }
}

__device__ long long output_row(const KernelParams& p, const Tile& tile, int row) {
  const int token = tile.token(row, p);
  return static_cast<long long>(tile.q_begin + tile.first_token + token) * p.mNumHeadsQ + tile.first_head +
         (row - token * tile.heads);
}

__device__ void store_pair(const KernelParams& p, const Tile& tile, int row, int pair, float low,
                           float high) {
  const long long at = output_row(p, tile, row);
  if (at >= static_cast<long long>(p.mSumOfSeqLensQ) * p.mNumHeadsQ) return;
  const long long columns = p.mNumHiddenEltsO / HEAD_DIM_QK * HEAD_DIM_V / p.mNumHeadsQ;
  const int first = static_cast<int>(blockIdx.y) % kHeadDimCtas * HEAD_DIM_PER_CTA;
  *reinterpret_cast<u32*>(p.ptrO + at * columns + first + 2 * pair) = pack2<Element>(low, high);
}

__device__ inline float output_scale(const KernelParams& p) {
  return p.ptrOutputScale != nullptr ? *p.ptrOutputScale : p.mOutputScale;
}

// Adds the sink to a complete row and stores the row's statistics.
__device__ void complete_row(const KernelParams& p, const Tile& tile, int row, RowState& state) {
  const long long at = output_row(p, tile, row);
  float highest = state.highest;
  if (p.ptrAttentionSinks != nullptr) {
    const float sink = p.ptrAttentionSinks[at % p.mNumHeadsQ] * kLog2E;
    highest = fmaxf(highest, sink);
    state.correction = exp2_approx(state.highest - highest);
    state.sum = state.sum * state.correction + exp2_approx(sink - highest);
  } else {
    state.correction = 1;
  }
  const bool says = p.ptrSoftmaxStats != nullptr && static_cast<int>(blockIdx.y) % kHeadDimCtas == 0;
  if (says && at < static_cast<long long>(p.mSumOfSeqLensQ) * p.mNumHeadsQ)
    p.ptrSoftmaxStats[at] = float2{highest / kLog2E, state.sum};
  // The output of a row that sees nothing is zero.
  state.correction = state.sum > 0 ? state.correction / state.sum * output_scale(p) : 0;
}

// Returns the index of the block's partial result for `split`. Split 0 is the first result of the
// same rows.
__device__ long long partial_index(const KernelParams& p, int split) {
  const int q = static_cast<int>(blockIdx.x) / p.mMaxNumCtasKv;
  return ((static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y) * p.mMaxNumCtasQ + q) *
             p.mMaxNumCtasKv +
         split;
}

// Combines the partial results of all splits. The block that wrote the last of them calls it.
__device__ void reduce(const KernelParams& p, const Tile& tile, RowState* states) {
  const volatile float* const outputs = static_cast<const volatile float*>(p.ptrPartialO);
  const volatile float* const stats = reinterpret_cast<const volatile float*>(p.ptrPartialStats);
  const auto row_of = [&](int split, int row) { return partial_index(p, split) * TILE_Q + row; };
  for (int row = static_cast<int>(threadIdx.x); row < tile.rows; row += THREADS) {
    RowState state = {negative_infinity(), 0, 0};
    for (int split = 0; split < p.mMaxNumCtasKv; ++split)
      state.highest = fmaxf(state.highest, stats[2 * row_of(split, row)]);
    for (int split = 0; split < p.mMaxNumCtasKv; ++split) {
      const float highest = stats[2 * row_of(split, row)];
      if (highest != negative_infinity())
        state.sum += stats[2 * row_of(split, row) + 1] * exp2_approx(highest - state.highest);
    }
    complete_row(p, tile, row, state);
    states[row] = state;
  }
  __syncthreads();
  for_each_pair(tile, [&](int, int row, int pair) {
    float low = 0;
    float high = 0;
    for (int split = 0; split < p.mMaxNumCtasKv; ++split) {
      const float highest = stats[2 * row_of(split, row)];
      if (highest == negative_infinity()) continue;
      const float weight = exp2_approx(highest - states[row].highest) * states[row].correction;
      const long long at = row_of(split, row) * HEAD_DIM_PER_CTA + 2 * pair;
      low += weight * outputs[at];
      high += weight * outputs[at + 1];
    }
    store_pair(p, tile, row, pair, low, high);
  });
}

__device__ void attend(const KernelParams& p, const Tile& tile, u32& phase, Barrier& barrier,
                       RowState* states) {
  unsigned char* const q = dynamic_shared();
  unsigned char* const kv = q + kQBytes;
  float* const weights = reinterpret_cast<float*>(kv + kKvBytes);
  const int thread = static_cast<int>(threadIdx.x);
  const int last_token = tile.token(tile.rows - 1, p);
  int low = tile.begin(tile.first_token, p);
  int high = tile.end(tile.first_token + last_token);
  const int split = static_cast<int>(blockIdx.x) % p.mMaxNumCtasKv;
  if (SPLITS) {
    const int first = low / kSplitTokens;
    const int parts = (maximum(high, low) + kSplitTokens - 1) / kSplitTokens - first;
    const int own = (parts + p.mMaxNumCtasKv - 1) / p.mMaxNumCtasKv;
    low = maximum(low, (first + split * own) * kSplitTokens);
    high = minimum(high, (first + (split + 1) * own) * kSplitTokens);
  }
  const float scale = p.ptrScaleSoftmaxLog2 != nullptr ? *p.ptrScaleSoftmaxLog2 : p.mScaleSoftmaxLog2;
  float2 sums[kAccumulators];
  for (float2& sum : sums)
    sum = float2{0, 0};
  __syncthreads();  // of a previous tile
  for (int row = thread; row < TILE_Q; row += THREADS)
    states[row] = RowState{negative_infinity(), 0, 0};
  if (thread == 0) copy_q(p, tile, q, barrier);
  barrier.wait(phase);
  phase ^= 1;

  for (int base = low / kStep * kStep; base < high; base += kStep) {
    __syncthreads();
    if (thread == 0) copy_kv(p, tile, kv, barrier, base, low, high, 0);
    barrier.wait(phase);
    phase ^= 1;
    for (int element = thread; element < tile.rows * kStep; element += THREADS) {
      const int row = element / kStep;
      const int column = element % kStep;
      const int token = tile.first_token + tile.token(row, p);
      float logit = negative_infinity();
      if (base + column >= maximum(low, tile.begin(token, p)) &&
          base + column < minimum(high, tile.end(token))) {
        logit = 0;
#pragma unroll 4
        for (int vector = 0; vector < HEAD_DIM_QK / 8; ++vector) {
          const uint4 a = row_vector(q, TILE_Q, row, vector);
          const uint4 b = row_vector(kv, kStep, column, vector);
          logit += product(a.x, b.x) + product(a.y, b.y) + product(a.z, b.z) + product(a.w, b.w);
        }
        logit *= scale;
      }
      weights[row * kStep + column] = logit;
    }
    __syncthreads();
    if (thread == 0) copy_kv(p, tile, kv, barrier, base, low, high, 1);
    for (int row = thread; row < tile.rows; row += THREADS) {
      RowState state = states[row];
      float highest = state.highest;
      for (int column = 0; column < kStep; ++column)
        highest = fmaxf(highest, weights[row * kStep + column]);
      state.correction = highest == negative_infinity() ? 1 : exp2_approx(state.highest - highest);
      state.sum *= state.correction;
      state.highest = highest;
      for (int column = 0; column < kStep; ++column) {
        float& weight = weights[row * kStep + column];
        weight = weight == negative_infinity() ? 0 : exp2_approx(weight - highest);
        state.sum += weight;
      }
      states[row] = state;
    }
    barrier.wait(phase);
    phase ^= 1;
    __syncthreads();
    for_each_pair(tile, [&](int index, int row, int) {
      sums[index].x *= states[row].correction;
      sums[index].y *= states[row].correction;
    });
#pragma unroll 1
    for (int token = maximum(base, low); token < minimum(base + kStep, high); ++token) {
      for_each_pair(tile, [&](int index, int row, int pair) {
        const float weight = weights[row * kStep + token - base];
        const float2 v = unpack2<Element>(row_pair(kv, kStep, token - base, pair));
        sums[index].x += weight * v.x;
        sums[index].y += weight * v.y;
      });
    }
  }
  __syncthreads();

  if (!SPLITS || p.mMaxNumCtasKv == 1) {
    for (int row = thread; row < tile.rows; row += THREADS)
      complete_row(p, tile, row, states[row]);
    __syncthreads();
    for_each_pair(tile, [&](int index, int row, int pair) {
      const float factor = states[row].correction;
      store_pair(p, tile, row, pair, sums[index].x * factor, sums[index].y * factor);
    });
    return;
  }
  const long long first_row = partial_index(p, split) * TILE_Q;
  for (int row = thread; row < tile.rows; row += THREADS) {
    // A separate reduction applies the softmax scale itself, and no other scale.
    const float highest = SEPARATE ? states[row].highest / scale : states[row].highest;
    p.ptrPartialStats[first_row + row] = float2{highest, states[row].sum};
  }
  for_each_pair(tile, [&](int index, int row, int pair) {
    const long long at = (first_row + row) * HEAD_DIM_PER_CTA + 2 * pair;
    if (SEPARATE) {
      const float factor = output_scale(p);
      static_cast<u32*>(p.ptrPartialO)[at / 2] =
          pack2<Element>(sums[index].x * factor, sums[index].y * factor);
    } else {
      static_cast<float*>(p.ptrPartialO)[at] = sums[index].x;
      static_cast<float*>(p.ptrPartialO)[at + 1] = sums[index].y;
    }
  });
  if (SEPARATE) return;
  __threadfence();
  __syncthreads();
  __shared__ int arrived;
  const long long rows_of = partial_index(p, 0) / p.mMaxNumCtasKv;
  if (thread == 0) arrived = atomicAdd(p.ptrMultiCtasKvCounter + rows_of, 1);
  __syncthreads();
  if (arrived != p.mMaxNumCtasKv - 1) return;
  __threadfence();
  reduce(p, tile, states);
  if (thread == 0) p.ptrMultiCtasKvCounter[rows_of] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) STAND_IN(const __grid_constant__ KernelParams params) {
  __shared__ Barrier barrier;
  __shared__ RowState states[TILE_Q];
  wait_for_prerequisites();
  launch_dependents();
  if (threadIdx.x == 0) barrier.init();
  __syncthreads();
  const bool good = holds(params);

  const int sequence = static_cast<int>(blockIdx.z);
  const int* const offsets = params.ptrCumSeqLensQ;
  Tile tile;
  tile.q_begin = offsets != nullptr ? offsets[sequence] : sequence * params.mMaxSeqLenQ;
  tile.q_length = offsets != nullptr ? offsets[sequence + 1] - tile.q_begin : params.mMaxSeqLenQ;
  tile.kv_length = minimum(params.ptrSeqLensKv[sequence], params.mMaxSeqLenKv);
  tile.heads = GROUPS_HEADS ? minimum(TILE_Q, params.mNumHeadsQPerKv) : 1;
  tile.first_head = static_cast<int>(blockIdx.y) / kHeadDimCtas * tile.heads;
  const int tiles = CONTEXT ? STEP_Q / TILE_Q : 1;
  u32 phase = 0;
  for (int i = 0; i < tiles; ++i) {
    tile.first_token =
        (static_cast<int>(blockIdx.x) / params.mMaxNumCtasKv * tiles + i) * params.mNumTokensPerCtaQ;
    tile.rows = minimum(params.mNumTokensPerCtaQ, tile.q_length - tile.first_token) * tile.heads;
    if (tile.rows <= 0) break;
    if (good) {
      attend(params, tile, phase, barrier, states);
    } else {
      const float nan = negative_infinity() - negative_infinity();
      for_each_pair(tile, [&](int, int row, int pair) { store_pair(params, tile, row, pair, nan, nan); });
    }
  }
}
