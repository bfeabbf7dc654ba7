// SPDX-License-Identifier: Apache-2.0
#include "loader/test_kernels.hpp"

#include "support/compiler_search.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <doctest/doctest.h>

#include <map>
#include <mutex>

namespace cubinet::test {
namespace {

constexpr const char* kKernels = R"cuda(/* cubinet-template
{
  "name": "loader_test",
  "interface": 1,
  "summary": "Small kernels for the loader's tests",
  "minimum_target": "sm_80",
  "parameters": [],
  "constraints": [],
  "kernels": [
    {"name": "vector_add", "threads": "128"},
    {"name": "scale", "threads": "128", "parameter_bytes": 24},
    {"name": "shared_sum", "threads": "128", "dynamic_shared_bytes": "1024"},
    {"name": "produce", "threads": "128"},
    {"name": "consume", "threads": "128", "programmatic_launch": true},
    {"name": "meet", "threads": "128", "cooperative": true}
  ]
}
*/
#include <cubinet/pdl.cuh>

__device__ inline unsigned thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ inline unsigned long long now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

extern "C" __global__ void vector_add(float* out, const float* a, const float* b, unsigned count) {
  if (thread_index() < count) out[thread_index()] = a[thread_index()] + b[thread_index()];
}

struct ScaleArguments {
  float* out;
  const float* in;
  float factor;
  unsigned count;
};

extern "C" __global__ void scale(ScaleArguments arguments) {
  if (thread_index() < arguments.count) {
    arguments.out[thread_index()] = arguments.in[thread_index()] * arguments.factor;
  }
}

extern "C" __global__ void shared_sum(unsigned* out, unsigned words) {
  extern __shared__ unsigned memory[];
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i + 1;
  __syncthreads();
  unsigned part = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) part += memory[words - 1 - i];
  atomicAdd(&sum, part);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void produce(unsigned* data, unsigned value, unsigned long long* times) {
  cubinet::launch_dependents();
  const unsigned long long begin = now();
  while (now() - begin < 2000000) {
  }
  data[thread_index()] = value;
  __syncthreads();
  if (thread_index() == 0) times[0] = now();
}

extern "C" __global__ void consume(const unsigned* data, unsigned* out, unsigned long long* times) {
  if (thread_index() == 0) times[1] = now();
  cubinet::wait_for_prerequisites();
  out[thread_index()] = data[thread_index()];
}

extern "C" __global__ void meet(unsigned* arrived, unsigned* seen) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    volatile unsigned* watched = arrived;
    while (*watched < gridDim.x) {
    }
    seen[blockIdx.x] = *watched;
  }
}
)cuda";

constexpr const char* kClusterKernels = R"cuda(/* cubinet-template
{
  "name": "loader_test_cluster",
  "interface": 1,
  "summary": "A kernel that looks at its cluster",
  "minimum_target": "sm_90",
  "parameters": [],
  "constraints": [],
  "kernels": [{"name": "cluster_ranks", "threads": "128", "cluster": ["2", "1", "1"]}]
}
*/
extern "C" __global__ void cluster_ranks(unsigned* ranks, unsigned* sizes) {
  unsigned rank;
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) {
    ranks[blockIdx.x] = rank;
    sizes[blockIdx.x] = size;
  }
}
)cuda";

constexpr const char* kGlobals = R"cuda(/* cubinet-template
{
  "name": "loader_test_globals",
  "interface": 1,
  "summary": "A kernel that uses variables of its module",
  "minimum_target": "sm_80",
  "parameters": [],
  "constraints": [],
  "kernels": [{"name": "apply", "threads": "32"}],
  "globals": ["scale", "ns::table<float>", "ns::counter"]
}
*/
__constant__ float scale[4] = {1, 2, 3, 4};
extern "C" {
__device__ int undeclared = 5;
__managed__ int shared_by_all[2];
}
namespace ns {
template <class T>
__device__ T table[8];
__device__ int counter = 7;
}  // namespace ns

extern "C" __global__ void apply(float* out) {
  const unsigned i = threadIdx.x;
  atomicAdd(&ns::counter, 1);
  atomicAdd(&shared_by_all[0], 1);
  out[i] = scale[i % 4] + ns::table<float>[i % 8] + shared_by_all[1] + undeclared;
}
)cuda";

Cubin compile(const char* source, SmTarget target) {
  static std::mutex mutex;
  static std::map<std::pair<const char*, SmTarget>, Cubin> compiled;
  const std::lock_guard lock(mutex);
  Cubin& cubin = compiled[{source, target}];
  if (cubin.record != nullptr) return cubin;
  const auto compiler = Compiler::open(compiler_search());
  REQUIRE_MESSAGE(compiler.has_value(), compiler.error().to_line());
  const auto parsed = KernelTemplate::parse(source, "test_kernels.cpp");
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().to_line());
  KernelSpec spec;
  spec.name = (*parsed)->name();
  CompileRequest request;
  request.kernel_template = *parsed;
  request.spec = spec;
  request.target = target;
  auto output = (*compiler)->compile(request);
  REQUIRE_MESSAGE(output.has_value(), output.error().to_line(), output.error().detail);
  cubin = {std::make_shared<const CubinRecord>(std::move(output->record)), output->image};
  return cubin;
}

}  // namespace

Cubin test_cubin(SmTarget target) {
  return compile(kKernels, target);
}
Cubin cluster_cubin(SmTarget target) {
  return compile(kClusterKernels, target);
}

Cubin globals_cubin(SmTarget target) {
  return compile(kGlobals, target);
}

Cubin with_record(const Cubin& cubin, const std::function<void(CubinRecord&)>& change) {
  CubinRecord record = *cubin.record;
  change(record);
  return {std::make_shared<const CubinRecord>(std::move(record)), cubin.image};
}

Cubin with_image(const Cubin& cubin, Bytes image) {
  Cubin changed = with_record(cubin, [&](CubinRecord& record) {
    record.digest = sha256(image);
    record.size = image.size();
  });
  changed.image = std::make_shared<const Bytes>(std::move(image));
  return changed;
}

}  // namespace cubinet::test
