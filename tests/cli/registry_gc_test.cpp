// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <chrono>
#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

KernelSpec norm_spec() {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  KernelSpec spec;
  spec.name = "rms_norm";
  spec.set("hidden_size", 256);
  const auto resolved = (*catalog->find("rms_norm"))->resolve(spec);
  REQUIRE(resolved);
  return *resolved;
}

}  // namespace

TEST_CASE("gc removes stale entries and keeps current ones and those of unknown templates") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run({"compile", "rms_norm", "-p", "hidden_size=256", "--target", "sm_90a"}).status == 0);
  publish(sandbox, {make_cubin(norm_spec(), {}, "another compiler"), make_cubin(named_spec("not here"))});
  const ToolResult dry = sandbox.run({"registry", "gc", "--stale", "--dry-run", "--json"});
  CAPTURE(dry.err);
  REQUIRE(dry.status == 0);
  CHECK(dry.json()["stale"].size() == 1);
  CHECK(dry.json()["unknown"] == 1);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
  const ToolResult done = sandbox.run({"registry", "gc", "--stale", "--json"});
  CHECK(done.status == 0);
  CHECK(done.json()["stale"][0]["fingerprint"] == fake_fingerprint("another compiler").to_string());
  CHECK(contains(done.err, "--template-file"));
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);
  CHECK(sandbox.run({"compile", "rms_norm", "-p", "hidden_size=256", "--target", "sm_90a", "--json"})
            .json()["results"][0]["source"] == "registry");
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("an image that was added is neither stale nor of a template to be named") {
  const Sandbox sandbox;
  sandbox.write("mine.cubin", as_text(make_fake_cubin({})));
  REQUIRE(sandbox.run({"registry", "add", sandbox.path("mine.cubin")}).status == 0);
  const ToolResult pruned = sandbox.run({"registry", "gc", "--stale", "--json"});
  CHECK(pruned.status == 0);
  CHECK(pruned.json()["stale"].empty());
  CHECK(pruned.json()["unknown"] == 0);
  CHECK(sandbox.run({"registry", "show", "mine"}).status == 0);
}

TEST_CASE("what was adopted of another compiler is not stale") {
  const Sandbox sandbox;
  std::filesystem::create_directories(sandbox / "cache/entries/ab");
  sandbox.write("cache/entries/ab/" + std::string(62, 'c'), as_text(make_fake_cubin({})));
  REQUIRE(sandbox.run({"adopt", sandbox.path("cache"), "--tool-version", "1"}).status == 0);
  const ToolResult pruned = sandbox.run({"registry", "gc", "--stale", "--json"});
  CHECK(pruned.json()["stale"].empty());
  CHECK(pruned.json()["unknown"] == 0);
  CHECK(sandbox.run({"registry", "show", "cuda.core"}).status == 0);
}

TEST_CASE("an entry from a bundle is stale only when its interface version does not fit") {
  const Sandbox sandbox;
  const auto files = posix_file_system();
  Cubin fitting = make_cubin(norm_spec(), {}, "fitting");
  FakeCubin description;
  description.filler = 7;
  Cubin outdated = make_cubin(norm_spec(), description, "outdated");
  CubinRecord record = *outdated.record;
  record.interface_version = 999;
  outdated.record = std::make_shared<const CubinRecord>(record);
  REQUIRE(create_bundle(sandbox / "b.bundle", {fitting, outdated}, {}, files));
  REQUIRE(sandbox.run({"bundle", "import", sandbox.path("b.bundle")}).status == 0);
  const auto stale = sandbox.run({"registry", "gc", "--stale", "--json"}).json()["stale"];
  REQUIRE(stale.size() == 1);
  CHECK(stale[0]["interface_version"] == 999);
}

TEST_CASE("gc without stale removes no entry") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  CHECK(sandbox.run({"registry", "gc"}).status == 0);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
}

TEST_CASE("stale cannot be told without a compiler") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  sandbox.write("none.so", "");
  CHECK(sandbox.run({"registry", "gc", "--stale", "--nvrtc", sandbox.path("none.so")}).status == 3);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
}

TEST_CASE("a dry run of gc reports what gc then does") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  std::filesystem::remove(first_file(sandbox.home() / "cubins", ".cubin"));
  sandbox.write("home/cubins/README", "no cubin");
  std::filesystem::create_directories(sandbox.home() / "cubins/ab");
  sandbox.write("home/cubins/ab/" + std::string("ab") + std::string(62, '0') + ".cubin", "nobody names it");
  sandbox.write("home/records/.young.1.2.3.tmp", "somebody may be at work on it");
  auto dry = sandbox.run({"registry", "gc", "--dry-run", "--json"}).json();
  CHECK(dry["entries_without_image"] == 1);
  CHECK(dry["swept_files"] == 1);
  CHECK(dry["swept_bytes"] == 15);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
  auto done = sandbox.run({"registry", "gc", "--json"}).json();
  for (auto* document : {&dry, &done})
    document->erase("dry_run");
  CHECK(dry == done);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 2);
  const auto again = sandbox.run({"registry", "gc", "--dry-run", "--json"}).json();
  CHECK(again["entries_without_image"] == 0);
  CHECK(again["swept_files"] == 0);
  CHECK(std::filesystem::exists(sandbox / "home/cubins/README"));
}

TEST_CASE("headers of an NVRTC that is not found any more are removed") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run({"compile", "rms_norm", "-p", "hidden_size=256", "--target", "sm_90a"}).status == 0);
  const std::filesystem::path place = sandbox.home() / "headers/0123456789abcdef0123456789abcdef";
  std::filesystem::create_directories(place);
  const auto dry = sandbox.run({"registry", "gc", "--dry-run", "--json"});
  REQUIRE_MESSAGE(dry.status == 0, dry.err);
  CHECK(dry.json()["header_folders"] == 1);
  CHECK(std::filesystem::exists(place));
  CHECK(contains(sandbox.run({"registry", "gc"}).out, "headers of 1 NVRTC release"));
  CHECK_FALSE(std::filesystem::exists(place));
}

TEST_CASE("gc says what would go for a limit and why, and then takes it away") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  publish(sandbox, cubins);
  // As if they had been published three days ago.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.home() / "records")) {
    if (!entry.is_directory())
      std::filesystem::last_write_time(
          entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(72));
  }
  REQUIRE(sandbox.run({"registry", "pin", "two"}).status == 0);
  const auto all = sandbox.run({"registry", "gc", "--max-bytes", "1G", "--json"}).json();
  CHECK(all["evicted"].empty());
  const ToolResult dry = sandbox.run({"registry", "gc", "--max-bytes", "1", "--dry-run"});
  CHECK(dry.status == 0);
  CHECK(contains(dry.out, "never used"));
  CHECK(contains(dry.err, "pinned"));
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 3);
  const auto done = sandbox.run({"registry", "gc", "--max-bytes", "1", "--json"}).json();
  CHECK(done["evicted"].size() == 2);
  CHECK(done["pinned_bytes"] == cubins[2].record->size);
  const auto left = sandbox.run({"registry", "list", "--json"}).json()["entries"];
  REQUIRE(left.size() == 1);
  CHECK(left[0]["template"] == "two");
  CHECK(sandbox.run({"registry", "gc", "--max-bytes", "1K", "--low", "2K"}).status == 2);
  CHECK(sandbox.run({"registry", "gc", "--low", "2K"}).status == 2);
  CHECK(sandbox.run({"registry", "verify"}).status == 0);
}

TEST_CASE("gc without a size keeps the limit of the home") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  REQUIRE(sandbox.run({"registry", "limit", "1K"}).status == 0);
  const ToolResult kept = sandbox.run({"registry", "gc", "--json"});
  CHECK(kept.json()["limit"]["high"] == 1024);
  CHECK(kept.json()["evicted"].empty());  // they were published just now
  CHECK(kept.json()["recent_bytes"] == kept.json()["kept_bytes"]);
  CHECK(contains(kept.err, "recent"));
}

TEST_CASE("gc refuses a home whose downloads are a link, and removes nothing that it leads to") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  std::filesystem::create_directories(sandbox / "old/d");
  sandbox.write("old/d/f", "mine");
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 400);
  std::filesystem::last_write_time(sandbox / "old/d/f", long_ago);
  std::filesystem::create_directory_symlink(sandbox / "old", sandbox.home() / "downloads");
  const ToolResult refused = sandbox.run({"registry", "gc"});
  CHECK(refused.status == 3);
  CHECK(contains(refused.err, "downloads' is no folder"));
  CHECK(std::filesystem::exists(sandbox / "old/d/f"));
}
