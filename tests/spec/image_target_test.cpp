// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/image_target.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

TEST_CASE("machine code and PTX are told apart by name, both ways") {
  for (const SmTarget known : known_targets()) {
    const auto cubin = ImageTarget::parse(known.to_string());
    const auto ptx = ImageTarget::parse(known.compute_name());
    REQUIRE(cubin);
    REQUIRE(ptx);
    CHECK(*cubin == ImageTarget{known, ImageKind::cubin});
    CHECK(*ptx == ImageTarget{known, ImageKind::ptx});
    CHECK(cubin->to_string() == known.to_string());
    CHECK(ptx->to_string() == known.compute_name());
  }
  CHECK_FALSE(ImageTarget::parse("compute_101"));
  CHECK_FALSE(ImageTarget::parse("compute_"));
  const Error unknown = ImageTarget::parse("compute_83").error();
  CHECK(unknown.message == "'compute_83' is no known target of PTX");
  CHECK(unknown.remedy.starts_with("known targets: compute_75 compute_80 "));
  CHECK_FALSE(ImageTarget::parse("compute_sm_90a_"));
}

}  // namespace
}  // namespace cubinet
