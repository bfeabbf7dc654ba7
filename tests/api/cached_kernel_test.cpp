// SPDX-License-Identifier: Apache-2.0
#include "cached_kernel.hpp"

#include "store_fixture.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>
#include <cubinet/spec/user_image.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

std::shared_ptr<const KernelTemplate> norm_template() {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find("rms_norm");
  REQUIRE(found);
  return *found;
}

KernelSpec norm() {
  return KernelSpec{"rms_norm", {}}.set("hidden_size", 4096);
}

struct Prepared {
  std::shared_ptr<const char> owner = std::make_shared<const char>();
  std::shared_ptr<test::ShelfStore> shelf = std::make_shared<test::ShelfStore>();
  TemplateCatalog templates = *TemplateCatalog::builtin();
  Library library{{shelf}, {}};
  KernelCache kernels{owner, templates, library};
};

TEST_CASE("every form in which a kernel is asked for leads to one object") {
  Prepared prepared;
  const auto first = prepared.kernels.resolve(norm());
  REQUIRE(first);
  const KernelSpec resolved = *norm_template()->resolve(norm());
  CHECK(*prepared.kernels.resolve(resolved) == *first);
  CHECK(*prepared.kernels.resolve(norm()) == *first);
  CHECK(prepared.kernels.resolve_held(identify(resolved)) == *first);
  CHECK((*first)->owner() == prepared.owner.get());
  CHECK((*first)->spec() == resolved);
  CHECK((*first)->id() == identify(resolved));
  CHECK((*first)->request() != nullptr);
}

TEST_CASE("a kernel that a store holds is prepared without its template, by specification, key and name") {
  Prepared prepared;
  const test::ShelfBuild build{KernelSpec{"elsewhere", {}}.set("width", 8)};
  CHECK_FALSE(prepared.kernels.resolve(build.spec));
  prepared.shelf->put(build.make());
  const auto first = prepared.kernels.resolve(build.spec);
  REQUIRE(first);
  CHECK((*first)->request() == nullptr);
  CHECK(*prepared.kernels.resolve(KernelSpec{"elsewhere", {}}) == *first);
  CHECK(*prepared.kernels.resolve("kernel") == *first);
  CHECK(*prepared.kernels.resolve(build.make().record->identity.key().to_string()) == *first);
  test::ShelfBuild wider = build;
  wider.spec.set("width", 16);
  prepared.shelf->put(wider.make());
  CHECK_FALSE(prepared.kernels.resolve(KernelSpec{"elsewhere", {}}));  // two fit by now
  CHECK(*prepared.kernels.resolve(build.spec) == *first);
}

TEST_CASE("an image is kept once, and found again by its name, its key and a function") {
  Prepared prepared;
  test::FakeCubin description;
  description.kernels = {{"first", 16}, {"second", 0}};
  const Bytes image = test::make_fake_cubin(description);
  const auto kernel = prepared.kernels.resolve("mine", image);
  REQUIRE_MESSAGE(kernel.has_value(), kernel.error().to_line());
  CHECK((*kernel)->request() == nullptr);
  CHECK(*prepared.kernels.resolve("mine", image) == *kernel);
  const auto builds = prepared.shelf->find((*kernel)->id());
  REQUIRE(builds);
  REQUIRE(builds->size() == 1);
  CHECK(builds->front()->digest == sha256(image));

  KernelCache later{prepared.owner, prepared.templates, prepared.library};
  for (const std::string& name :
       {std::string("mine"), std::string("second"), "mine@" + sha256(image).to_hex().substr(0, 8),
        builds->front()->identity.key().to_string()}) {
    CAPTURE(name);
    const auto found = later.resolve(name);
    REQUIRE(found);
    CHECK((*found)->id() == (*kernel)->id());
  }
  CHECK(later.resolve(KernelSpec{"mine", {}, KernelMaker::function}));

  description.filler = 7;
  const auto other = prepared.kernels.resolve("mine", test::make_fake_cubin(description));
  REQUIRE(other);
  CHECK(*other != *kernel);
  CHECK(later.resolve("mine").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("an image that a bundle holds is not kept once more, and one that nobody takes is in memory") {
  const Bytes image = test::make_fake_cubin({});
  const auto spec = spec_of_user_image("mine", image);
  REQUIRE(spec);
  const auto builds = builds_of_user_image(*spec, image);
  REQUIRE(builds);
  auto bundle = std::make_shared<test::ShelfStore>(KernelSource::bundle, "/b.bundle", false);
  bundle->put(builds->front());
  auto home = std::make_shared<test::ShelfStore>();
  TemplateCatalog templates = *TemplateCatalog::builtin();
  Library with_bundle{{home, bundle}, {}};
  CHECK(KernelCache(nullptr, templates, with_bundle).resolve("mine", image));
  CHECK(home->published == 0);

  home->full = true;
  Library full{{home}, {}};
  KernelCache kernels(nullptr, templates, full);
  CHECK(kernels.resolve("mine", image));
  CHECK(home->published == 1);
  CHECK(kernels.resolve("mine"));
  CHECK(kernels.resolve("mine", as_bytes("no image")).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a build whose template takes other parameters by now is no kernel to prepare") {
  Prepared prepared;
  CHECK(prepared.kernels.resolve_held(identify(norm())) == nullptr);
  CHECK(prepared.kernels.resolve_held(identify(KernelSpec{"rms_norm", {}}.set("colour", 3))) == nullptr);
}

TEST_CASE("a kernel that is loaded nowhere has no function and nothing to forget") {
  const auto source = norm_template();
  const CachedKernel kernel(nullptr, source, norm());
  const auto function = kernel.find(3, {}, 1);
  REQUIRE(function);
  CHECK_FALSE(*function);
  CHECK_FALSE(kernel.forget(3));
  CHECK_FALSE(kernel.forget(-1));
}

TEST_CASE("an entry point that does not exist is named") {
  const auto picked = pick_function({}, "reduce", norm());
  REQUIRE_FALSE(picked);
  CHECK(picked.error().code == ErrorCode::not_found);
  CHECK(picked.error().message.find("reduce") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
