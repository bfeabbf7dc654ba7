// SPDX-License-Identifier: Apache-2.0
#include "decode_problems.hpp"

namespace cubinet::bench {
namespace {

AttentionProblem llama(std::uint32_t batch, std::uint32_t kv_len, std::uint32_t page_size) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len = kv_len;
  problem.tokens_per_page = page_size;
  return problem;
}

}  // namespace

std::vector<NamedProblem> llama_problems() {
  std::vector<NamedProblem> problems;
  for (const std::uint32_t batch : {1U, 16U, 64U}) {
    for (const std::uint32_t kv_len : {4096U, 16384U}) {
      for (const std::uint32_t page_size : {16U, 64U}) {
        problems.push_back({"batch " + std::to_string(batch) + ", KV " + std::to_string(kv_len) + ", page " +
                                std::to_string(page_size),
                            llama(batch, kv_len, page_size)});
      }
    }
  }
  return problems;
}

std::vector<NamedProblem> small_problems() {
  std::vector<NamedProblem> problems = {
      {"page 16", llama(4, 210, 16)},        {"page 128", llama(4, 300, 128)},
      {"head dim 64", llama(4, 150, 64)},    {"head dim 256", llama(3, 140, 32)},
      {"split KV", llama(1, 2100, 64)},      {"several query tokens", llama(3, 170, 16)},
      {"sliding window", llama(3, 260, 16)}, {"fp16", llama(3, 129, 64)},
      {"one query head", llama(3, 100, 16)},
  };
  const auto find = [&problems](const char* name) -> AttentionProblem& {
    for (NamedProblem& entry : problems) {
      if (entry.name == name) return entry.problem;
    }
    return problems.front().problem;
  };
  find("head dim 64").head_dim_qk = find("head dim 64").head_dim_v = 64;
  find("head dim 256").head_dim_qk = find("head dim 256").head_dim_v = 256;
  find("several query tokens").q_len = 4;
  find("sliding window").window = 100;
  AttentionProblem& half = find("fp16");
  half.data_type_q = half.data_type_k = half.data_type_v = half.data_type_o = DataType::fp16;
  find("one query head").heads_q = 8;
  return problems;
}

Result<AttentionPlan> plan_decode_on(const Device& device, const AttentionProblem& problem,
                                     std::optional<std::uint32_t> splits) {
  const DeviceProperties& properties = device.properties();
  CUBINET_TRY_ASSIGN(const AttentionBackends backends, AttentionBackends::builtin());
  PlanOptions options;
  options.backend = kTemplatesBackend;
  options.splits = splits;
  return plan_attention(
      problem, {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block},
      {}, backends, options);
}

}  // namespace cubinet::bench
