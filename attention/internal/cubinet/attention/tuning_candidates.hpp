// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <vector>

namespace cubinet {

// The limits on the candidates of each template, which the cost model orders. The kernel of the
// plan that is made without measurements is a candidate in addition, with as many divisions.
struct CandidateLimits {
  std::size_t kernels = 12;
  std::size_t divisions = 4;   // of each kernel
  double relative_cost = 1.5;  // the estimate, relative to the template's smallest
};

// Returns the plans to measure for a problem: first the plan that is made without measurements,
// then the others in the order of the cost model. The options of each plan's request name its
// kernel if its backend accepts one. unsupported, with every backend's reason, if nothing launches
// the problem.
Result<std::vector<AttentionPlan>> tuning_candidates(const PlanRequest& request,
                                                     const AttentionBackends& backends,
                                                     const CandidateLimits& limits = {});

// Returns the version of a template: its interface version and a digest of its text and headers.
std::string version_of(const KernelTemplate& kernel_template);

}  // namespace cubinet
