// SPDX-License-Identifier: Apache-2.0
// Decodes three tokens of four sequences (the heads of Llama-3-8B) with a paged KV cache. It plans
// and binds attention once, captures it in a CUDA graph, and replays the graph while the sequences
// grow. All queries are zero, so each output row is the mean of V.
//
//   example_attention_decode [HOME [CUDA]]
//
// CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels.
#include <cubinet/loader/stream.hpp>
#include <cubinet/session.hpp>

#include <bit>
#include <cmath>
#include <cstdio>

using cubinet::DeviceBuffer, cubinet::DeviceTensor, cubinet::Result;
constexpr std::size_t kBatch = 4, kHeads = 32, kKvHeads = 8, kHeadDim = 128, kTokens = 2048, kPage = 16;
constexpr std::size_t kRow = kKvHeads * kHeadDim, kSteps = 3;

static Result<DeviceBuffer> upload(const auto& device, const auto& content, DeviceTensor& tensor) {
  const auto bytes = std::as_bytes(std::span(content));
  CUBINET_TRY_ASSIGN(auto buffer, DeviceBuffer::allocate(device, bytes.size()));
  tensor = {buffer.address(), buffer.size(), {}};
  CUBINET_TRY(buffer.copy_from(bytes));
  return buffer;
}

static Result<void> run(const char* home, const char* cuda) {
  cubinet::SessionOptions options{.home = home};
  if (cuda != nullptr) options.compiler.toolkit_roots = {cuda};
  CUBINET_TRY_ASSIGN(const auto session, cubinet::Session::open(std::move(options)));
  CUBINET_TRY_ASSIGN(const auto device, session->device(0));
  const cubinet::AttentionProblem problem{
      .batch = kBatch, .kv_len = kTokens, .heads_q = kHeads, .heads_kv = kKvHeads, .tokens_per_page = kPage};
  CUBINET_TRY_ASSIGN(const auto attention, session->attention(problem, device));
  CUBINET_TRY_ASSIGN(const auto workspace, attention.make_workspace());
  // Bf16 values are the upper halves of floats. V alternates between 1 and 2. It is NaN in rows
  // that hold no token of a sequence.
  std::vector<std::uint16_t> v(kBatch * kTokens * kRow, 0xffff), zeros(v.size()),
      o(kBatch * kHeads * kHeadDim);
  std::vector<std::int32_t> lengths = {kTokens - kSteps, 1000, 17, 1}, pages(kBatch * kTokens / kPage);
  for (std::size_t token = 0; token < kBatch * kTokens; ++token) {
    const std::size_t page = token / kPage * 37 % pages.size();
    pages[token / kPage] = static_cast<std::int32_t>(page);
    if (token % kTokens >= static_cast<std::size_t>(lengths[token / kTokens]) + kSteps) continue;
    std::fill_n(&v[(page * kPage + token % kPage) * kRow], kRow, token % 2 == 0 ? 0x3f80 : 0x4000);
  }
  cubinet::AttentionTensors tensors;
  workspace.attach(tensors);
  CUBINET_TRY_ASSIGN(const auto q_memory, upload(device, o, tensors.q));
  CUBINET_TRY_ASSIGN(const auto k_memory, upload(device, zeros, tensors.k));
  CUBINET_TRY_ASSIGN(const auto v_memory, upload(device, v, tensors.v));
  CUBINET_TRY_ASSIGN(const auto o_memory, upload(device, o, tensors.o));
  CUBINET_TRY_ASSIGN(const auto page_memory, upload(device, pages, tensors.page_table));
  CUBINET_TRY_ASSIGN(const auto length_memory, upload(device, lengths, tensors.kv_lengths));
  CUBINET_TRY_ASSIGN(const auto stream, cubinet::Stream::create(device));
  const auto launch = [&] { return attention.run(tensors, stream.handle()); };
  CUBINET_TRY_ASSIGN(const auto graph, cubinet::Graph::capture(stream, launch));
  for (std::size_t step = 0; step < kSteps; ++step) {
    for (std::int32_t& length : lengths)
      ++length;
    CUBINET_TRY(length_memory.copy_from(std::as_bytes(std::span(lengths))));
    CUBINET_TRY(graph.launch(stream));
    CUBINET_TRY(stream.synchronize());
    CUBINET_TRY(o_memory.copy_to(std::as_writable_bytes(std::span(o))));
    for (std::size_t i = 0; i < o.size(); ++i) {
      const int length = lengths[i / (o.size() / kBatch)];
      const double error = std::bit_cast<float>(o[i] << 16) - (1 + double(length / 2) / length);
      if (!(std::abs(error) <= 1e-2))
        return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
    }
  }
  std::printf("%zu kernels a step, and each result is right\n", attention.functions().size());
  return {};
}

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : "cubinet-home", argc > 2 ? argv[2] : nullptr);
  if (!done) std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return done ? 0 : 1;
}
