// SPDX-License-Identifier: Apache-2.0
// Decodes three tokens of four sequences (the heads of Llama-3-8B) with a paged KV cache. One CUDA
// graph serves all lengths. All queries are zero, so each output row is the mean of V.
//
//   example_attention_decode [HOME [CUDA]]
//
// CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels.
#include <cubinet/loader/stream.hpp>
#include <cubinet/session.hpp>

#include <bit>
#include <cmath>
#include <cstdio>

using cubinet::DeviceBuffer, cubinet::Error, cubinet::ErrorCode, cubinet::Result;
constexpr std::size_t kBatch = 4, kHeads = 32, kKvHeads = 8, kHeadDim = 128, kTokens = 2048, kPage = 16;
constexpr std::size_t kRow = kKvHeads * kHeadDim, kSteps = 3;

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
  std::vector<std::uint16_t> values(kBatch * kTokens * kRow, 0xffff), output(kBatch * kHeads * kHeadDim);
  std::vector<std::int32_t> lengths = {kTokens - kSteps, 1000, 17, 1}, pages(kBatch * kTokens / kPage);
  for (std::size_t token = 0; token < kBatch * kTokens; ++token) {
    const std::size_t page = token / kPage * 37 % pages.size();
    pages[token / kPage] = static_cast<std::int32_t>(page);
    if (token % kTokens >= static_cast<std::size_t>(lengths[token / kTokens]) + kSteps) continue;
    std::fill_n(&values[(page * kPage + token % kPage) * kRow], kRow, token % 2 == 0 ? 0x3f80 : 0x4000);
  }
  CUBINET_TRY_ASSIGN(const auto q, DeviceBuffer::copy_of(device, output));
  CUBINET_TRY_ASSIGN(const auto v, DeviceBuffer::copy_of(device, values));
  CUBINET_TRY_ASSIGN(const auto k, DeviceBuffer::zeroed(device, v.size()));
  CUBINET_TRY_ASSIGN(const auto o, DeviceBuffer::copy_of(device, output));
  CUBINET_TRY_ASSIGN(const auto page_table, DeviceBuffer::copy_of(device, pages));
  CUBINET_TRY_ASSIGN(const auto kv_lengths, DeviceBuffer::copy_of(device, lengths));
  cubinet::AttentionTensors tensors{
      .q = q, .k = k, .v = v, .o = o, .page_table = page_table, .kv_lengths = kv_lengths};
  workspace.attach(tensors);
  CUBINET_TRY_ASSIGN(const auto stream, cubinet::Stream::create(device));
  const auto launch = [&] { return attention.run(tensors, stream.handle()); };
  CUBINET_TRY_ASSIGN(const auto graph, cubinet::Graph::capture(stream, launch));
  for (std::size_t step = 0; step < kSteps; ++step) {
    for (std::int32_t& length : lengths)
      ++length;
    CUBINET_TRY(kv_lengths.copy_from(lengths));
    CUBINET_TRY(graph.launch(stream));
    CUBINET_TRY(o.copy_to(output));
    for (std::size_t i = 0; i < output.size(); ++i) {
      const int length = lengths[i / (output.size() / kBatch)];
      const double error = std::bit_cast<float>(output[i] << 16) - (1 + double(length / 2) / length);
      if (!(std::abs(error) <= 1e-2)) return Error{ErrorCode::internal, "the result is wrong"};
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
