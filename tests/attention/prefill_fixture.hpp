// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/prefill/attention_prefill_family.hpp"
#include "templates/prefill/prefill_families.hpp"
#include "templates/prefill/prefill_plan.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>

// Plans of the families of prefill attention.
namespace cubinet::test::prefill {

inline constexpr DeviceFacts kHopper{{9, 0}, 132, 227 * 1024};
inline constexpr DeviceFacts kAmpere{{8, 0}, 108, 163 * 1024};
inline constexpr DeviceFacts kGeForce{{8, 6}, 84, 99 * 1024};

inline AttentionProblem prompts(std::uint32_t batch, std::uint32_t kv_len, std::uint32_t q_len) {
  AttentionProblem problem;
  problem.prefill = true;
  problem.batch = batch;
  problem.q_len = q_len;
  problem.kv_len = kv_len;
  problem.heads_q = 32;
  problem.heads_kv = 8;
  return problem;
}

inline PlanRequest request(const AttentionProblem& problem, const DeviceFacts& device = kHopper) {
  return {problem, device, {}, {}};
}

inline PrefillPlan plan(const PlanRequest& asked, const PrefillFamily& family = kAttentionPrefill) {
  const auto result = plan_prefill(asked, family);
  REQUIRE_MESSAGE(result, (result ? std::string() : result.error().message));
  return *result;
}

inline PrefillPlan plan(const AttentionProblem& problem, const DeviceFacts& device = kHopper) {
  return plan(request(problem, device));
}

inline std::shared_ptr<const KernelTemplate> template_of(const PrefillFamily& family) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find(family.name);
  REQUIRE(found);
  return *found;
}

}  // namespace cubinet::test::prefill
