// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/selection_rules.hpp>

#include <array>

namespace cubinet {
namespace {

// Each version has the rules of the one before it and its own changes.
constexpr SelectionRules k0_6_2{};
constexpr SelectionRules k0_6_13 = [] {
  SelectionRules rules = k0_6_2;
  rules.clusters_at_512_columns = false;
  rules.groups_tokens_of_e2m1_output = true;
  rules.tiles_sparse_latent_by_group = true;
  return rules;
}();
constexpr SelectionRules k0_6_14 = [] {
  SelectionRules rules = k0_6_13;
  rules.splits_wide_keeps = true;
  return rules;
}();
constexpr SelectionRules k0_6_16 = [] {
  SelectionRules rules = k0_6_14;
  rules.fits_latent_tile_to_group = true;
  rules.reserves_shared_memory = true;
  return rules;
}();
constexpr SelectionRules k0_6_18 = [] {
  SelectionRules rules = k0_6_16;
  rules.groups_latent_tokens = true;
  return rules;
}();
constexpr SelectionRules k0_7_0 = [] {
  SelectionRules rules = k0_6_18;
  rules.clusters_single_latent = true;
  rules.halves_short_sparse_tiles = true;
  return rules;
}();
constexpr SelectionRules k0_7_2_post1 = [] {
  SelectionRules rules = k0_7_0;
  rules.limits_splits_to_cluster = true;
  return rules;
}();

constexpr std::array<VersionRules, 15> kVersions = {{
    {"0.6.2", k0_6_2},
    {"0.6.13", k0_6_13},
    {"0.6.14", k0_6_14},
    {"0.6.15", k0_6_14},
    {"0.6.15.post1", k0_6_14},
    {"0.6.16", k0_6_16},
    {"0.6.16.post4", k0_6_16},
    {"0.6.17", k0_6_16},
    {"0.6.18", k0_6_18},
    {"0.6.18.post1", k0_6_18},
    {"0.7.0", k0_7_0},
    {"0.7.0.post1", k0_7_0},
    // 0.7.1 changed only which groups of sparse latent attention are refused.
    {"0.7.1", k0_7_0},
    {"0.7.2", k0_7_0},
    {"0.7.2.post1", k0_7_2_post1},
}};

}  // namespace

std::span<const VersionRules> known_rules() {
  return kVersions;
}

const SelectionRules* find_rules(std::string_view version) {
  for (const VersionRules& known : kVersions) {
    if (known.version == version) return &known.rules;
  }
  return nullptr;
}

std::string known_rule_versions() {
  std::string list;
  for (std::size_t i = 0; i < kVersions.size(); ++i) {
    if (i > 0) list += i + 1 == kVersions.size() ? " or " : ", ";
    list += kVersions[i].version;
  }
  return list;
}

}  // namespace cubinet
