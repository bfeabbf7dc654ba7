// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/decode/attention_decode_family.hpp"
#include "templates/decode/decode_families.hpp"
#include "templates/decode/decode_plan.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

// Plans of the families of decode attention.
namespace cubinet::test::decode {

inline constexpr DeviceFacts kHopper{{9, 0}, 132, 227 * 1024};
inline constexpr DeviceFacts kAmpere{{8, 0}, 108, 163 * 1024};
inline constexpr DeviceFacts kGeForce{{8, 6}, 84, 99 * 1024};

// As dear as the splits are far from a number.
struct PrefersSplits final : CostModel {
  explicit PrefersSplits(std::uint32_t wanted) : splits(wanted) {}
  KernelCost cost(const KernelWork& work) const override {
    return {std::abs(static_cast<double>(work.splits) - splits), true};
  }
  double splits;
};

inline AttentionProblem llama(std::uint32_t batch, std::uint32_t kv_len, std::uint32_t q_len = 1) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.q_len = q_len;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len = kv_len;
  return problem;
}

inline PlanRequest request(const AttentionProblem& problem, const DeviceFacts& device = kHopper) {
  return {problem, device, {}, {}};
}

inline PlanRequest preferring(const AttentionProblem& problem, std::uint32_t splits) {
  PlanRequest made = request(problem);
  made.options.costs = std::make_shared<const PrefersSplits>(splits);
  return made;
}

inline DecodePlan plan(const PlanRequest& asked, const DecodeFamily& family = kAttentionDecode) {
  const auto result = plan_decode(asked, family);
  REQUIRE_MESSAGE(result, (result ? std::string() : result.error().message));
  return *result;
}

inline DecodePlan plan(const AttentionProblem& problem, const DeviceFacts& device = kHopper) {
  return plan(request(problem, device));
}

inline std::int64_t number(const DecodePlan& made, const char* name) {
  return std::get<std::int64_t>(made.spec.parameters.at(name));
}

inline std::shared_ptr<const KernelTemplate> template_of(const DecodeFamily& family) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find(family.name);
  REQUIRE(found);
  return *found;
}

}  // namespace cubinet::test::decode
