// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{
  "name": "attention_lse",
  "interface": 1,
  "summary": "The natural log-sum-exp of attention's rows, from the largest logit and the sum of each",
  "minimum_target": "sm_80",
  "parameters": [],
  "kernels": [
    {"name": "attention_lse",
     "threads": "256",
     "dynamic_shared_bytes": "0",
     "parameter_bytes": 24,
     "argument": "cubinet::kernel_templates::AttentionLseParameters",
     "argument_header": "cubinet/kernel_templates/attention_lse_parameters.h",
     "grid": "ceil(rows / 512)",
     "programmatic_launch": true}
  ]
}
*/
// Grid: ceil(rows / 512) CTAs of 256 threads, which share nothing. A thread loads the statistics of
// two rows with one load. It stores the two results separately, because the caller's tensor may
// start at any float.
#include <cubinet/kernel_templates/attention_lse_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/pdl.cuh>

namespace cubinet {
namespace {

using kernel_templates::AttentionLseParameters;

constexpr int kThreads = 256;
static_assert(parameters::attention_lse_threads == kThreads, "the host's formula of the block size differs");
static_assert(parameters::attention_lse_shared_bytes == 0, "the kernel uses no shared memory");

// Returns the natural log-sum-exp, or -infinity if the sum is 0, whatever the maximum is.
__device__ inline float log_sum_exp(unsigned maximum, unsigned sum) {
  return fmaf(log2_approx(__uint_as_float(sum)), kLn2, __uint_as_float(maximum));
}

}  // namespace
}  // namespace cubinet

extern "C" __global__ void __launch_bounds__(cubinet::kThreads)
    attention_lse(const __grid_constant__ cubinet::kernel_templates::AttentionLseParameters p) {
  using namespace cubinet;
  wait_for_prerequisites();
  launch_dependents();
  const long long row = 2 * (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x);
  if (row + 1 < p.rows) {
    const uint4 stats = load_global_16(p.softmax_stats + row * 8);
    store_global_float(p.lse + row * 4, log_sum_exp(stats.x, stats.y));
    store_global_float(p.lse + row * 4 + 4, log_sum_exp(stats.z, stats.w));
  } else if (row < p.rows) {
    const uint2 stats = load_global_8(p.softmax_stats + row * 8);
    store_global_float(p.lse + row * 4, log_sum_exp(stats.x, stats.y));
  }
}
