// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/registry.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_table/conflict.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cubinet {

// The attention rows of a home as requests would use them: selection over these names no kernel that a
// Runtime with the same templates and compiler would pass over.
struct UsableRows {
  std::vector<KernelRow> rows;  // conflicts resolved
  std::vector<RowConflict> conflicts;
  std::size_t stale = 0;    // local builds that would be different today; only told where there is a compiler
  std::size_t foreign = 0;  // builds of another interface version of their template
};

// `compiler` may be null: then local builds of the right interface version are usable, as they are to a
// Runtime. A build of a template that is not in the catalogue stays in: nothing here contradicts it. The
// registry's errors, and the compiler's where it cannot tell what it would build.
Result<UsableRows> usable_rows(Registry& registry, const TemplateCatalog& templates, Compiler* compiler,
                               const CompileOptions& options = {});

}  // namespace cubinet
