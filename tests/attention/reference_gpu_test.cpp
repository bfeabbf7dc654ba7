// SPDX-License-Identifier: Apache-2.0
// Compares the reference on the device with that of the CPU. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cmath>
#include <utility>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

void check_device_reference(const Gpu& gpu, const AttentionProblem& problem) {
  REQUIRE(has_device_reference(problem));
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
  const AttentionOutputs expected = ok(attention_reference(problem, inputs));
  const AttentionOutputs computed = ok(attention_reference_on(*gpu.runtime, gpu.device, problem, inputs));
  REQUIRE(computed.o.size() == expected.o.size());
  REQUIRE(computed.lse.size() == expected.lse.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.o.size(); ++i)
    worst = std::max(worst, std::abs(computed.o[i] - expected.o[i]));
  CHECK(worst < 1e-12);
  for (std::size_t i = 0; i < expected.lse.size(); ++i) {
    if (std::isinf(expected.lse[i])) {
      REQUIRE(computed.lse[i] == expected.lse[i]);
    } else {
      REQUIRE(std::abs(computed.lse[i] - expected.lse[i]) < 1e-11);
    }
  }
}

TEST_CASE("The reference of the device is that of the CPU to the last digits, in every layout") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [qk, v] : {std::pair{64U, 64U}, {128U, 128U}, {192U, 128U}, {256U, 256U}, {512U, 512U}}) {
    for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv, QkvLayout::separate_qkv}) {
      AttentionProblem problem = many_borders(qk, 24);
      problem.prefill = true;
      problem.heads_q = 4;
      problem.q_len = 40;
      problem.head_dim_v = v;
      problem.layout = layout;
      problem.ragged_q = qk == 128;
      if (qk == 64) problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::fp16;
      check_device_reference(*gpu, problem);
    }
  }
}

TEST_CASE("The reference of the device has K, V and Q of e4m3, and scales of KV heads") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType q : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    AttentionProblem problem = many_borders(128, 16);
    problem.prefill = true;
    problem.heads_q = 4;
    problem.q_len = 40;
    problem.data_type_q = q;
    problem.data_type_k = problem.data_type_v = DataType::e4m3;
    problem.data_type_o = DataType::bf16;
    for (const KvScales scales : {KvScales::none, KvScales::head, KvScales::sequence}) {
      problem.kv_scales = scales;
      check_device_reference(*gpu, problem);
    }
  }
}

TEST_CASE("The reference of the device has windows, dense masks, sinks, soft caps and scales") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::dense}) {
    AttentionProblem problem = many_borders(64, 16);
    problem.prefill = true;
    problem.heads_q = 4;
    problem.q_len = 40;
    problem.mask = mask;
    problem.sinks = problem.separate_page_tables = true;
    problem.soft_cap = 20.0;
    problem.softmax_scale = 0.2;
    problem.output_scale = 0.375;
    if (mask == AttentionMask::causal) problem.window = 100;
    check_device_reference(*gpu, problem);
  }
}

}  // namespace
}  // namespace cubinet
