// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor_roles.hpp"

#include <cubinet/cubinet.h>

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace cubinet_python {

// A problem and plan options as the C library takes them, from the fields of the dataclasses
// AttentionProblem and PlanOptions. Raises InvalidArgument, with the field's name, for a wrong
// value.
class ProblemValues {
 public:
  ProblemValues(const nanobind::dict& problem, const nanobind::dict& options);
  ProblemValues(const ProblemValues&) = delete;
  ProblemValues& operator=(const ProblemValues&) = delete;

  const cubinet_attention_problem& problem() const { return problem_; }
  const cubinet_plan_options& options() const { return options_; }

 private:
  void read_problem(const nanobind::dict& fields);
  void read_options(const nanobind::dict& fields);

  cubinet_attention_problem problem_ = CUBINET_ATTENTION_PROBLEM_INIT;
  cubinet_plan_options options_ = CUBINET_PLAN_OPTIONS_INIT;
  std::vector<std::int32_t> kv_lengths_;
  std::string backend_;
};

// Returns the keywords of a run of this problem: the members of cubinet_attention_tensors.
TensorRoles attention_roles(const cubinet_attention_problem& problem, std::int32_t device);
// Returns the keywords of a run of a merge: the members of cubinet_merge_tensors.
TensorRoles merge_roles(const cubinet_merge_problem& problem, std::int32_t device);

}  // namespace cubinet_python
