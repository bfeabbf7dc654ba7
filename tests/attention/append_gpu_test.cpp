// SPDX-License-Identifier: Apache-2.0
// Tests the output of the append, and attention on the appended KV. Needs a GPU and NVRTC.
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;

class AppendGpu {
 public:
  static std::optional<AppendGpu> open() {
    AppendGpu gpu;
    gpu.runtime_ = ok(Runtime::create({}));
    auto opened = gpu.runtime_->device(0);
    if (!opened) {
      test::skip(opened.error().to_line());
      return std::nullopt;
    }
    gpu.device_ = *opened;
    return gpu;
  }

  // Checks that the appended KV equals the reference to the bit, and that attention on it equals
  // the reference within the rounding of tensor cores, in two runs and in a graph.
  void check(const AttentionProblem& problem, const std::vector<std::int32_t>& lengths, std::uint64_t seed,
             std::optional<std::uint32_t> splits = std::nullopt) const {
    const BoundAttention attention = bind(problem, splits);
    CAPTURE(std::get<KernelSpec>(attention.plan().steps.front().kernel).to_string());
    const AttentionInputs inputs = ok(make_attention_inputs(problem, lengths, seed));
    const AttentionInputs reference = ok(append_reference(problem, inputs));
    const TensorBuffers buffers =
        ok(TensorBuffers::create(device_, problem, inputs, attention.plan().workspace));
    const Stream stream = ok(Stream::create(device_));
    ok(attention.check(buffers.tensors()));
    ok(attention.run(buffers.tensors(), stream.handle()));
    const Graph graph =
        ok(Graph::capture(stream, [&] { return attention.run(buffers.tensors(), stream.handle()); }));
    ok(graph.launch(stream));
    ok(stream.synchronize());
    const auto appended = ok(buffers.appended());
    CHECK(appended[0] == packed_elements(reference.q, problem.data_type_q));
    CHECK(appended[1] == packed_elements(reference.k, problem.data_type_k));
    CHECK(appended[2] == packed_elements(reference.v, problem.data_type_v));
    if (!problem.attends()) return;
    const AttentionOutputs outputs = ok(attention_reference(problem, inputs));
    const AttentionDeviation error =
        ok(compare_attention(problem, outputs, ok(buffers.output()), ok(buffers.lse())));
    CHECK(error.worst_row < 1e-2);
    CHECK(error.worst_lse < 1e-3);
  }

  BoundAttention bind(const AttentionProblem& problem, std::optional<std::uint32_t> splits) const {
    const DeviceProperties& properties = device_->properties();
    PlanOptions options;
    options.splits = splits;
    const AttentionPlan plan = ok(plan_attention(
        problem,
        {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block}, {},
        ok(AttentionBackends::builtin()), options));
    return ok(BoundAttention::bind(*runtime_, plan, 0));
  }

  const std::shared_ptr<const Device>& device() const { return device_; }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const Device> device_;
};

// Returns a step with lengths on both sides of the borders of pages, slices and tiles.
AttentionProblem step_of_many(std::uint32_t head_dim, std::uint32_t page_size) {
  AttentionProblem problem;
  problem.batch = 19;
  problem.heads_q = 16;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  problem.tokens_per_page = page_size;
  problem.kv_len = 700;
  problem.append.emplace().rope_dim = head_dim;
  return problem;
}

TEST_CASE("A decode step leaves the bits of the reference in the cache and its attention in O") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
    for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
      for (const std::uint32_t q_len : {1U, 4U}) {
        AttentionProblem problem = step_of_many(head_dim, q_len == 1 ? 64 : 16);
        problem.q_len = q_len;
        problem.data_type_k = problem.data_type_v = kv;
        problem.append->lengths_exclude_new = kv == DataType::e4m3;
        if (kv == DataType::e4m3) problem.append->k_scale = problem.append->v_scale = 0.37;
        if (kv == DataType::e4m3) problem.kv_scales = q_len == 1 ? KvScales::sequence : KvScales::head;
        for (const auto splits : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(3)})
          gpu->check(problem, make_kv_lengths(problem, LengthPattern::borders), 3, splits);
      }
    }
  }
}

TEST_CASE("Q of eight bits, given positions, scales on the device and pairs of neighbours are appended") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  for (const DataType rows : {DataType::bf16, DataType::fp16}) {
    AttentionProblem problem = step_of_many(128, 32);
    problem.append->data_type = rows;
    problem.append->rope_dim = 64;
    problem.append->interleaved = problem.append->positions = true;
    problem.append->lengths_exclude_new = rows == DataType::bf16;
    problem.append->q_scale = 2.5;
    problem.append->v_scale = 0.1;
    problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
    problem.data_type_o = rows;
    problem.scales_on_device = problem.ragged_q = true;
    problem.kv_order = KvOrder::hnd;
    problem.q_len = 5;
    gpu->check(problem, make_kv_lengths(problem, LengthPattern::borders), 4);
  }
}

TEST_CASE("Nothing but an append serves prompts of thousands of tokens, with page tables of their own") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  AttentionProblem problem = step_of_many(128, 16);
  problem.batch = 3;
  problem.kv_len = problem.q_len = 3000;
  problem.prefill = problem.ragged_q = problem.separate_page_tables = true;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.append->attends = false;
  for (const bool exclude : {false, true}) {
    problem.append->lengths_exclude_new = exclude;
    gpu->check(problem, {3000, 2999, 0}, 5);
  }
}

TEST_CASE("Tokens behind the page table overwrite no others") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  for (const bool exclude : {false, true}) {
    AttentionProblem problem = step_of_many(128, 64);
    problem.batch = 3;
    problem.append->lengths_exclude_new = exclude;
    const AttentionInputs inputs = ok(make_attention_inputs(problem, {700, 640, 650}, 8));
    const BoundAttention attention = gpu->bind(problem, std::nullopt);
    const TensorBuffers buffers =
        ok(TensorBuffers::create(gpu->device(), problem, inputs, attention.plan().workspace));
    ok(buffers.set_kv_lengths({701, 1000, std::numeric_limits<std::int32_t>::max()}));
    const Stream stream = ok(Stream::create(gpu->device()));
    ok(attention.run(buffers.tensors(), stream.handle()));
    ok(stream.synchronize());
    CHECK(ok(buffers.appended())[1] == packed_elements(inputs.k, problem.data_type_k));
    CHECK(ok(buffers.appended())[2] == packed_elements(inputs.v, problem.data_type_v));
  }
}

// Returns a random step out of all supported ones.
AttentionProblem random_step(std::mt19937_64& random) {
  const auto one_of = [&](auto... values) {
    const std::array choices{values...};
    return choices[random() % choices.size()];
  };
  AttentionProblem problem;
  problem.batch = 1 + static_cast<std::uint32_t>(random() % 12);
  problem.heads_kv = one_of(1U, 2U, 3U);
  problem.heads_q = problem.heads_kv * one_of(1U, 4U, 5U, 8U);
  problem.head_dim_qk = problem.head_dim_v = one_of(64U, 128U, 256U);
  problem.tokens_per_page = one_of(16U, 32U, 64U, 128U);
  problem.kv_len = 1 + static_cast<std::uint32_t>(random() % 900);
  problem.q_len = std::min(one_of(1U, 1U, 2U, 4U, 7U, 16U), problem.kv_len);
  problem.ragged_q = random() % 2 == 0;
  problem.kv_order = random() % 2 == 0 ? KvOrder::hnd : KvOrder::nhd;
  if (random() % 4 == 0) problem.window = 1 + static_cast<std::uint32_t>(random() % 300);
  const DataType rows = random() % 2 == 0 ? DataType::bf16 : DataType::fp16;
  problem.data_type_q = problem.data_type_k = problem.data_type_o = rows;
  AttentionProblem::Append& append = problem.append.emplace();
  append.data_type = rows;
  append.rope_dim = one_of(0U, 16U, problem.head_dim_qk / 2, problem.head_dim_qk);
  append.interleaved = random() % 2 == 0;
  append.positions = random() % 2 == 0;
  append.lengths_exclude_new = random() % 2 == 0;
  problem.scales_on_device = random() % 3 == 0;
  if (random() % 2 == 0) {
    problem.data_type_k = DataType::e4m3;
    append.k_scale = one_of(1.0, 0.01, 3.3);
    append.v_scale = one_of(1.0, 0.2, 7.7);
    if (random() % 3 == 0) {
      problem.data_type_q = DataType::e4m3;
      append.q_scale = one_of(1.0, 0.3);
    }
  }
  problem.data_type_v = problem.data_type_k;
  return problem;
}

TEST_CASE("Random decode steps leave the bits of the reference and compute its attention") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  const char* const wanted = std::getenv("CUBINET_TEST_RANDOM_STEPS");
  const int steps = wanted != nullptr ? std::atoi(wanted) : 60;
  std::mt19937_64 random(std::random_device{}());
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t seed = random();
    CAPTURE(seed);
    std::mt19937_64 choices(seed);
    const AttentionProblem problem = random_step(choices);
    std::vector<std::int32_t> lengths(problem.batch);
    for (std::int32_t& length : lengths)
      length = choices() % 8 == 0 ? 0 : static_cast<std::int32_t>(choices() % (problem.kv_len + 1));
    lengths[0] = static_cast<std::int32_t>(problem.kv_len);
    gpu->check(problem, lengths, seed);
  }
}

TEST_CASE("Rows that are parts of one tensor are appended by their strides, and Q is rotated where it lies") {
  const auto gpu = AppendGpu::open();
  if (!gpu) return;
  AttentionProblem problem = step_of_many(128, 64);
  problem.batch = 3;
  const AttentionInputs inputs = ok(make_attention_inputs(problem, {700, 64, 65}, 6));
  const AttentionInputs reference = ok(append_reference(problem, inputs));
  // The tensor is a projection's output: the heads of Q, K and V of each token.
  ElementBits joint;
  const auto add = [&](const ElementBits& rows, std::size_t token, std::size_t count) {
    joint.insert(joint.end(), rows.begin() + static_cast<std::ptrdiff_t>(token * count),
                 rows.begin() + static_cast<std::ptrdiff_t>((token + 1) * count));
  };
  for (std::size_t token = 0; token < 3; ++token) {
    add(inputs.new_q, token, 16 * 128);
    add(inputs.new_k, token, 2 * 128);
    add(inputs.new_v, token, 2 * 128);
  }
  const Bytes bytes = packed_elements(joint, DataType::bf16);
  const DeviceBuffer memory = ok(DeviceBuffer::copy_of(gpu->device(), bytes));
  const BoundAttention attention = gpu->bind(problem, std::nullopt);
  const TensorBuffers buffers =
      ok(TensorBuffers::create(gpu->device(), problem, inputs, attention.plan().workspace));
  AttentionTensors tensors = buffers.tensors();
  const auto part = [&](std::uint64_t head) {
    return DeviceTensor{
        memory.address() + head * 128 * 2, memory.size() - head * 128 * 2, {20 * 128, 20 * 128, 128}};
  };
  tensors.q = tensors.new_q = part(0);
  tensors.new_k = part(16);
  tensors.new_v = part(18);
  const Stream stream = ok(Stream::create(gpu->device()));
  ok(attention.check(tensors));
  ok(attention.run(tensors, stream.handle()));
  ok(stream.synchronize());
  const auto appended = ok(buffers.appended());
  CHECK(appended[1] == packed_elements(reference.k, problem.data_type_k));
  CHECK(appended[2] == packed_elements(reference.v, problem.data_type_v));
  const AttentionOutputs outputs = ok(attention_reference(problem, inputs));
  CHECK(ok(compare_attention(problem, outputs, ok(buffers.output()), {})).worst_row < 1e-2);
  Bytes after(bytes.size());
  ok(memory.copy_to(after));
  const Bytes rotated = packed_elements(reference.q, problem.data_type_q);
  const std::size_t q_bytes = 16 * 128 * 2;
  for (std::size_t token = 0; token < 3; ++token) {
    CHECK(std::memcmp(after.data() + token * 20 * 128 * 2, rotated.data() + token * q_bytes, q_bytes) == 0);
    CHECK(std::memcmp(after.data() + token * 20 * 128 * 2 + q_bytes,
                      bytes.data() + token * 20 * 128 * 2 + q_bytes, 4 * 128 * 2) == 0);
  }
}

}  // namespace
}  // namespace cubinet
