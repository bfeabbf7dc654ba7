// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/kernel_row.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// Published attention kernels say in their name what they are:
//
//   fmhaSm<arch>Kernel_ <types> <dims> <layout> <mask> [<sparse>] [P<page> | Paged] [MultiCtasKv[Cga |
//   GmemSep]]
//     VarSeq [SkipsSoftmax] Q<tile>Kv<tile or step> [SageQ<n>] [SageK<n>] [SageP<n>] [SageV<n>]
//     Static | Persistent [2Cta] [Grouped] Context | SwapsAbForGen | KeepsAbForGen
//
// The name is a cross-check of a row's columns and nothing is selected by it: the columns are what counts.
struct NameCheck {
  bool understood = false;                   // the name follows the grammar; otherwise nothing was compared
  std::optional<std::string> contradiction;  // the first difference: "its name says page 32, the row 64"
};

// Not contradictions: a generation kernel that keeps "Dense" where the row says causal; the number after
// "Kv", which is the tile in most names and the step in some; "MultiCtasKv" alone for either way through
// global memory; a paged row of any page size whose name has no page.
NameCheck check_kernel_name(const KernelRow& row);

}  // namespace cubinet
