// SPDX-License-Identifier: Apache-2.0
#pragma once
// The length of a sequence of a batch.
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>

namespace cubinet::paged {

// Returns the KV tokens of a sequence, at most `longest`. `entry` is the address of its length, and
// `new_tokens` is the number of tokens that the length does not include. A length below
// -new_tokens counts as no tokens, so that a caller can pad a batch with it.
__device__ inline int sequence_length(GlobalAddress entry, int new_tokens, int longest) {
  const int length = minimum(load_global_constant_int(entry), longest) + new_tokens;
  return minimum(maximum(length, 0), longest);
}

}  // namespace cubinet::paged
