// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <vector>

namespace cubinet {

// What is measured of a problem: the plan that would be made without measurements first, the others as the
// cost model ranks them. The options of each plan's request name its kernel, where its backend takes one.
// Empty where nothing launches the problem.
//
// Of a template's, kernels and splits that the model thinks half as slow again as its fastest are left out,
// and what is beyond `most_kernels` kernels and four divisions of each.
Result<std::vector<AttentionPlan>> tuning_candidates(const PlanRequest& request,
                                                     const AttentionBackends& backends,
                                                     std::size_t most_kernels = 12);

// Which build of a template: its interface version and a digest of its text and headers.
std::string version_of(const KernelTemplate& kernel_template);

}  // namespace cubinet
