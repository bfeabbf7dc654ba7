// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversions.hpp"

#include <cubinet/cubinet.h>

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
  std::vector<std::int32_t> prefix_lengths_;
  std::string backend_;
  std::string rules_;
};

// Returns the CUBINET_TYPE_ constant of a name such as "bf16". Raises InvalidArgument, with the
// argument's name, for an unknown one.
std::int32_t element_type(const std::string& name, const char* argument);

}  // namespace cubinet_python
