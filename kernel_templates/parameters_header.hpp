// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "template_declaration.hpp"

#include <string>
#include <vector>

namespace cubinet {

// Returns the text of <cubinet/parameters.cuh>: constants and types in cubinet::parameters, then
// macros. Equal inputs give equal texts. REQUIRES: `resolved` holds every parameter of the
// declaration, checked.
std::string write_parameters_header(const TemplateDeclaration& declaration, const KernelSpec& resolved,
                                    const std::vector<EntryPoint>& entry_points);

}  // namespace cubinet
