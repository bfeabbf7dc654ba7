// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/decode_problem.hpp>
#include <cubinet/selection/attention_problem.hpp>

#include <string>
#include <variant>

namespace cubinet {

// The problem as the template `attention_decode` sees it, or the part of it that this template does not know
// and would ignore. REQUIRES: check_problem(problem) holds.
std::variant<DecodeProblem, std::string> decode_problem_of(const AttentionProblem& problem,
                                                           const DecodeHints& hints);

// The way back, for callers that hold a decode problem. Lengths of 0 are 1 here: no kernel depends on it.
// REQUIRES: check(problem) holds.
AttentionProblem attention_problem_of(const DecodeProblem& problem);
DecodeHints hints_of(const DecodeProblem& problem);

}  // namespace cubinet
