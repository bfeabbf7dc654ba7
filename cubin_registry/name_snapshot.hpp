// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import_table.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cubinet {

// The kernels of all imports by name, in memory. Whether a row of the index is what was written shows its
// checksum, but whether one is missing from a name's answer shows only a look at all of them: a damaged name
// is a row under no name, and the kernel of an older import must not take its place. So all are read, once
// for the imports that there are. Not thread-safe.
class NameSnapshot {
 public:
  bool is_of(const std::vector<IndexedImport>& imports) const;
  // `rows` are those of the whole table, of which those of imports are taken. corruption when an import does
  // not have as many as it says.
  Result<void> fill(const std::vector<IndexedImport>& imports, const std::vector<KernelRow>& rows,
                    std::vector<NamedKernel> plain);
  // Last pinned first; of one import its attention kernels first.
  std::vector<NamedKernel> find(std::string_view function_name) const;

 private:
  std::vector<ImportStamp> stamps_;
  std::unordered_map<std::string, std::vector<NamedKernel>> kernels_;
};

}  // namespace cubinet
