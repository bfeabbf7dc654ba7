// SPDX-License-Identifier: Apache-2.0
#include "device_model.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace serving_loop {
namespace {

using cubinet::DeviceBuffer, cubinet::Result;

// The kernels around attention. Each has one block per token.
constexpr std::string_view kKernels = R"cuda(
// Copies Q, K and V of each token from the table.
extern "C" __global__ void project(const int* tokens, const unsigned short* table, unsigned short* qkv) {
  const size_t from = size_t(tokens[blockIdx.x]) * QKV_ROW;
  const size_t to = size_t(blockIdx.x) * QKV_ROW;
  for (int i = threadIdx.x; i < QKV_ROW; i += blockDim.x) qkv[to + i] = table[from + i];
}

// Hashes the bits of each row of O to the next token. Integers are added, so the order has no effect.
extern "C" __global__ void choose(const unsigned short* o, int* next) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned own = 0;
  for (int i = threadIdx.x; i < ROW; i += blockDim.x) {
    unsigned hash = (o[size_t(blockIdx.x) * ROW + i] + 1u) * 0x9e3779b1u + i * 0x85ebca77u;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    own += hash ^ hash >> 13;
  }
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) next[blockIdx.x] = (sum ^ sum >> 16) % VOCABULARY;
}
)cuda";
constexpr std::uint32_t kThreads = 256;

cubinet::SourceProgram program() {
  cubinet::SourceProgram program;
  program.name = "serving_loop";
  program.text = kKernels;
  program.flags = {"-DROW=" + std::to_string(kRow), "-DQKV_ROW=" + std::to_string(kQkvRow),
                   "-DVOCABULARY=" + std::to_string(kVocabulary)};
  return program;
}

// Appends new tokens to the cache, rotates Q and K, and attends.
cubinet::AttentionProblem problem_of(const Bounds& bounds, const Arithmetic& arithmetic) {
  cubinet::AttentionProblem problem;
  problem.batch = bounds.batch;
  problem.kv_len = bounds.sequence_tokens;
  problem.heads_q = kHeads;
  problem.heads_kv = kKvHeads;
  problem.head_dim_qk = problem.head_dim_v = kHeadDim;
  problem.data_type_k = problem.data_type_v = arithmetic.cache;
  problem.tokens_per_page = bounds.page_tokens;
  problem.ragged_q = true;
  problem.softmax_scale = kSoftmaxScale;
  problem.numerics = arithmetic.numerics;
  problem.append.emplace().rope_dim = kHeadDim;
  return problem;
}

}  // namespace

Result<DeviceModel::Buffers> DeviceModel::allocate(const std::shared_ptr<const cubinet::Device>& device,
                                                   const Bounds& bounds, const Arithmetic& arithmetic,
                                                   const Weights& weights) {
  const std::size_t batch = bounds.batch;
  const std::size_t rows = bounds.step_tokens;
  const std::size_t cache_bytes =
      std::size_t{bounds.pages} * bounds.page_tokens * kKvRow * cubinet::bits_of(arithmetic.cache) / 8;
  const auto integers = [&](std::size_t count) {
    return DeviceBuffer::zeroed(device, count * sizeof(std::int32_t));
  };
  const auto elements = [&](std::size_t count) {
    return DeviceBuffer::zeroed(device, count * sizeof(std::uint16_t));
  };
  CUBINET_TRY_ASSIGN(auto tokens, integers(rows));
  CUBINET_TRY_ASSIGN(auto q_offsets, integers(batch + 1));
  CUBINET_TRY_ASSIGN(auto kv_lengths, integers(batch));
  CUBINET_TRY_ASSIGN(auto page_table, integers(batch * bounds.pages_per_sequence()));
  CUBINET_TRY_ASSIGN(auto table, DeviceBuffer::copy_of(device, weights.qkv));
  CUBINET_TRY_ASSIGN(auto cos_sin, DeviceBuffer::copy_of(device, weights.cos_sin));
  CUBINET_TRY_ASSIGN(auto qkv, elements(rows * kQkvRow));
  CUBINET_TRY_ASSIGN(auto k, DeviceBuffer::allocate(device, cache_bytes));
  CUBINET_TRY_ASSIGN(auto v, DeviceBuffer::allocate(device, cache_bytes));
  CUBINET_TRY_ASSIGN(auto o, elements(rows * kRow));
  CUBINET_TRY_ASSIGN(auto next, integers(rows));
  return Buffers{.tokens = std::move(tokens),
                 .q_offsets = std::move(q_offsets),
                 .kv_lengths = std::move(kv_lengths),
                 .page_table = std::move(page_table),
                 .table = std::move(table),
                 .cos_sin = std::move(cos_sin),
                 .qkv = std::move(qkv),
                 .k = std::move(k),
                 .v = std::move(v),
                 .o = std::move(o),
                 .next = std::move(next)};
}

Result<DeviceModel> DeviceModel::create(const cubinet::Session& session, const Bounds& bounds,
                                        const Arithmetic& arithmetic, const Weights& weights) {
  CUBINET_TRY_ASSIGN(const auto device, session.device(0));
  CUBINET_TRY_ASSIGN(auto buffers, allocate(device, bounds, arithmetic, weights));
  CUBINET_TRY_ASSIGN(auto stream, cubinet::Stream::create(device));
  DeviceModel model(std::move(buffers), std::move(stream));
  CUBINET_TRY(model.clear_cache());
  cubinet::AttentionProblem prompts = problem_of(bounds, arithmetic);
  prompts.prefill = true;
  prompts.q_len = bounds.step_tokens;
  cubinet::AttentionProblem generation = problem_of(bounds, arithmetic);
  generation.q_len = 1 + bounds.drafts;  // verification of the drafts
  CUBINET_TRY_ASSIGN(auto prompt_stage, model.capture(session, prompts, bounds.step_tokens));
  CUBINET_TRY_ASSIGN(
      auto generation_stage,
      model.capture(session, generation, std::min(bounds.step_tokens, bounds.batch * generation.q_len)));
  model.stages_.push_back(std::move(prompt_stage));
  model.stages_.push_back(std::move(generation_stage));
  return model;
}

Result<DeviceModel::Stage> DeviceModel::capture(const cubinet::Session& session,
                                                const cubinet::AttentionProblem& problem,
                                                std::uint32_t tokens) const {
  const Buffers& at = buffers_;
  cubinet::Runtime& runtime = session.runtime();
  CUBINET_TRY_ASSIGN(const auto kernels, runtime.resolve(program()));
  CUBINET_TRY_ASSIGN(const auto project, runtime.function(*kernels, /*device=*/0, "project"));
  CUBINET_TRY_ASSIGN(const auto choose, runtime.function(*kernels, /*device=*/0, "choose"));
  CUBINET_TRY_ASSIGN(const auto attention, session.attention(problem, stream_.device()));
  CUBINET_TRY_ASSIGN(auto workspace, attention.make_workspace());

  // A projection's output has Q, K and V of a token side by side. Q is rotated in place.
  const auto part = [&](std::size_t column) {
    const std::size_t offset = column * sizeof(std::uint16_t);
    return cubinet::DeviceTensor(at.qkv.address() + offset, at.qkv.size() - offset,
                                 {std::int64_t{kQkvRow}, std::int64_t{kQkvRow}, kHeadDim});
  };
  cubinet::AttentionTensors tensors{.q = part(0),
                                    .k = at.k,
                                    .v = at.v,
                                    .o = at.o,
                                    .page_table = at.page_table,
                                    .kv_lengths = at.kv_lengths,
                                    .q_offsets = at.q_offsets,
                                    .new_q = part(0),
                                    .new_k = part(kRow),
                                    .new_v = part(kRow + kKvRow),
                                    .cos_sin = at.cos_sin};
  workspace.attach(tensors);
  CUBINET_TRY(attention.check(tensors));

  CUBINET_TRY_ASSIGN(const auto current, stream_.device()->make_current());
  const cubinet::LaunchConfig per_token{
      .grid = {tokens, 1, 1}, .block = {kThreads, 1, 1}, .stream = stream_.handle()};
  const auto launch = [&]() -> Result<void> {
    CUBINET_TRY(project.launch(per_token, at.tokens.as<const std::int32_t>(),
                               at.table.as<const std::uint16_t>(), at.qkv.as<std::uint16_t>()));
    CUBINET_TRY(attention.run(tensors, stream_.handle()));
    return choose.launch(per_token, at.o.as<const std::uint16_t>(), at.next.as<std::int32_t>());
  };
  CUBINET_TRY_ASSIGN(auto graph, cubinet::Graph::capture(stream_, launch));
  std::string names;
  for (const cubinet::Function& function : attention.functions())
    names += (names.empty() ? "" : ", ") + function.entry_point().name;
  return Stage{std::move(workspace), std::move(graph), std::move(names)};
}

Result<void> DeviceModel::clear_cache() const {
  CUBINET_TRY(buffers_.k.fill(std::byte{0xff}));
  return buffers_.v.fill(std::byte{0xff});
}

// Copies are in the order of the stream's work and block the host.
Result<void> DeviceModel::run(const Step& step, std::span<Token> next, std::span<std::uint16_t> rows) {
  CUBINET_TRY(buffers_.tokens.copy_from(step.tokens));
  CUBINET_TRY(buffers_.q_offsets.copy_from(step.q_offsets));
  CUBINET_TRY(buffers_.kv_lengths.copy_from(step.kv_lengths));
  CUBINET_TRY(buffers_.page_table.copy_from(step.page_table));
  CUBINET_TRY(stages_[step.is_generation ? 1 : 0].graph.launch(stream_));
  CUBINET_TRY(buffers_.next.copy_to(next));
  return buffers_.o.copy_to(rows);
}

}  // namespace serving_loop
