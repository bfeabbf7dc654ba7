// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <vector>

namespace cubinet {

// Returns the plans to measure for a problem: first the plan that is made without measurements,
// then the others in the order of the cost model. The options of each plan's request name its
// kernel if its backend accepts one. unsupported, with every backend's reason, if nothing launches
// the problem.
//
// Plans of a template that the model estimates at more than 1.5 times its fastest are left out, and
// so are those beyond `most_kernels` kernels and four divisions of each.
Result<std::vector<AttentionPlan>> tuning_candidates(const PlanRequest& request,
                                                     const AttentionBackends& backends,
                                                     std::size_t most_kernels = 12);

// Returns the version of a template: its interface version and a digest of its text and headers.
std::string version_of(const KernelTemplate& kernel_template);

}  // namespace cubinet
