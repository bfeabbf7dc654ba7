// SPDX-License-Identifier: Apache-2.0
// Decodes a few tokens of four sequences over a paged KV cache: attention is planned and bound once, captured
// in a CUDA graph, and replayed while they grow. Queries of zeros make each row of the output the mean of V.
//
//   example_attention_decode [HOME [CUDA]]
//
// CUDA is a toolkit, or the folder nvidia/cu13 of NVIDIA's wheels, where /usr/local/cuda has no NVRTC.
#include <cubinet/attention/backend.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

namespace {

using cubinet::Bytes, cubinet::DeviceBuffer, cubinet::Result;
using Bf16s = std::vector<std::uint16_t>;  // the upper halves of floats
// Llama-3-8B's heads; sequences of up to 2048 tokens, in pages of 16.
constexpr std::size_t kBatch = 4, kHeads = 32, kKvHeads = 8, kHeadDim = 128, kTokens = 2048, kPage = 16;
constexpr std::size_t kRow = kKvHeads * kHeadDim, kSteps = 3;

Result<DeviceBuffer> upload(const auto& device, const auto& content, cubinet::DeviceTensor& tensor) {
  const auto bytes = std::as_bytes(std::span(content));
  CUBINET_TRY_ASSIGN(auto buffer, DeviceBuffer::allocate(device, bytes.size()));
  CUBINET_TRY(buffer.copy_from(bytes));
  tensor = {buffer.address(), buffer.size(), {}};
  return buffer;
}

Result<void> run(const char* home, const char* cuda) {
  cubinet::RuntimeOptions options;
  CUBINET_TRY_ASSIGN(options.stores.emplace_back(), cubinet::Home::open({.path = home}));
  if (cuda != nullptr) options.compiler.toolkit_roots.insert(options.compiler.toolkit_roots.begin(), cuda);
  CUBINET_TRY_ASSIGN(auto runtime, cubinet::Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(auto device, runtime->device(0));

  // Once, when the server starts: decide, then load. The plan serves every length up to kv_len.
  const cubinet::AttentionProblem problem{
      .batch = kBatch, .kv_len = kTokens, .heads_q = kHeads, .heads_kv = kKvHeads, .tokens_per_page = kPage};
  const cubinet::DeviceFacts facts{device->properties().capability, device->properties().multiprocessors};
  CUBINET_TRY_ASSIGN(const auto backends, cubinet::AttentionBackends::builtin());
  CUBINET_TRY_ASSIGN(const auto plan, cubinet::plan_attention(problem, facts, {}, backends));
  CUBINET_TRY_ASSIGN(const auto attention, cubinet::BoundAttention::bind(*runtime, plan, 0));

  // The cache: pages in any order, which hold the tokens of all steps already, V 1 and 2 by turns, else NaN.
  std::vector<std::int32_t> lengths = {kTokens - kSteps, 1000, 17, 1}, page_table(kBatch * kTokens / kPage);
  Bf16s v(kBatch * kTokens * kRow, 0xffff), output(kBatch * kHeads * kHeadDim);
  for (std::size_t token = 0; token < kBatch * kTokens; ++token) {
    const std::size_t page = token / kPage * 37 % page_table.size();
    page_table[token / kPage] = static_cast<std::int32_t>(page);
    if (token % kTokens >= static_cast<std::size_t>(lengths[token / kTokens]) + kSteps) continue;
    std::fill_n(&v[(page * kPage + token % kPage) * kRow], kRow, token % 2 == 0 ? 0x3f80 : 0x4000);
  }
  cubinet::AttentionTensors tensors;
  const cubinet::WorkspaceSizes& sizes = attention.plan().workspace;
  CUBINET_TRY_ASSIGN(const auto q_memory, upload(device, Bf16s(output.size()), tensors.q));
  CUBINET_TRY_ASSIGN(const auto k_memory, upload(device, Bf16s(v.size()), tensors.k));
  CUBINET_TRY_ASSIGN(const auto v_memory, upload(device, v, tensors.v));
  CUBINET_TRY_ASSIGN(const auto o_memory, upload(device, output, tensors.o));
  CUBINET_TRY_ASSIGN(const auto table_memory, upload(device, page_table, tensors.page_table));
  CUBINET_TRY_ASSIGN(const auto length_memory, upload(device, lengths, tensors.kv_lengths));
  CUBINET_TRY_ASSIGN(const auto scratch, upload(device, Bytes(sizes.scratch_bytes), tensors.scratch));
  CUBINET_TRY_ASSIGN(const auto counters, upload(device, Bytes(sizes.counter_bytes), tensors.counters));
  CUBINET_TRY(attention.check(tensors));

  // run() may be captured: it launches and does nothing else.
  CUBINET_TRY_ASSIGN(const auto stream, cubinet::Stream::create(device));
  const auto launch = [&] { return attention.run(tensors, stream.handle()); };
  CUBINET_TRY_ASSIGN(const auto graph, cubinet::Graph::capture(stream, launch));
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::for_each(lengths.begin(), lengths.end(), [](std::int32_t& length) { ++length; });
    CUBINET_TRY(length_memory.copy_from(std::as_bytes(std::span(lengths))));
    CUBINET_TRY(graph.launch(stream));
    CUBINET_TRY(stream.synchronize());
    CUBINET_TRY(o_memory.copy_to(std::as_writable_bytes(std::span(output))));
    for (std::size_t i = 0; i < output.size(); ++i) {
      const int length = lengths[i / (output.size() / kBatch)];
      const double error = std::bit_cast<float>(output[i] << 16) - (1 + double(length / 2) / length);
      if (!(std::abs(error) <= 1e-2))  // turned round, a NaN would pass
        return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
    }
  }
  std::printf("%zu kernels a step, and each result is right\n", attention.functions().size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : "cubinet-home", argc > 2 ? argv[2] : nullptr);
  if (!done) std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return done ? 0 : 1;
}
