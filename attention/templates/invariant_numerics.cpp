// SPDX-License-Identifier: Apache-2.0
#include "invariant_numerics.hpp"

namespace cubinet {

std::string invariant_gap(const AttentionProblem& problem) {
  if (!problem.is_invariant()) return "";
  if (problem.is_mla_generation())
    return "invariant numerics needs separate K and V, and the problem is latent attention";
  for (const DataType type : {problem.data_type_q, problem.data_type_k, problem.data_type_v}) {
    if (bits_of(type) == 16) continue;
    return "invariant numerics needs Q and KV of 16 bits, and the problem has " +
           std::string(to_string(type));
  }
  return "";
}

}  // namespace cubinet
