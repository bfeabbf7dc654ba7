// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include <cubinet/cubin_registry/registry.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr SmTarget kFamily{10, 0, TargetKind::family};
constexpr SmTarget kSpecific{10, 3, TargetKind::specific};

KernelRow attention_row(SmTarget target, std::uint16_t tile_size_q) {
  KernelRow row;
  row.selector.tokens_per_page = 64;
  row.selector.tile_size_q = tile_size_q;
  row.traits.step_q = tile_size_q;
  row.implementation = "trtllm-gen";
  row.target = target;
  row.function_name = "fmha_" + target.to_string() + "_q" + std::to_string(tile_size_q);
  row.threads = 512;
  row.digest = sha256(as_bytes(row.function_name));
  return row;
}

std::string key_of_row(const KernelRow& row) {
  return identify(published_spec(row), row.target).key().to_string();
}

// Makes the sandbox's home know a folder of published kernels; explaining opens none of its files.
void publish(const Sandbox& sandbox, ArtifactImport import) {
  import.folder = sandbox / "published";
  for (const KernelRow& row : import.rows)
    import.files.push_back({row.function_name + ".cubin", row.digest, 1});
  for (const PlainKernel& kernel : import.plain)
    import.files.push_back({kernel.function_name + ".cubin", kernel.digest, 1});
  std::sort(import.files.begin(), import.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.name < b.name; });
  RegistryOptions options;
  options.home = sandbox.home();
  auto registry = Registry::open(options);
  REQUIRE(registry);
  const auto published = (*registry)->artifacts().publish(import);
  REQUIRE_MESSAGE(published, (published ? "" : published.error().to_line()));
}

void import_into(const Sandbox& sandbox) {
  ArtifactImport import;
  import.rows = {attention_row(kFamily, 8), attention_row(kSpecific, 8), attention_row(kFamily, 16)};
  import.plain = {{ "gemm", 1024, 256, kFamily, sha256(as_bytes("gemm")) }};
  publish(sandbox, std::move(import));
}

}  // namespace

TEST_CASE("the key of an imported row is explained with the builds of its kernel for other targets") {
  const Sandbox sandbox;
  import_into(sandbox);
  const std::string key = key_of_row(attention_row(kFamily, 8));
  const auto newer = sandbox.run({"explain", key, "--device", "10.3", "--json"});
  REQUIRE(newer.status == 0);
  CHECK(newer.json()["chosen"]["function"] == "fmha_sm_103a_q8");
  CHECK(newer.json()["candidates"].size() == 2);
  const auto older = sandbox.run({"explain", key, "--device", "10.0", "--json"});
  CHECK(older.json()["chosen"]["function"] == "fmha_sm_100f_q8");
  CHECK(contains(older.out, "sm_103a code is specific to 10.3"));
  const auto family = sandbox.run({"explain", key, "--device", "10.3", "--prefer", "family", "--json"});
  CHECK(family.json()["chosen"]["target"] == "sm_100f");
  const auto none = sandbox.run({"explain", key, "--device", "9.0", "--json"});
  CHECK(none.status == 1);
  CHECK(none.json()["chosen"].is_null());
  CHECK(contains(none.json()["reason"], "runs on devices of compute capability 10.x only"));
  CHECK(none.json()["nearest"].empty());
  const auto pinned = sandbox.run({"explain", key_of_row(attention_row(kSpecific, 8)), "--device", "10.0",
                                   "--forbid", "sm_103a", "--json"});
  CHECK(pinned.json()["chosen"]["target"] == "sm_100f");
}

TEST_CASE("where no build of a row runs the nearest rows that do are named with what differs") {
  const Sandbox sandbox;
  ArtifactImport import;
  import.rows = {attention_row(kSpecific, 8), attention_row(kFamily, 16), attention_row(kFamily, 64)};
  import.rows[2].selector.tokens_per_page = 32;
  publish(sandbox, std::move(import));
  const std::string key = key_of_row(attention_row(kSpecific, 8));
  const auto result = sandbox.run({"explain", key, "--device", "10.0", "--json"});
  CHECK(result.status == 1);
  REQUIRE(result.json()["nearest"].size() == 2);
  CHECK(result.json()["nearest"][0]["function"] == "fmha_sm_100f_q16");
  CHECK(result.json()["nearest"][0]["differences"] == nlohmann::json::array({"tile_size_q 16 instead of 8"}));
  CHECK(result.json()["nearest"][1]["differences"].size() == 2);
}

TEST_CASE("an imported function is explained by its name") {
  const Sandbox sandbox;
  import_into(sandbox);
  for (const std::string name : {"gemm", "fmha_sm_100f_q16"}) {
    const auto here = sandbox.run({"explain", name, "--device", "10.0", "--json"});
    REQUIRE(here.status == 0);
    CHECK(here.json()["chosen"]["function"] == name);
  }
  CHECK(sandbox.run({"explain", "gemm", "--device", "12.0"}).status == 1);
  CHECK(sandbox.run({"explain", "gemm", "--device", "10.0", "--forbid", "sm_100f"}).status == 1);
}
