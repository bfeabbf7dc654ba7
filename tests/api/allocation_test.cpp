// SPDX-License-Identifier: Apache-2.0
#include "device_fixture.hpp"
#include "support/allocation_count.hpp"

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("a hit allocates nothing, by whatever entry point it is asked for") {
  // The name that is passed by is too long for the small buffer of a string.
  std::string source = kScaleTemplate;
  for (const std::string& before :
       {std::string("\"kernels\": [ {\"name\": \"scale"), std::string("void scale")})
    source.insert(source.find(before) + before.size(), "_each_element_by_the_factor");
  const TempDir home;
  auto options = device_options(home / "h");
  options.templates = scale_catalog(source);
  const auto runtime = make_runtime(std::move(options));
  const auto kernel = *runtime->prepare(scale_spec());
  REQUIRE(runtime->function(*kernel, 0));
  for (const std::string_view entry_point : {"", "scale_each_element_by_the_factor", "scale_twice"}) {
    const unsigned before = allocations();
    const bool found = runtime->function(*kernel, 0, entry_point).has_value();
    const unsigned after = allocations();
    CHECK(found);
    CHECK_MESSAGE(after == before, entry_point);
  }
  CHECK(allocations() > 0);
}

}  // namespace
}  // namespace cubinet
