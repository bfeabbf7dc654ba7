// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <string_view>

namespace cubinet {

// Kernels that are known by what the stores hold, not by a template. What Runtime::prepare() promises of
// them.

// The one kernel of this maker and name that has every parameter of `asked`. `templates` are told where the
// name is neither a template's nor in any store.
Result<KernelSpec> held_kernel(Library& library, const KernelSpec& asked, const TemplateCatalog& templates);

// The one kernel of this key, or that has a function of this name; "NAME@PIN" says which of several.
Result<KernelSpec> kernel_by_name(Library& library, std::string_view key_or_name);

}  // namespace cubinet
