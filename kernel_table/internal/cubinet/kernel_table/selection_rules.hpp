// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cubinet {

// The rules for choosing among published kernels that changed between versions of FlashInfer's host
// code. The defaults are the rules of 0.6.2 (commit e079eee48). Each comment names the version that
// brought the change; all are in `fmhaKernels.cuh` of the package flashinfer-python.
struct SelectionRules {
  // 0.6.13: If false, splits of KV are not combined in a cluster when a row has 512 columns of V.
  bool clusters_at_512_columns = true;
  // 0.6.13: If true, query tokens of an e2m1 output share a tile like those of other outputs.
  bool groups_tokens_of_e2m1_output = false;
  // 0.6.13: If true, the group and the batch decide the tile of sparse latent attention, and
  // whether two CTAs form a pair.
  bool tiles_sparse_latent_by_group = false;
  // 0.6.14: If true, generation kernels that keep A and B produce more than 256 columns of V in
  // parts of 256, and a second launch combines their splits.
  bool splits_wide_keeps = false;
  // 0.6.16: If true, a group of latent attention that is no power of two, up to 64 heads, takes the
  // one tile that holds it.
  bool fits_latent_tile_to_group = false;
  // 0.6.16: If true, a row must leave 1,024 bytes of shared memory free.
  bool reserves_shared_memory = false;
  // 0.6.18: If true, several query tokens of latent attention share a tile of 64 rows (groups of 8,
  // 16 and 32, batches up to 16, pages of 32, BF16 or E4M3 with BF16 output).
  bool groups_latent_tokens = false;
  // 0.7.0: If true, a cluster combines the splits of a single latent sequence with one query token,
  // pages of 32, a tile of 16 and 128 columns of V per CTA.
  bool clusters_single_latent = false;
  // 0.7.0: If true, sparse latent attention takes half a tile for at most 16 query tokens only.
  bool halves_short_sparse_tiles = false;
  // 0.7.2.post1: If true, more than 16 splits become 16, which a cluster combines, while a CTA has
  // at most 4,096 KV tokens.
  bool limits_splits_to_cluster = false;

  friend bool operator==(const SelectionRules&, const SelectionRules&) = default;
};

// The rules of one version of the package.
struct VersionRules {
  std::string_view version;  // "0.6.13"
  SelectionRules rules;
};

// Returns all known versions, the oldest first. Versions between two of them may have either's
// rules: only versions whose host code was read are known.
std::span<const VersionRules> known_rules();

// Returns nullptr if the version is unknown.
const SelectionRules* find_rules(std::string_view version);

// Returns the known versions as a readable list: "0.6.2, 0.6.13 or 0.7.2".
std::string known_rule_versions();

}  // namespace cubinet
