// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/spec/kernel_key.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// For whom an explanation is given.
struct ExplainScope {
  ComputeCapability device;
  TargetPolicy policy;
};

// Why this row of the table, or another build of its kernel, is taken on the device: of attention rows by
// key, of any imported kernel by function name. nullopt where the home has none.
Result<std::optional<ExitStatus>> explain_row(const Context& context, KernelKey key,
                                              const ExplainScope& scope);
Result<std::optional<ExitStatus>> explain_function(const Context& context, const std::string& name,
                                                   const ExplainScope& scope);

}  // namespace cubinet::cli
