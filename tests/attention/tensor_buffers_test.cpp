// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"

#include <cmath>
#include <cstring>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("outputs are poisoned until somebody writes them, and counters are zero") {
  const BoundSetting setting;
  WorkspaceSizes workspace;
  workspace.counter_bytes = 256;
  workspace.scratch_bytes = 512;
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting.device, setting.problem, setting.inputs, workspace));
  const AttentionTensors tensors = buffers.tensors();
  CHECK(tensors.o.bytes == 2 * 4 * 64 * 2);
  CHECK(tensors.scratch.bytes == 512);
  CHECK(tensors.counters.bytes == 256);
  const Bytes output = ok(buffers.output());
  CHECK(output.size() == tensors.o.bytes);
  CHECK(output.front() == std::byte{0xff});
  for (const float value : ok(buffers.lse()))
    CHECK(std::isnan(value));
}

TEST_CASE("each copy of the cache has a page table of its own behind the one before") {
  const BoundSetting setting;
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting.device, setting.problem, setting.inputs, {}, 3));
  CHECK(buffers.copies() == 3);
  const AttentionTensors first = buffers.tensors(0);
  const AttentionTensors last = buffers.tensors(2);
  CHECK(first.k.address == last.k.address);
  CHECK(first.k.bytes == setting.inputs.k.size() * 2 * 3);
  CHECK(first.page_table.bytes == setting.inputs.page_table.size() * 4);
  CHECK(last.page_table.address == first.page_table.address + 2 * first.page_table.bytes);
}

TEST_CASE("a copy of a cache without pages follows the one before") {
  const BoundSetting setting;
  AttentionProblem problem = setting.problem;
  problem.prefill = true;
  problem.layout = QkvLayout::contiguous_kv;
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::uniform), 1));
  const TensorBuffers buffers = ok(TensorBuffers::create(setting.device, problem, inputs, {}, 3));
  const AttentionTensors first = buffers.tensors(0);
  const AttentionTensors last = buffers.tensors(2);
  CHECK(first.k.bytes == inputs.k.size() * 2 * 3);
  CHECK(last.k.bytes == inputs.k.size() * 2);
  CHECK(last.k.address == first.k.address + 2 * last.k.bytes);
  CHECK(last.v.address == first.v.address + 2 * last.v.bytes);
}

TEST_CASE("latent attention has one pool, and ragged queries the room that they take") {
  const BoundSetting setting;
  AttentionProblem problem = generation(2, 3, 100, 4, 4, 576, 512);
  problem.ragged_q = problem.sinks = true;
  const AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 7}, 1));
  const AttentionTensors tensors = ok(TensorBuffers::create(setting.device, problem, inputs, {})).tensors();
  CHECK(tensors.v.address == tensors.k.address);
  CHECK(tensors.v.bytes == inputs.k.size() * 2);
  CHECK(tensors.q.bytes == inputs.q.size() * 2);
  CHECK(tensors.o.bytes == inputs.q.size() / 576 * 512 * 2);
  CHECK(tensors.sinks.bytes == 4 * sizeof(float));
  CHECK(tensors.q_offsets.bytes == 3 * sizeof(std::int32_t));
}

TEST_CASE("rows of scales of KV heads are further apart than their heads") {
  BoundSetting setting;
  setting.problem.data_type_k = setting.problem.data_type_v = DataType::e4m3;
  const auto tensors_of = [&](KvScales scales) {
    setting.problem.kv_scales = scales;
    const AttentionInputs inputs = ok(make_attention_inputs(setting.problem, {100, 7}, 1));
    return ok(TensorBuffers::create(setting.device, setting.problem, inputs, {})).tensors();
  };
  CHECK(tensors_of(KvScales::none).k_head_scales.bytes == 0);
  CHECK(tensors_of(KvScales::head).k_head_scales.is_contiguous());
  CHECK(tensors_of(KvScales::head).k_head_scales.bytes > setting.problem.heads_kv * sizeof(float));
  const AttentionTensors tensors = tensors_of(KvScales::sequence);
  CHECK(tensors.k_head_scales.strides[0] > setting.problem.heads_kv);
  CHECK(tensors.v_head_scales.strides[0] == tensors.k_head_scales.strides[0]);
  CHECK(tensors.v_head_scales.address != tensors.k_head_scales.address);
}

TEST_CASE("elements of eight bits take a byte each, in every copy") {
  BoundSetting setting;
  setting.problem.data_type_q = setting.problem.data_type_k = setting.problem.data_type_v = DataType::e4m3;
  const AttentionInputs inputs = ok(make_attention_inputs(setting.problem, {100, 7}, 1));
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting.device, setting.problem, inputs, {}, /*copies=*/2));
  const AttentionTensors tensors = buffers.tensors();
  CHECK(tensors.q.bytes == inputs.q.size());
  CHECK(tensors.k.bytes == 2 * inputs.k.size());
  if (setting.stub.missing()) return;
  // The stub's device memory is host memory.
  for (const std::size_t at : {std::size_t{0}, inputs.k.size() - 1}) {
    for (const std::size_t copy : {0U, 1U}) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensors.k.address) + copy * inputs.k.size();
      CHECK(bytes[at] == (inputs.k[at] & 0xffU));
    }
  }
}

TEST_CASE("more pages in all copies than a page table numbers are refused") {
  const BoundSetting setting;
  AttentionInputs inputs = setting.inputs;
  inputs.pages = 1U << 30U;
  const auto refused = TensorBuffers::create(setting.device, setting.problem, inputs, {}, /*copies=*/2);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("2147483648 pages in all copies") != std::string::npos);
}

TEST_CASE("lengths may change, but not their number") {
  const BoundSetting setting;
  CHECK(setting.buffers.set_kv_lengths({1, 2}));
  CHECK_FALSE(setting.buffers.set_kv_lengths({1, 2, 3}));
}

TEST_CASE("lengths on the device leave out the new tokens of each sequence if the append does") {
  const BoundSetting setting;
  AttentionProblem problem = generation(2, 3, 100, 4, 2, 64, 64);
  problem.ragged_q = true;
  problem.append.emplace();
  AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 7}, 1));
  inputs.q_lengths = {2, 3};
  for (const bool excludes : {false, true}) {
    problem.append->lengths_exclude_new = excludes;
    const TensorBuffers buffers =
        ok(TensorBuffers::create(setting.device, problem, inputs, WorkspaceSizes{}));
    std::vector<std::int32_t> lengths(2);
    // The stub driver's addresses are those of the host.
    if (setting.stub.missing()) return;
    std::memcpy(lengths.data(), reinterpret_cast<const void*>(buffers.tensors().kv_lengths.address), 8);
    CHECK(lengths == (excludes ? std::vector{98, 4} : std::vector{100, 7}));
  }
}

}  // namespace
}  // namespace cubinet
