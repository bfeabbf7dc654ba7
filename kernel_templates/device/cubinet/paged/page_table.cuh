// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page table, strides and token ranges of a paged KV cache.
#include <cubinet/memory.cuh>

namespace cubinet::paged {

struct PageTable {
  GlobalAddress entries;   // [logical pages of the sequence], int32: physical pages
  long long v_offset = 0;  // bytes from an entry of K to that of V; used with separate page tables
};

// Returns the physical page of a token, or 0 if `valid` is false. `entries` is the page table of
// the sequence.
template <int kPageSize>
__device__ inline int page_of_token(GlobalAddress entries, int token, bool valid) {
  return valid ? load_global_constant_int(entries + 4ull * static_cast<unsigned>(token / kPageSize)) : 0;
}

// Strides of K or V, in elements.
struct PageStrides {
  long long page;
  long long token;
  long long head;
};

// A range of tokens. If `kHasBegin` is false, callers query no token before `begin`, so `begin` is
// not compared.
template <bool kHasBegin>
struct TokenRange {
  int begin;
  int end;

  __device__ bool holds(int token) const { return token < end && (!kHasBegin || token >= begin); }
  // Returns whether the range contains `kCount` tokens from `first` on.
  template <int kCount>
  __device__ bool holds_all(int first) const {
    return first + kCount <= end && (!kHasBegin || first >= begin);
  }
};

}  // namespace cubinet::paged
