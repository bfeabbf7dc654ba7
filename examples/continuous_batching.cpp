// SPDX-License-Identifier: Apache-2.0
// Continuous batching with a paged e4m3 KV cache. Requests arrive and finish. Each step appends new
// tokens and attends: one token per request, or four draft tokens, some of which are rejected. One
// CUDA graph per batch size and number of tokens serves all lengths. All queries are zero, so each
// output row is the mean of V.
//
//   example_continuous_batching [HOME [CUDA]]
//
// CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels. It is needed if
// /usr/local/cuda has no NVRTC.
#include <cubinet/loader/stream.hpp>
#include <cubinet/session.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace {

using cubinet::Bytes, cubinet::DeviceBuffer, cubinet::Result;
using Bf16s = std::vector<std::uint16_t>;  // the upper halves of floats
// The heads of Llama-3-8B, and up to 8 requests of up to 512 tokens in pages of 16.
constexpr std::uint32_t kHeads = 32, kKvHeads = 8, kHeadDim = 128, kTokens = 512, kPage = 16, kMost = 8;
constexpr std::uint32_t kDrafts = 4, kRequests = 20, kPages = kTokens / kPage;
constexpr std::size_t kKvRow = kKvHeads * kHeadDim, kRow = kHeads * kHeadDim;
constexpr double kScale = 0.5;  // value = kScale * stored element of K and V

struct Request {
  std::uint32_t number = 0;
  std::uint32_t pages = 0;   // index of one of kMost sets of pages
  std::uint32_t length = 0;  // tokens in the cache

  bool is_done() const { return length >= 20 + number * 97 % 400; }
  // Returns the value of all elements of V of a token.
  float value(std::uint32_t token) const { return (number + token) % 3 == 0 ? 2.0f : 1.0f; }
};

cubinet::AttentionProblem problem_of(std::uint32_t batch, std::uint32_t q_len) {
  cubinet::AttentionProblem problem{.batch = batch, .q_len = q_len, .kv_len = kTokens, .heads_q = kHeads};
  problem.heads_kv = kKvHeads;
  problem.tokens_per_page = kPage;
  problem.data_type_k = problem.data_type_v = cubinet::DataType::e4m3;
  problem.softmax_scale = kScale / std::sqrt(double{kHeadDim});
  problem.output_scale = kScale;
  problem.append.emplace().rope_dim = kHeadDim;
  problem.append->k_scale = problem.append->v_scale = kScale;
  return problem;
}

Result<void> run(const char* home, const char* cuda) {
  cubinet::SessionOptions options{.home = home};
  if (cuda != nullptr) options.compiler.toolkit_roots = {cuda};
  CUBINET_TRY_ASSIGN(const auto session, cubinet::Session::open(std::move(options)));
  CUBINET_TRY_ASSIGN(const auto device, session->device(0));

  // Allocates memory once, when the server starts, and makes a plan and a graph for each batch size
  // and number of tokens.
  std::vector<std::int32_t> lengths(kMost), table(kMost * kPages);
  Bf16s new_v(kMost * kDrafts * kKvRow), output(kMost * kDrafts * kRow);
  const Bytes pool(kMost * kTokens * kKvRow, std::byte{0x7f});  // NaN until it is written
  const auto angles = cubinet::rope_table(cubinet::rope_frequencies(kHeadDim, 500'000), kTokens);
  CUBINET_TRY_ASSIGN(const auto q, DeviceBuffer::copy_of(device, Bf16s(output.size())));
  CUBINET_TRY_ASSIGN(const auto k, DeviceBuffer::copy_of(device, pool));
  CUBINET_TRY_ASSIGN(const auto v, DeviceBuffer::copy_of(device, pool));
  CUBINET_TRY_ASSIGN(const auto o, DeviceBuffer::copy_of(device, output));
  CUBINET_TRY_ASSIGN(const auto page_table, DeviceBuffer::copy_of(device, table));
  CUBINET_TRY_ASSIGN(const auto kv_lengths, DeviceBuffer::copy_of(device, lengths));
  CUBINET_TRY_ASSIGN(const auto added_k, DeviceBuffer::copy_of(device, Bf16s(new_v.size(), 0x3f80)));
  CUBINET_TRY_ASSIGN(const auto added_v, DeviceBuffer::copy_of(device, new_v));
  CUBINET_TRY_ASSIGN(const auto cos_sin, DeviceBuffer::copy_of(device, angles));
  cubinet::AttentionTensors tensors{.q = q,
                                    .k = k,
                                    .v = v,
                                    .o = o,
                                    .page_table = page_table,
                                    .kv_lengths = kv_lengths,
                                    .new_q = q,  // Q is rotated in place
                                    .new_k = added_k,
                                    .new_v = added_v,
                                    .cos_sin = cos_sin};
  CUBINET_TRY_ASSIGN(const auto stream, cubinet::Stream::create(device));
  std::vector<cubinet::BoundAttention> bound;  // a graph needs its launches and their workspace
  std::vector<cubinet::AttentionWorkspace> workspaces;
  std::map<std::pair<std::size_t, std::uint32_t>, cubinet::Graph> graphs;
  for (const std::uint32_t batch : {2u, 4u, kMost}) {
    for (const std::uint32_t tokens : {1u, kDrafts}) {
      CUBINET_TRY_ASSIGN(auto attention, session->attention(problem_of(batch, tokens), device));
      CUBINET_TRY_ASSIGN(auto workspace, attention.make_workspace());
      workspace.attach(tensors);
      CUBINET_TRY(attention.check(tensors));
      const auto launch = [&] { return attention.run(tensors, stream.handle()); };
      CUBINET_TRY_ASSIGN(auto graph, cubinet::Graph::capture(stream, launch));
      graphs.emplace(std::pair{batch, tokens}, std::move(graph));
      bound.push_back(std::move(attention));
      workspaces.push_back(std::move(workspace));
    }
  }

  std::vector<Request> active;
  std::vector<std::uint32_t> free_pages = {0, 1, 2, 3, 4, 5, 6, 7};
  std::uint32_t arrived = 0, step = 0;
  for (; arrived < kRequests || !active.empty(); ++step) {
    if (step % 5 == 0 && arrived < kRequests && !free_pages.empty()) {
      active.push_back({arrived++, free_pages.back(), 0});
      free_pages.pop_back();
    }
    if (active.empty()) continue;
    const std::uint32_t tokens = step % 3 == 2 ? kDrafts : 1;
    std::fill(lengths.begin(), lengths.end(), 0);  // unused positions of the batch
    for (std::size_t i = 0; i < active.size(); ++i) {
      lengths[i] = static_cast<std::int32_t>(active[i].length + tokens);
      for (std::uint32_t page = 0; page < kPages; ++page)
        table[i * kPages + page] = static_cast<std::int32_t>(page * kMost + active[i].pages);
      for (std::uint32_t t = 0; t < tokens; ++t) {
        const auto bits = std::bit_cast<std::uint32_t>(active[i].value(active[i].length + t));
        std::fill_n(&new_v[(i * tokens + t) * kKvRow], kKvRow, static_cast<std::uint16_t>(bits >> 16));
      }
    }
    CUBINET_TRY(added_v.copy_from(new_v));
    CUBINET_TRY(page_table.copy_from(table));
    CUBINET_TRY(kv_lengths.copy_from(lengths));
    CUBINET_TRY(graphs.at({std::max<std::size_t>(std::bit_ceil(active.size()), 2), tokens}).launch(stream));
    CUBINET_TRY(o.copy_to(output));
    for (std::size_t i = 0; i < active.size(); ++i) {
      Request& request = active[i];
      float sum = 0;
      for (std::uint32_t t = 0; t < request.length + tokens; ++t) {
        sum += request.value(t);
        if (t < request.length) continue;
        for (const std::uint32_t bits :
             std::span(output).subspan((i * tokens + t - request.length) * kRow, kRow)) {
          const float error = std::bit_cast<float>(bits << 16) - sum / static_cast<float>(t + 1);
          if (!(std::abs(error) <= 1e-2f))  // this form of the comparison rejects NaN
            return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
        }
      }
      // Rejects some of four draft tokens; the next step overwrites them.
      request.length += tokens == 1 ? 1 : 1 + (request.number + step) % kDrafts;
      if (request.is_done()) free_pages.push_back(request.pages);
    }
    std::erase_if(active, [](const Request& request) { return request.is_done(); });
  }
  std::printf("%u requests in %u steps, and each result is right\n", arrived, step);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : "cubinet-home", argc > 2 ? argv[2] : nullptr);
  if (!done) std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return done ? 0 : 1;
}
