// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"

namespace cubinet {
namespace {

using test::ok;

TEST_CASE("a tool is known by name, and another names those that are") {
  for (const char* name : {"triton", "deepjit", "cuda.core"})
    CHECK(ok(find_cache_tool(name))->name == name);
  const auto unknown = find_cache_tool("tilelang");
  CHECK(unknown.error().code == ErrorCode::invalid_argument);
  CHECK(unknown.error().remedy.find("triton, deepjit, cuda.core") != std::string::npos);
  CHECK(find_cache_tool("tritn").error().remedy.find("did you mean triton?") == 0);
}

TEST_CASE("no tool takes the names of another, nor any that leads elsewhere") {
  const std::string names[] = {std::string(test::kTritonHopper), std::string(test::kDeepJit),
                               std::string(test::kCudaCoreHopper)};
  const auto tools = cache_tools();
  REQUIRE(tools.size() == std::size(names));
  for (std::size_t tool = 0; tool < tools.size(); ++tool) {
    for (std::size_t name = 0; name < std::size(names); ++name)
      CHECK(tools[tool]->is_entry(names[name]) == (tool == name));
    for (const std::string& hostile :
         {std::string(), std::string("."), std::string(".."), "../" + names[tool], names[tool] + "/..",
          names[tool] + "\n", names[tool] + ".", names[tool].substr(0, names[tool].size() - 1),
          "/" + names[tool]})
      CHECK_FALSE(tools[tool]->is_entry(hostile));
  }
}

TEST_CASE("a cubin says its target and its toolkit") {
  const EntryFacts facts = ok(read_cubin(test::make_fake_cubin({})));
  CHECK(facts.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(facts.kernel == "kernel");
  CHECK(facts.toolchain.starts_with("CUDA 1"));
  test::FakeCubin two;
  two.kernels = {{"one"}, {"two"}};
  two.target = {8, 0, TargetKind::baseline};
  CHECK(ok(read_cubin(test::make_fake_cubin(two))).kernel.empty());
  CHECK(ok(read_cubin(test::make_fake_cubin(two))).target == two.target);
  CHECK_FALSE(read_cubin(as_bytes("no cubin")));
}

}  // namespace
}  // namespace cubinet
