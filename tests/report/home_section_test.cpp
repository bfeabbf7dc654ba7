// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/report/store_sections.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// A session without a compiler, and its home.
struct HomeSetting {
  HomeSetting() {
    session.home = (folder / "home").string();
    session.compiler.library = "/absent.so";
    home = ok(Home::open({.path = session.home}));
  }
  std::string section() const { return ok(home_section(session, home, kTestNow)).content.markup(); }

  TempDir folder;
  SessionOptions session;
  std::shared_ptr<Home> home;
};

}  // namespace

TEST_CASE("the first screen of a home counts builds, bytes, stale ones and those that were never used") {
  const HomeSetting setting;
  ok(setting.home->publish(make_cubin({"one", {}})));
  ok(setting.home->set_limit(SizeLimit{1, 1}));
  const std::string section = setting.section();
  CHECK(contains(section, "<dt>Builds</dt><dd>1</dd>"));
  CHECK(contains(section, "of the limit of 1 B"));
  CHECK(contains(section, "<dt>Never used</dt><dd>1</dd>"));
  CHECK(contains(section, "1 build could not be compared with the current build"));
  CHECK(contains(section, ">not checked<"));
}

TEST_CASE("the use of a build is shown with its age") {
  const HomeSetting setting;
  const Cubin cubin = make_cubin({"one", {}});
  ok(setting.home->publish(cubin));
  ok(setting.home->find(cubin.record->identity.kernel()));
  REQUIRE(ok(setting.home->load(cubin.record)));
  CHECK(contains(setting.section(), "<dt>Never used</dt><dd>0</dd>"));
}

TEST_CASE("an empty home has a section") {
  const HomeSetting setting;
  const Section section = ok(home_section(setting.session, setting.home, kTestNow));
  CHECK(section.kind == "Home");
  CHECK(section.title == setting.session.home);
  CHECK(contains(section.content.markup(), "There are no builds."));
}

TEST_CASE("channels of servers are listed with their last answer") {
  const HomeSetting setting;
  const Sha256Digest manifest = sha256(as_bytes("m"));
  ok(setting.home->downloads().change("https://x.example/<k>#stable", [&](KnownChannel& channel) {
    channel.answered(manifest, kTestNow - 7'200);
  }));
  const std::string section = setting.section();
  CHECK(contains(section, "https://x.example/&lt;k&gt;#stable"));
  CHECK(contains(section, "2 hours ago"));
  CHECK(contains(section, manifest.to_hex()));
}

TEST_CASE("a thousand kernels stay below a mebibyte") {
  const HomeSetting setting;
  for (int i = 0; i < 1'000; ++i) {
    KernelSpec spec{"attention_decode", {}};
    for (const char* name : {"dtype_kv", "dtype_o", "dtype_q", "mask"})
      spec.set(name, "bf16");
    for (const char* name :
         {"head_dim_qk", "head_dim_v", "page_size", "stages", "tile_size_kv", "tile_size_q"})
      spec.set(name, 128);
    spec.set("number", i);
    ok(setting.home->publish(make_cubin(spec)));
  }
  CHECK(setting.section().size() < 1'000'000);
}
