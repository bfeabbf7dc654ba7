// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/problems.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_explanation.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace cubinet::test {

inline constexpr DeviceFacts kH200{{9, 0}, 132, 0};

// Returns published rows for every kernel that a selection for the problem would consider.
inline std::vector<KernelRow> published_rows(const AttentionProblem& problem) {
  std::vector<KernelRow> rows = rows_for(problem);
  for (KernelRow& row : rows)
    row.implementation = kPublishedImplementation;
  return rows;
}

inline AttentionBackends builtin_backends() {
  auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  return *std::move(backends);
}

// Returns these rows as a Runtime would find them.
inline AvailableKernels available(const std::vector<KernelRow>& rows, ComputeCapability device) {
  DeviceRows found;
  for (const KernelRow& row : rows)
    found.rows.push_back({std::make_shared<const KernelRow>(row), nullptr});
  return AvailableKernels::create(found, device);
}

// The inputs of a backend besides the problem.
struct Known {
  DeviceFacts device;
  AvailableKernels kernels;
  PlanOptions options;

  static Known on(const DeviceFacts& device, const std::vector<KernelRow>& rows = {}) {
    return {device, available(rows, device.capability), {}};
  }
};

inline AttentionResolution resolve(const AttentionProblem& problem, std::string_view requested, bool launches,
                                   const Known& known) {
  PlanOptions options = known.options;
  options.backend = requested;
  options.launches = launches;
  auto resolution = resolve_attention(problem, known.device, known.kernels, builtin_backends(), options);
  REQUIRE_MESSAGE(resolution, resolution.error().to_line());
  return *std::move(resolution);
}

inline AttentionPlan plan_of(const AttentionProblem& problem, std::string_view backend, const Known& known,
                             bool launches = false) {
  AttentionResolution resolution = resolve(problem, backend, launches, known);
  REQUIRE_MESSAGE(resolution.plan, resolution.error().to_line());
  return *std::move(resolution.plan);
}

// Returns the reason why this backend declines, or an empty string if it serves the problem.
inline std::string decline_of(const AttentionProblem& problem, std::string_view backend, const Known& known) {
  const AttentionResolution resolution = resolve(problem, backend, /*launches=*/false, known);
  if (resolution.plan) return "";
  REQUIRE(resolution.declined.size() == 1);
  CHECK(resolution.declined[0].backend == backend);
  return resolution.declined[0].reason;
}

inline bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace cubinet::test
