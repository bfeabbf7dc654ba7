// SPDX-License-Identifier: Apache-2.0
#include "prepared_kernel.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

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

TEST_CASE("every form in which a kernel is asked for leads to one object") {
  const auto owner = std::make_shared<const char>();
  PreparedKernels kernels(owner);
  const auto source = norm_template();
  const auto resolved = source->resolve(norm());
  REQUIRE(resolved);
  const KernelIdentity brief = identify_without_target(norm());
  const KernelIdentity complete = identify_without_target(*resolved);
  CHECK(kernels.find(brief) == nullptr);
  const auto first = kernels.intern(brief, *resolved, source);
  const auto second = kernels.intern(complete, *resolved, source);
  CHECK(first == second);
  CHECK(kernels.find(brief) == first);
  CHECK(kernels.find(complete) == first);
  CHECK(first->owner() == owner.get());
  CHECK(first->spec() == *resolved);
}

TEST_CASE("a kernel that is loaded nowhere has no function and nothing to forget") {
  const auto source = norm_template();
  const CachedKernel kernel(nullptr, source, norm());
  const auto function = kernel.find(3, {});
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
