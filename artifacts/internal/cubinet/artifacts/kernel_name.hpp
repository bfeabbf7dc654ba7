// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// The names of published attention kernels describe them:
//
//   fmhaSm<arch>Kernel_ <types> <dims> <layout> <mask> [<sparse>] [P<page> | Paged]
//     [MultiCtasKv[Cga | GmemSep]]
//     VarSeq [SkipsSoftmax] Q<tile>Kv<tile or step> [SageQ<n>] [SageK<n>] [SageP<n>] [SageV<n>]
//     Static | Persistent [2Cta] [Grouped] Context | SwapsAbForGen | KeepsAbForGen
//
// The name only cross-checks the columns of a row. Selection uses the columns.
struct NameCheck {
  // True if the name follows the grammar. Otherwise nothing was compared.
  bool understood = false;
  // the first difference, for example "its name says page 32, the row 64"
  std::optional<std::string> contradiction;
};

// Compares a row's name with its columns. The following are not contradictions: "Dense" in the name
// of a generation kernel whose row is causal; the number after "Kv", which is the tile in most
// names and the step in some; "MultiCtasKv" alone for either reduction through global memory; a
// paged row of any page size without a page in the name.
NameCheck check_kernel_name(const KernelRow& row);

}  // namespace cubinet
