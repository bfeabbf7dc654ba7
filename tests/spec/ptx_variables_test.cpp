// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/ptx_variables.hpp>

#include <doctest/doctest.h>

using cubinet::needed_variables;

namespace {

using Names = std::vector<std::string>;

constexpr const char* kFunction = R"(
.visible .entry k(.param .u64 k_param_0)
{
  .reg .b64 %rd<3>;
  mov.u64 %rd1, used;
  ld.global.u32 %r1, [read+8];
  { .global .align 4 .u32 inner; }
  ret;
}
)";

Names needed(const std::string& declarations, const std::set<std::string, std::less<>>& named = {}) {
  return needed_variables(".version 9.0\n.target sm_90a\n" + declarations + kFunction, named);
}

}  // namespace

TEST_CASE("variables that functions use are needed, and those that nothing uses are not") {
  CHECK(
      needed(
          ".global .align 4 .u32 used = 1;\n.global .align 4 .u32 unused;\n"
          ".global .align 4 .b8 read[16] = {1, 0, 0, 0, 2};\n.weak .global .align 1 .u8 inline_one = 1;\n") ==
      Names{"used", "read"});
}

TEST_CASE("variables that the host may look up are needed") {
  CHECK(needed(".visible .global .align 4 .u32 shown;\n.const .align 4 .u32 constant = 5;\n"
               ".weak .const .align 4 .u32 weak_constant;\n.extern .global .u32 elsewhere;\n"
               ".global .attribute(.managed) .align 4 .u32 managed_one;\n"
               ".weak .global .align 4 .u32 named_one;\n",
               {"named_one", "absent"}) ==
        Names{"shown", "constant", "weak_constant", "elsewhere", "managed_one", "named_one"});
}

TEST_CASE("what the initial value of a needed variable uses is needed") {
  CHECK(needed(".global .align 4 .u32 far;\n.global .align 8 .u64 near[2] = {generic(far)+4, 0};\n"
               ".global .align 8 .u64 read[1] = {near};\n.global .align 8 .u64 lost[1] = {other};\n"
               ".global .align 4 .u32 other;\n") == Names{"far", "near", "read"});
}

TEST_CASE("the linkage of one declaration is not that of the next") {
  CHECK(needed(".visible .func helper;\n.global .align 4 .u32 hidden;\n"
               ".visible .global .align 4 .u32 shown;\n.global .align 4 .u32 hidden_too;\n") ==
        Names{"shown"});
}

TEST_CASE("comments, textures and text without an end are read") {
  CHECK(needed("// .visible .global .u32 no;\n/* .const .u32 nor; */\n.global .texref used;\n"
               ".global .align 4 .v4 .f32 read;\n") == Names{"used", "read"});
  CHECK(needed_variables("", {}).empty());
  CHECK(needed_variables(".global", {}).empty());
  CHECK(needed_variables(".visible .global .align 4 .u32 cut = {1", {}) == Names{"cut"});
}
