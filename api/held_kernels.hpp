// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <string_view>

namespace cubinet {

// Lookup of kernels by the content of stores instead of a template, as documented at
// Runtime::resolve().

// Returns the only kernel of this maker and name that has every parameter of `asked`. The error
// lists `templates` if neither a template nor a store has the name.
Result<KernelSpec> held_kernel(Library& library, const KernelSpec& asked, const TemplateCatalog& templates);

// Returns the only kernel of this key, or with a function of this name. "NAME@PIN" selects one of
// several.
Result<KernelSpec> kernel_by_name(Library& library, std::string_view key_or_name);

}  // namespace cubinet
