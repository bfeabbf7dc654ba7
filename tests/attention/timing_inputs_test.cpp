// SPDX-License-Identifier: Apache-2.0
#include "tuning/timing_inputs.hpp"

#include "bound_fixture.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("what is timed has the caches of its problem, of a few elements over and over") {
  const BoundSetting setting;
  const AttentionProblem problem = generation(4, 1, 40'000, 4, 2, 64, 64);
  const AttentionInputs inputs = timing_inputs(problem);
  CHECK(inputs.pages == 4 * 625);
  CHECK(inputs.k.size() == std::size_t{1} << 22U);
  std::vector<std::int32_t> pages = inputs.page_table;
  CHECK_FALSE(std::is_sorted(pages.begin(), pages.end()));
  std::sort(pages.begin(), pages.end());
  CHECK(std::adjacent_find(pages.begin(), pages.end()) == pages.end());
  CHECK(pages.back() == inputs.pages - 1);
  CHECK(std::all_of(inputs.k.begin(), inputs.k.end(),
                    [&](std::uint16_t bits) { return std::isfinite(to_float(bits, problem.data_type_k)); }));
  const TensorBuffers buffers = ok(TensorBuffers::create(setting.device, problem, inputs, {}, 2));
  const std::uint64_t copy = 2500 * 64 * 2 * 64 * 2;
  CHECK(buffers.tensors().k.bytes == 2 * copy);
  if (setting.stub.missing()) return;
  // The stub's memory is the host's.
  const auto* bytes = reinterpret_cast<const std::byte*>(buffers.tensors().k.address);
  const auto* first = reinterpret_cast<const std::byte*>(inputs.k.data());
  for (const std::size_t from : {std::size_t{0}, inputs.k.size() * 2, std::size_t{copy}})
    CHECK(std::memcmp(bytes + from, first, 1000) == 0);
}

TEST_CASE("scales of KV heads are 1, so that sums of V of ones are compared as they are") {
  AttentionProblem problem = generation(4, 1, 100, 4, 2, 64, 64);
  CHECK(timing_inputs(problem).k_head_scales.empty());
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.kv_scales = KvScales::sequence;
  CHECK(timing_inputs(problem).k_head_scales == std::vector<float>(8, 1.0F));
  CHECK(timing_inputs(problem).v_head_scales == std::vector<float>(8, 1.0F));
}

TEST_CASE("V is one everywhere to compare sums, and all else is as it is timed") {
  AttentionProblem problem = generation(2, 1, 100, 4, 2, 64, 64);
  problem.prefill = true;
  problem.q_len = 100;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const AttentionInputs timed = timing_inputs(problem);
  const AttentionInputs ones = inputs_with_v_of_ones(problem);
  CHECK(ones.q == timed.q);
  CHECK(ones.k == timed.k);
  CHECK(ones.page_table == timed.page_table);
  CHECK(ones.v.size() == timed.v.size());
  CHECK(std::all_of(ones.v.begin(), ones.v.end(),
                    [](std::uint16_t bits) { return to_float(bits, DataType::e4m3) == 1.0f; }));
}

TEST_CASE("tensors lie in the memory that is given, one behind the other, and not beyond it") {
  const BoundSetting setting;
  WorkspaceSizes workspace;
  workspace.scratch_bytes = 1000;
  workspace.counter_bytes = 256;
  const DeviceBuffer memory = ok(DeviceBuffer::allocate(setting.device, 1 << 20));
  const DeviceTensor given{memory.address() + 8, memory.size() - 8, {}};
  const TensorBuffers buffers =
      ok(TensorBuffers::create(setting.device, setting.problem, setting.inputs, workspace, 1, given));
  const AttentionTensors tensors = buffers.tensors();
  for (const DeviceTensor& tensor : {tensors.q, tensors.k, tensors.v, tensors.o, tensors.page_table,
                                     tensors.kv_lengths, tensors.scratch, tensors.counters}) {
    CHECK(tensor.address >= given.address);
    CHECK(tensor.address % kWorkspaceAlignment == 0);
    CHECK(tensor.address + tensor.bytes <= given.address + given.bytes);
  }
  CHECK(tensors.q.address + tensors.q.bytes <= tensors.k.address);
  const auto refused = TensorBuffers::create(setting.device, setting.problem, setting.inputs, workspace, 1,
                                             {given.address, 10'000, {}});
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("10000 bytes") != std::string::npos);
}

TEST_CASE("Sums may differ where weights of 8 bits are multiplied, also for generation of many rows") {
  const auto planned = [](const AttentionProblem& problem) {
    return sums_may_differ(
        ok(plan_attention(problem, {{9, 0}, 132, 0}, {}, ok(AttentionBackends::builtin()))));
  };
  AttentionProblem problem = generation(4, 32, 8192, 64, 64);
  CHECK_FALSE(planned(problem));
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(planned(problem));
  problem.q_len = 8;  // decode attention, which converts KV
  CHECK_FALSE(planned(problem));
  problem.prefill = true;
  CHECK(planned(problem));
}

}  // namespace
}  // namespace cubinet
