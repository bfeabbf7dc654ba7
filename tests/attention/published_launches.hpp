// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "problems.hpp"
#include "published/published_launch.hpp"

#include <cstring>
#include <memory>

namespace cubinet::test {

// The launch that the rules decide for a problem, of a kernel that is assumed to exist, under the
// layout of 0.6.13.
inline PublishedLaunch published_launch(const AttentionProblem& problem) {
  const Selection selection = *select(problem, kB200, index_of({}), assume_all());
  return {problem,          selection.kernel,
          selection.launch, selection.workspace,
          kB200.sm_count,   find_argument_layout("0.6.13")};
}
inline std::shared_ptr<const PublishedLaunch> shared_launch(const AttentionProblem& problem) {
  return std::make_shared<const PublishedLaunch>(published_launch(problem));
}

template <class Value>
Value member_of(const std::vector<std::byte>& argument, ArgumentMember member) {
  Value value;
  std::memcpy(&value, argument.data() + find_argument_layout("0.6.13")->offset_of(member), sizeof(value));
  return value;
}

}  // namespace cubinet::test
