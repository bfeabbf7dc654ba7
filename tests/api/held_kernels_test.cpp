// SPDX-License-Identifier: Apache-2.0
#include "held_kernels.hpp"

#include "store_fixture.hpp"

namespace cubinet {
namespace {

using namespace test;

KernelSpec gemm(std::string_view pin) {
  KernelSpec spec{"gemm_bf16", {}, KernelMaker::function};
  return pin.empty() ? spec : spec.set("pin", pin);
}

ShelfBuild gemm_build(std::string_view pin, SmTarget target = {9, 0, TargetKind::specific}) {
  ShelfBuild build{gemm(pin), target, "published", CubinOrigin::imported, 1};
  build.symbol = "gemm_bf16";
  return build;
}

struct Shelf {
  std::shared_ptr<ShelfStore> store = std::make_shared<ShelfStore>(KernelSource::bundle, "/x.bundle", false);
  Library library{{store}, {}};
  TemplateCatalog templates;

  Result<KernelSpec> held(const KernelSpec& asked) { return held_kernel(library, asked, templates); }
  Result<KernelSpec> named(std::string_view name) { return kernel_by_name(library, name); }
};

TEST_CASE("a kernel that lies there is found as it is given, and by fewer parameters while one fits") {
  Shelf shelf;
  const KernelSpec first = KernelSpec{"scale", {}}.set("factor", 3).set("unroll", 1);
  const KernelSpec second = KernelSpec{"scale", {}}.set("factor", 4).set("unroll", 1);
  shelf.store->put(ShelfBuild{first}.make());
  CHECK(*shelf.held(first) == first);
  CHECK(*shelf.held(KernelSpec{"scale", {}}) == first);
  shelf.store->put(ShelfBuild{second}.make());
  CHECK(*shelf.held(KernelSpec{"scale", {}}.set("factor", 4)) == second);
  const auto several = shelf.held(KernelSpec{"scale", {}}.set("unroll", 1));
  REQUIRE_FALSE(several);
  CHECK(several.error().code == ErrorCode::invalid_argument);
  CHECK(several.error().remedy.find("factor") != std::string::npos);
  CHECK(several.error().remedy.find("unroll") == std::string::npos);
  CHECK(several.error().message.find("/x.bundle") != std::string::npos);
}

TEST_CASE("what lies nowhere is not found, by specification, key or name") {
  Shelf shelf;
  shelf.store->put(ShelfBuild().make());
  for (const auto& missing :
       {shelf.held(KernelSpec{"scale", {}}.set("width", 9)), shelf.held(KernelSpec{"skale", {}}),
        shelf.held(gemm("")), shelf.named("0123456789abcdef"), shelf.named("no_such_function"),
        shelf.named(""), shelf.named("kernel@0123")}) {
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ErrorCode::not_found);
  }
}

TEST_CASE("a kernel is found by its key on any target and by the name of a function") {
  Shelf shelf;
  const ShelfBuild baseline = gemm_build("0a1b", {9, 0, TargetKind::baseline});
  shelf.store->put(gemm_build("0a1b").make());
  shelf.store->put(baseline.make());
  CHECK(*shelf.named("gemm_bf16") == gemm("0a1b"));
  CHECK(*shelf.named(baseline.make().record->identity.key().to_string()) == gemm("0a1b"));
  CHECK(*shelf.held(gemm("")) == gemm("0a1b"));
}

TEST_CASE("a name that several kernels have is answered with their pins and keys, and the pin decides") {
  Shelf shelf;
  shelf.store->put(gemm_build("0a1b").make());
  shelf.store->put(gemm_build("0a2c").make());
  for (const char* name : {"gemm_bf16", "gemm_bf16@0a"}) {
    const auto several = shelf.named(name);
    REQUIRE_FALSE(several);
    CHECK(several.error().code == ErrorCode::invalid_argument);
    CHECK(several.error().message.find("@0a1b in /x.bundle") != std::string::npos);
    CHECK(several.error().message.find("@0a2c") != std::string::npos);
    CHECK(several.error().message.find(gemm_build("0a2c").make().record->identity.key().to_string()) !=
          std::string::npos);
  }
  CHECK(*shelf.named("gemm_bf16@0a2") == gemm("0a2c"));
  CHECK_FALSE(shelf.named("gemm_bf16@0b"));
}

TEST_CASE(
    "a function of a publisher is named by its own name, and where it is asked for as no kernel of its own") {
  Shelf shelf;
  for (const char* pin : {"0a1b", "0b2c"}) {
    ShelfBuild build{KernelSpec{"trtllm-gen", {}, KernelMaker::publisher}.set("pin", pin),
                     {9, 0, TargetKind::specific},
                     "published",
                     CubinOrigin::imported,
                     1};
    build.symbol = "fmha_decode";
    shelf.store->put(build.make());
  }
  const auto named = shelf.named("fmha_decode");
  REQUIRE_FALSE(named);
  CHECK(named.error().message.find(" fmha_decode@0a1b in ") != std::string::npos);
  CHECK(named.error().remedy.find("name one by its key") != std::string::npos);
  CHECK(shelf.named("fmha_decode@0b")->maker == KernelMaker::publisher);
  const auto asked = shelf.held(KernelSpec{"fmha_decode", {}, KernelMaker::function});
  REQUIRE_FALSE(asked);
  CHECK(asked.error().code == ErrorCode::not_found);
  CHECK(asked.error().message.find(" fmha_decode@0b2c in ") != std::string::npos);
  CHECK(asked.error().remedy.find("Runtime::resolve()") != std::string::npos);
}

TEST_CASE("a kernel is found by the name of its template or source and by the declared name of a function") {
  Shelf shelf;
  const KernelSpec scale = KernelSpec{"scale_add", {}}.set("rows", 3);
  ShelfBuild of_template{scale};
  of_template.symbol = "scaled";
  shelf.store->put(of_template.make());
  const KernelSpec source{"axpy", {}, KernelMaker::source};
  ShelfBuild of_source{source};
  of_source.symbol = "_ZN2my5scaleEPf";
  shelf.store->put(of_source.make());
  CHECK(*shelf.named("scale_add") == scale);
  CHECK(*shelf.named("scaled") == scale);
  CHECK(*shelf.named("axpy") == source);
  CHECK(*shelf.named("my::scale") == source);
  ShelfBuild other{KernelSpec(source).set("text", "other")};
  other.symbol = of_source.symbol;
  shelf.store->put(other.make());
  const auto several = shelf.named("my::scale");
  REQUIRE_FALSE(several);
  CHECK(several.error().message.find(" my::scale of axpy in /x.bundle") != std::string::npos);
  const std::string& remedy = several.error().remedy;
  CHECK(shelf.named(remedy.substr(remedy.rfind(' ') + 1)));
}

TEST_CASE("a function whose name looks like a key is found where no build has that key") {
  Shelf shelf;
  ShelfBuild build = gemm_build("");
  build.symbol = "0123456789abcdef";
  shelf.store->put(build.make());
  CHECK(*shelf.named("0123456789abcdef") == gemm(""));
}

}  // namespace
}  // namespace cubinet
