// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_append",
  "interface": 2,
  "summary": "Writes K and V of new tokens into a paged KV cache, and their Q, rotated (RoPE) and quantised",
  "minimum_target": "sm_80",
  "parameters": [
    {"name": "dtype", "type": "dtype", "values": ["bf16", "fp16"], "default": "bf16",
     "summary": "element type of the new rows"},
    {"name": "dtype_q", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default_expression": "dtype",
     "summary": "element type of the written Q: dtype, or e4m3"},
    {"name": "dtype_kv", "type": "dtype", "values": ["bf16", "fp16", "e4m3"], "default_expression": "dtype",
     "summary": "element type of the cache: dtype, or e4m3"},
    {"name": "rope", "type": "choice", "values": ["none", "halves", "interleaved"], "default": "halves",
     "summary": "the column that is rotated with column i of Q and K; halves: i + rope_dim / 2; interleaved: the adjacent one; none: no rotation"}
  ],
  "constraints": [
    {"require": "(dtype_q == dtype || dtype_q == 'e4m3') && (dtype_kv == dtype || dtype_kv == 'e4m3')",
     "message": "dtype_q and dtype_kv must be dtype or e4m3: rows are kept or quantised"}
  ],
  "kernels": [
    {"name": "attention_append",
     "threads": "128",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 376,
     "argument": "cubinet::kernel_templates::AttentionAppendParameters",
     "argument_header": "cubinet/kernel_templates/attention_append_parameters.h",
     "grid": "(q_len, ceil((2 * heads_kv + heads_q) * row_threads / 128), batch)",
     "programmatic_launch": true}
  ]
}
*/
// Grid: (q_len, CTAs of 128 threads for the rows of a token, batch). The rows of a token are its
// heads of K, V and Q. Each thread handles 16 elements of one row: two vectors of 8 elements that
// are rotated with each other, or two adjacent vectors. Threads share nothing.
//
// The last q_len tokens of a sequence are the new ones. The kernel writes only their rows. It calls
// launch_dependents() after its stores: if the CTAs of the next kernel started earlier, they would
// share the SMs unevenly with this kernel's CTAs, which costs attention more time than the early
// start saves.
#include <cubinet/attention/head_scales.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/elements.cuh>
#include <cubinet/kernel_templates/attention_append_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet {
namespace {

using namespace parameters;
using kernel_templates::AttentionAppendParameters;

constexpr int kThreads = 128;
constexpr int kVector = 8;  // elements of one vector of a thread
constexpr bool kRotates = rope != rope_values::none;

static_assert(attention_append_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_append_shared_bytes == 0, "the kernel uses no shared memory");

// A new token of a sequence.
struct NewToken {
  int row;    // index in the tensors of new rows
  int place;  // position in the sequence; negative if it has no such token
  long long sequence;
  bool exists;

  __device__ NewToken(const AttentionAppendParameters& p, int token, int batch) : sequence(batch) {
    const auto entry = 4ull * static_cast<unsigned>(batch);
    int count = p.q_len;
    row = batch * p.q_len + token;
    if (p.q_offsets != 0) {
      const int first = load_global_constant_int(p.q_offsets + entry);
      count = minimum(load_global_constant_int(p.q_offsets + entry + 4) - first, p.q_len);
      row = first + token;
    }
    exists = token < count;
    // A length is not clamped here: a token behind the page table must not overwrite another one.
    const long long given = load_global_constant_int(p.kv_lengths + entry);
    const long long position = given - (p.lengths_exclude_new != 0 ? 0 : count) + token;
    place = position >= 0 && position < p.max_kv_length ? static_cast<int>(position) : -1;
  }
};

// Returns the index of a row's first element in a tensor of new rows or in Q.
__device__ inline long long row_offset(const AttentionAppendParameters& p, const NewToken& token, int head,
                                       long long batch_stride, long long token_stride,
                                       long long head_stride) {
  const long long first = p.q_offsets != 0
                              ? token.row * token_stride
                              : token.sequence * batch_stride + static_cast<int>(blockIdx.x) * token_stride;
  return first + head * head_stride;
}

// A row to copy: its source, its target and its storage format.
struct Row {
  GlobalAddress source = 0;
  GlobalAddress target = 0;  // 0 if the row is not stored
  float scale = 1.0f;
  int columns = 0;
  bool rotated = false;
};

__device__ inline float scale_of(GlobalAddress address, float number) {
  return address != 0 ? load_global_float(address) : number;
}

// Returns the address of a token's row in a pool, or 0 if the token has no row. `table` is the
// index of the first entry of the pool's page table.
__device__ inline GlobalAddress cache_row(const AttentionAppendParameters& p, const NewToken& token, int head,
                                          GlobalAddress pool, long long table, long long page_stride,
                                          long long token_stride, long long head_stride) {
  if (token.place < 0) return 0;
  const long long entry = token.sequence * p.page_table_stride + table + (token.place >> p.page_shift);
  const int page = load_global_constant_int(p.page_table + 4 * entry);
  if (page < 0) return 0;
  const int in_page = token.place & ((1 << p.page_shift) - 1);
  return pool + sizeof(dtype_kv) * (page * page_stride + in_page * token_stride + head * head_stride);
}

__device__ inline Row row_of(const AttentionAppendParameters& p, const NewToken& token, int number) {
  Row row;
  const int batch = static_cast<int>(token.sequence);
  if (number < p.heads_kv) {
    row.source = p.new_k + sizeof(dtype) * row_offset(p, token, number, p.new_k_batch_stride,
                                                      p.new_k_token_stride, p.new_k_head_stride);
    row.target = cache_row(p, token, number, p.k, 0, p.k_page_stride, p.k_token_stride, p.k_head_stride);
    if constexpr (!is_same<dtype_kv, dtype>)
      row.scale = scale_of(p.k_scale_address, p.k_scale) * attention::k_scale<true>(p, batch, number);
    row.columns = p.k_columns;
    row.rotated = kRotates;
  } else if (number < 2 * p.heads_kv) {
    const int head = number - p.heads_kv;
    row.source = p.new_v + sizeof(dtype) * row_offset(p, token, head, p.new_v_batch_stride,
                                                      p.new_v_token_stride, p.new_v_head_stride);
    row.target =
        cache_row(p, token, head, p.v, p.v_table_offset, p.v_page_stride, p.v_token_stride, p.v_head_stride);
    if constexpr (!is_same<dtype_kv, dtype>)
      row.scale = scale_of(p.v_scale_address, p.v_scale) * attention::v_scale<true>(p, batch, head);
    row.columns = p.v_columns;
  } else {
    const int head = number - 2 * p.heads_kv;
    row.source = p.new_q + sizeof(dtype) * row_offset(p, token, head, p.new_q_batch_stride,
                                                      p.new_q_token_stride, p.new_q_head_stride);
    row.target = p.q + sizeof(dtype_q) *
                           row_offset(p, token, head, p.q_batch_stride, p.q_token_stride, p.q_head_stride);
    if constexpr (!is_same<dtype_q, dtype>) row.scale = scale_of(p.q_scale_address, p.q_scale);
    row.columns = p.k_columns;
    row.rotated = kRotates;
  }
  return row;
}

__device__ inline void load_floats(GlobalAddress address, float (&values)[kVector]) {
  Vector16<fp32>::unpack(load_global_16(address), values);
  Vector16<fp32>::unpack(load_global_16(address + 16), values + 4);
}

// Rotates the pair (x, y) by an angle. Each element is rounded twice: the product with y first.
__device__ inline void turn(float& x, float& y, float cosine, float sine) {
  const float turned = fmaf(x, cosine, -__fmul_rn(y, sine));
  y = fmaf(x, sine, __fmul_rn(y, cosine));
  x = turned;
}

template <typename Stored>
__device__ inline void store(GlobalAddress address, float (&values)[kVector], float scale) {
  if constexpr (is_same<Stored, e4m3>) {
#pragma unroll
    for (float& value : values)
      value = __fdiv_rn(value, scale);
  }
  store_elements<Stored>(address, values);
}

// Loads, rotates and stores two vectors of 8 columns each. `part` numbers the groups of 16 columns
// of the row; the first rope_dim / 16 groups are rotated.
template <typename Stored>
__device__ inline void move(const AttentionAppendParameters& p, const Row& row, const NewToken& token,
                            int part) {
  const bool turns = row.rotated && part < p.rope_dim / 16;
  const bool apart = turns && rope == rope_values::halves;
  const int first = apart ? part * kVector : part * (2 * kVector);
  const int second = apart ? first + p.rope_dim / 2 : first + kVector;
  const uint4 bits[2] = {load_global_16(row.source + sizeof(dtype) * first),
                         load_global_16(row.source + sizeof(dtype) * second)};
  const GlobalAddress targets[2] = {row.target + sizeof(Stored) * first,
                                    row.target + sizeof(Stored) * second};
  if constexpr (is_same<Stored, dtype>) {
    // Copies the bits unchanged, including those of NaN.
    if (!turns) {
      store_global_16(targets[0], bits[0]);
      store_global_16(targets[1], bits[1]);
      return;
    }
  }
  float x[kVector];
  float y[kVector];
  Vector16<dtype>::unpack(bits[0], x);
  Vector16<dtype>::unpack(bits[1], y);
  if (turns) {
    const int place = maximum(token.place, 0);
    const int position = p.positions != 0 ? load_global_constant_int(p.positions + 4ll * token.row) : place;
    const GlobalAddress angles = p.cos_sin +
                                 4ll * minimum(maximum(position, 0), p.table_positions - 1) * p.rope_dim +
                                 4 * kVector * part;
    float cosines[kVector];
    float sines[kVector];
    load_floats(angles, cosines);
    load_floats(angles + 2 * p.rope_dim, sines);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if constexpr (rope == rope_values::interleaved) {
        float* const pair = i < kVector / 2 ? x + 2 * i : y + 2 * (i - kVector / 2);
        turn(pair[0], pair[1], cosines[i], sines[i]);
      } else {
        turn(x[i], y[i], cosines[i], sines[i]);
      }
    }
  }
  store<Stored>(targets[0], x, row.scale);
  store<Stored>(targets[1], y, row.scale);
}

}  // namespace
}  // namespace cubinet

extern "C" __global__ void __launch_bounds__(cubinet::kThreads)
    attention_append(const __grid_constant__ cubinet::kernel_templates::AttentionAppendParameters p) {
  using namespace cubinet;
  const int thread = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  const int number = p.row_threads.quotient(thread);
  const int part = thread - number * p.row_threads.divisor;
  wait_for_prerequisites();
  if (number >= 2 * p.heads_kv + p.heads_q) return;
  const NewToken token(p, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.z));
  if (!token.exists) return;
  const Row row = row_of(p, token, number);
  if (row.target == 0 || part * 2 * kVector >= row.columns) return;
  if (number < 2 * p.heads_kv) {
    move<dtype_kv>(p, row, token, part);
  } else {
    move<dtype_q>(p, row, token, part);
  }
  launch_dependents();
}
