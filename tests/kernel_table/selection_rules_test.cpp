// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/selection_rules.hpp>

#include <doctest/doctest.h>

#include <set>

namespace cubinet {
namespace {

TEST_CASE("rules are found by the exact version, and by no other text") {
  REQUIRE(find_rules("0.6.2") != nullptr);
  CHECK(*find_rules("0.6.2") == SelectionRules{});
  for (const char* text : {"", "0", "0.6", "0.6.1", "0.6.20", "0.8.0", " 0.6.13", "v0.6.13", "0.6.13 "})
    CHECK(find_rules(text) == nullptr);
}

TEST_CASE("each version is known once and named in the list of versions") {
  std::set<std::string_view> versions;
  for (const VersionRules& known : known_rules()) {
    CHECK(versions.insert(known.version).second);
    CHECK(find_rules(known.version) == &known.rules);
    CHECK(known_rule_versions().find(known.version) != std::string::npos);
  }
  CHECK(known_rule_versions().ends_with("0.7.2 or 0.7.2.post1"));
}

TEST_CASE("versions differ in the rules that their host code changed") {
  CHECK_FALSE(find_rules("0.6.13")->clusters_at_512_columns);
  CHECK_FALSE(find_rules("0.6.13")->splits_wide_keeps);
  CHECK(find_rules("0.6.14")->splits_wide_keeps);
  CHECK(*find_rules("0.6.14") == *find_rules("0.6.15"));
  CHECK_FALSE(find_rules("0.6.15")->reserves_shared_memory);
  CHECK(find_rules("0.6.16")->fits_latent_tile_to_group);
  CHECK(*find_rules("0.6.16") == *find_rules("0.6.17"));
  CHECK_FALSE(find_rules("0.6.17")->groups_latent_tokens);
  CHECK(find_rules("0.6.18")->groups_latent_tokens);
  CHECK_FALSE(find_rules("0.6.18")->clusters_single_latent);
  CHECK(find_rules("0.7.0")->halves_short_sparse_tiles);
  CHECK(*find_rules("0.7.0") == *find_rules("0.7.2"));
  CHECK_FALSE(find_rules("0.7.2")->limits_splits_to_cluster);
  CHECK(find_rules("0.7.2.post1")->limits_splits_to_cluster);
}

TEST_CASE("the default rules of each known header are known") {
  for (const char* pin : {"2f605255e71d673768f5bece66dde9e2e9f4c873347bfe8fefcffbf86a3c847d",
                          "c9a1572617ab34e9073d9166c5673434651f47fcd9cadf9320a7c99d7c6b9627",
                          "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418"}) {
    const PublishedHeader* header = find_published_header(std::string_view(pin));
    REQUIRE(header != nullptr);
    CHECK(find_rules(header->rules) != nullptr);
  }
}

}  // namespace
}  // namespace cubinet
