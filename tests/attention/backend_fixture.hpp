// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selection/problems.hpp"

#include <cubinet/attention/resolution.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace cubinet::test {

inline constexpr DeviceFacts kH200{{9, 0}, 132, 0};

// Rows of the published kind for everything that a selection of the problem would pass through.
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

inline AttentionResolution survey(const AttentionProblem& problem, std::string_view requested,
                                  AttentionPurpose purpose, const BackendContext& context) {
  auto resolution = survey_backends(problem, requested, purpose, context, builtin_backends());
  REQUIRE_MESSAGE(resolution, resolution.error().to_line());
  return *std::move(resolution);
}

// Why the one backend declines; empty when it does not.
inline std::string decline_of(const AttentionProblem& problem, std::string_view backend,
                              const BackendContext& context) {
  const AttentionResolution resolution = survey(problem, backend, AttentionPurpose::select, context);
  if (resolution.plan) return "";
  REQUIRE(resolution.declined.size() == 1);
  CHECK(resolution.declined[0].backend == backend);
  return resolution.declined[0].reason;
}

inline bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace cubinet::test
