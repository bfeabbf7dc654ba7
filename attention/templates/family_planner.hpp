// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "declared_kernels.hpp"
#include "operation_class.hpp"

#include <string>
#include <variant>

namespace cubinet {

// The plan of a family, without AttentionPlan::kernel_version, or the reason why there is none.
using FamilyAnswer = std::variant<AttentionPlan, std::string>;

// Plans a request with one family of any class. It resolves the specification with the family's
// template, finds the existing kernels, observes the request's kernel and target policy, and
// completes the family's plan with the row and the templates' launch shapes. If kernels may be
// compiled, existing builds that are nearly as fast as the best kernel precede compilation
// (KernelChoice).
// Returns an error for a failure, such as a template that is not in the catalog. REQUIRES: the gap
// of the family's class finds nothing.
Result<FamilyAnswer> plan_with_family(const TemplateFamily& family, const DeclaredKernels& declared,
                                      const PlanRequest& request);

}  // namespace cubinet
