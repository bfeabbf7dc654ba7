// SPDX-License-Identifier: Apache-2.0
// Compares attention over caches of more than 2^31 elements with float64. Needs a GPU with 11 GB of
// free memory, and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

constexpr std::int64_t kElements = std::int64_t{5} << 29;  // between the first of a pool and its last

// Returns the parts of a pool, pages or sequences, `stride` elements apart.
Result<DeviceBuffer> apart(const Gpu& gpu, const ElementBits& elements, DataType type, std::int64_t parts,
                           std::int64_t stride) {
  const Bytes packed = packed_elements(elements, type);
  const std::size_t part = packed.size() / static_cast<std::size_t>(parts);
  const auto distance = static_cast<std::size_t>(stride * bits_of(type) / 8);
  CUBINET_TRY_ASSIGN(
      DeviceBuffer pool,
      DeviceBuffer::allocate(gpu.device, static_cast<std::size_t>(parts - 1) * distance + part));
  for (std::size_t i = 0; i < static_cast<std::size_t>(parts); ++i)
    CUBINET_TRY(pool.copy_from(ByteView(packed.data() + i * part, part), i * distance));
  return pool;
}

// Checks one kernel of each family that runs a problem of one KV head. The last pages or sequences
// begin beyond 2^31 elements.
void check_large_cache(const Gpu& gpu, const AttentionProblem& problem) {
  AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), 11));
  const std::int64_t parts =
      problem.layout == QkvLayout::paged_kv ? inputs.pages : std::int64_t{problem.batch};
  const std::int64_t stride = kElements / (parts - 1) / 1024 * 1024;
  std::vector<DeviceBuffer> pools;  // of K and V, or the one of latent attention
  for (const ElementBits* elements : {&inputs.k, &inputs.v}) {
    if (elements->empty()) continue;
    auto pool = apart(gpu, *elements, problem.data_type_k, parts, stride);
    if (!pool) {
      test::skip("the device has no 11 GB of free memory");
      return;
    }
    pools.push_back(*std::move(pool));
  }
  const AttentionOutputs reference = ok(attention_reference(problem, inputs));
  std::set<std::string> families;
  for (const KernelSpec& kernel : kernels_of(gpu, problem)) {
    if (!families.insert(kernel.name).second) continue;
    CAPTURE(kernel.to_string());
    const BoundAttention attention = bind(gpu, problem, 0, true, kernel);
    const TensorBuffers buffers = upload(gpu, attention, inputs);
    AttentionTensors tensors = buffers.tensors();
    const auto tensor = [&](const DeviceBuffer& pool, std::uint32_t columns) {
      return DeviceTensor(pool.address(), pool.size(), {stride, columns, columns});
    };
    tensors.k = tensor(pools.front(), problem.head_dim_qk);
    tensors.v = pools.size() == 1 ? tensors.k : tensor(pools.back(), problem.head_dim_v);
    const Stream stream = ok(Stream::create(gpu.device));
    ok(attention.run(tensors, stream.handle()));
    ok(stream.synchronize());
    compare(problem, reference, ok(buffers.output()), ok(buffers.lse()));
  }
}

AttentionProblem one_kv_head(std::uint32_t head_dim) {
  AttentionProblem problem;
  problem.batch = 3;
  problem.heads_q = 4;
  problem.heads_kv = 1;
  problem.kv_len = 500;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  problem.lse = true;
  return problem;
}

TEST_CASE("A cache of more than two to the power of thirty one elements is read by prefill") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = one_kv_head(128);
  problem.prefill = true;
  problem.q_len = 100;
  check_large_cache(*gpu, problem);
  problem.layout = QkvLayout::contiguous_kv;
  check_large_cache(*gpu, problem);
}

TEST_CASE("A cache of more than two to the power of thirty one elements is read by decode") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t q_len : {1U, 10U}) {  // few rows, and more than 32
      AttentionProblem problem = one_kv_head(128);
      problem.q_len = q_len;
      problem.data_type_k = problem.data_type_v = type;
      check_large_cache(*gpu, problem);
    }
    AttentionProblem latent = one_kv_head(576);
    latent.head_dim_v = 512;
    latent.heads_q = 16;
    latent.data_type_q = latent.data_type_k = latent.data_type_v = type;
    check_large_cache(*gpu, latent);
  }
}

TEST_CASE("New rows are appended to a cache of more than two to the power of thirty one elements") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = one_kv_head(128);
  problem.append.emplace();
  check_large_cache(*gpu, problem);
}

}  // namespace
}  // namespace cubinet
