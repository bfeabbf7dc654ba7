// SPDX-License-Identifier: Apache-2.0
#include "decode_problems.hpp"

#include <utility>

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
  std::vector<NamedProblem> problems;
  // `change` modifies a problem of eight groups of eight heads as the name says.
  const auto add = [&](const char* name, AttentionProblem problem, const auto& change) {
    change(problem);
    problems.push_back({name, std::move(problem)});
  };
  const auto as_it_is = [](AttentionProblem&) {};
  const auto e4m3 = [](AttentionProblem& p) { p.data_type_k = p.data_type_v = DataType::e4m3; };
  const auto head_dim = [](std::uint32_t columns) {
    return [columns](AttentionProblem& p) { p.head_dim_qk = p.head_dim_v = columns; };
  };
  const auto latent = [](std::uint32_t heads, DataType type = DataType::bf16) {
    return [heads, type](AttentionProblem& p) {
      p.heads_q = heads;
      p.heads_kv = 1;
      p.head_dim_qk = 576;
      p.head_dim_v = 512;
      p.data_type_q = p.data_type_k = p.data_type_v = type;
    };
  };
  add("page 16", llama(4, 210, 16), as_it_is);
  add("page 128", llama(4, 300, 128), as_it_is);
  add("head dim 64", llama(4, 150, 64), head_dim(64));
  add("head dim 256", llama(3, 140, 32), head_dim(256));
  add("head dim 512", llama(3, 140, 32), head_dim(512));
  add("split KV", llama(1, 2100, 64), as_it_is);
  add("several query tokens", llama(3, 170, 16), [](AttentionProblem& p) { p.q_len = 4; });
  add("more than 32 rows", llama(3, 170, 16), [](AttentionProblem& p) { p.q_len = 8; });
  add("packed mask", llama(3, 170, 16), [](AttentionProblem& p) {
    p.q_len = 8;
    p.mask = AttentionMask::custom;
  });
  add("sliding window", llama(3, 260, 16), [](AttentionProblem& p) { p.window = 100; });
  add("fp16", llama(3, 129, 64), [](AttentionProblem& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = p.data_type_o = DataType::fp16;
  });
  add("KV of e4m3", llama(3, 129, 64), e4m3);
  add("KV of e4m3, more than 32 rows", llama(3, 129, 64), [&](AttentionProblem& p) {
    e4m3(p);
    p.q_len = 8;
  });
  const auto invariant = [](std::uint32_t q_len) {
    return [q_len](AttentionProblem& p) {
      p.q_len = q_len;
      p.numerics = AttentionNumerics::invariant;
    };
  };
  add("invariant, two segments", llama(3, 600, 16), invariant(1));
  add("invariant, more than 32 rows", llama(3, 600, 16), invariant(8));
  add("one query head", llama(3, 100, 16), [](AttentionProblem& p) { p.heads_q = 8; });
  add("latent, 16 rows", llama(3, 170, 64), latent(16));
  add("latent, 16 rows, e4m3", llama(3, 170, 64), latent(16, DataType::e4m3));
  add("latent, 64 rows", llama(3, 170, 64), latent(64));
  add("latent, 128 rows, e4m3", llama(2, 170, 32), latent(128, DataType::e4m3));
  // Problems that Hopper's own kernels of latent attention leave to the portable one.
  add("soft cap, latent", llama(3, 170, 64), [&](AttentionProblem& p) {
    latent(16)(p);
    p.soft_cap = 30.0;
  });
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
