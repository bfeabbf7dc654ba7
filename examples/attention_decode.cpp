// SPDX-License-Identifier: Apache-2.0
// Decodes a few tokens of four sequences over a paged KV cache: attention is planned and bound once, captured
// in a CUDA graph, and the graph is replayed while the sequences grow. Every row is compared with float64.
//
//   example_attention_decode [HOME [CUDA]]
//
// CUDA is a toolkit, or the folder nvidia/cu13 of NVIDIA's wheels, where /usr/local/cuda has no NVRTC.
#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <cstdio>
#include <span>
#include <vector>

namespace {

constexpr int kSteps = 3;

// Llama-3-8B's heads; sequences of up to 2048 tokens, in pages of 16.
cubinet::AttentionProblem decode_problem() {
  cubinet::AttentionProblem problem;
  problem.batch = 4;
  problem.heads_q = 32;
  problem.heads_kv = 8;
  problem.kv_len = 2048;
  problem.tokens_per_page = 16;
  return problem;
}

cubinet::Result<void> run(const char* home, const char* cuda) {
  cubinet::RuntimeOptions options;
  CUBINET_TRY_ASSIGN(options.stores.emplace_back(), cubinet::Home::open({.path = home}));
  if (cuda != nullptr) options.compiler.toolkit_roots.insert(options.compiler.toolkit_roots.begin(), cuda);
  CUBINET_TRY_ASSIGN(auto runtime, cubinet::Runtime::create(std::move(options)));
  CUBINET_TRY_ASSIGN(auto device, runtime->device(0));
  const cubinet::DeviceProperties& properties = device->properties();

  // Once, when the server starts: decide, then load. The plan serves every length up to kv_len.
  const cubinet::AttentionProblem problem = decode_problem();
  CUBINET_TRY_ASSIGN(const auto backends, cubinet::AttentionBackends::builtin());
  CUBINET_TRY_ASSIGN(const auto plan,
                     cubinet::plan_attention(problem,
                                             {properties.capability, properties.multiprocessors,
                                              properties.maximum_shared_bytes_per_block},
                                             {}, backends));
  CUBINET_TRY_ASSIGN(const auto attention, cubinet::BoundAttention::bind(*runtime, plan, 0));

  // The cache, its page tables and the queries; a server has its own, and fills in AttentionTensors.
  std::vector<std::int32_t> lengths = {2048 - kSteps, 1000, 17, 1};
  const std::vector<std::int32_t> longest(lengths.size(), 2048);
  CUBINET_TRY_ASSIGN(auto inputs, cubinet::make_attention_inputs(problem, longest, /*seed=*/1));
  CUBINET_TRY_ASSIGN(const auto buffers,
                     cubinet::TensorBuffers::create(device, problem, inputs, attention.plan().workspace));
  CUBINET_TRY(attention.check(buffers.tensors()));

  // run() may be captured: it launches and does nothing else.
  CUBINET_TRY_ASSIGN(const auto stream, cubinet::Stream::create(device));
  CUBINET_TRY_ASSIGN(const auto graph, cubinet::Graph::capture(stream, [&] {
                       return attention.run(buffers.tensors(), stream.handle());
                     }));
  for (int step = 1; step <= kSteps; ++step) {
    for (std::int32_t& length : lengths)
      ++length;  // the new token's K and V lie in the cache already
    CUBINET_TRY(buffers.set_kv_lengths(lengths));
    CUBINET_TRY(graph.launch(stream));
    CUBINET_TRY(stream.synchronize());
    inputs.kv_lengths = lengths;
    CUBINET_TRY_ASSIGN(const auto reference, cubinet::attention_reference(problem, inputs));
    CUBINET_TRY_ASSIGN(const auto o, buffers.output());
    CUBINET_TRY_ASSIGN(const auto lse, buffers.lse());
    CUBINET_TRY_ASSIGN(const auto error, cubinet::compare_attention(problem, reference, o, lse));
    std::printf("step %d: the worst row is %.1e from float64\n", step, error.worst_row);
    // Turned round, a NaN would pass.
    if (!(error.worst_row <= 1e-2))
      return cubinet::Error{cubinet::ErrorCode::internal, "the result is wrong"};
  }
  std::printf("%zu kernels by the backend %s\n", attention.functions().size(),
              std::string(plan.backend_name()).c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : "cubinet-home", argc > 2 ? argv[2] : nullptr);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().to_line().c_str());
  return 1;
}
