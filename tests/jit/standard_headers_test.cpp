// SPDX-License-Identifier: Apache-2.0
#include "standard_headers.hpp"

#include "include_closure.hpp"
#include "jit/test_templates.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

void write_header(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

// The texts by the names of the headers, of a source whose folders of the caller's and of a toolkit
// are these.
std::map<std::string, std::string> headers_of(const std::string& body, const HeaderSearch& search,
                                              std::size_t missing = 0) {
  const auto closure = close_over_includes(*test::parse_template(test::scale_source(body)), search);
  REQUIRE_MESSAGE(closure, closure.error().message);
  CHECK(closure->missing.size() == missing);
  std::map<std::string, std::string> headers;
  for (const CompilerHeader& header : closure->headers)
    headers.emplace(header.name, header.text);
  return headers;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what CCCL may have is looked for under its names, and nothing else is") {
  CHECK(counterparts_in_cccl("limits").front() == "cuda/std/limits");
  CHECK(counterparts_in_cccl("concepts").front() == "cuda/std/concepts");
  CHECK(counterparts_in_cccl("algorithm").back() == "cuda/std/__algorithm_");
  CHECK(counterparts_in_cccl("stdint.h").front() == "cuda/std/cstdint");
  CHECK(counterparts_in_cccl("limits.h").front() == "cuda/std/climits");
  for (const char* none : {"vector", "iostream", "string", "cuda/std/limits", "", "stdio.h", "stdbool.h"})
    CHECK_MESSAGE(counterparts_in_cccl(none).empty(), none);
}

TEST_CASE(
    "our header brings the names of its counterpart into std, and a C header into the global namespace") {
  const std::string text = standard_header("limits", "cuda/std/limits~2");
  CHECK(holds(text, "#include <cuda/std/limits~2>"));
  CHECK_FALSE(holds(text, "using ::"));
  CHECK(holds(standard_header("stdint.h", "cuda/std/cstdint"), "using ::cuda::std::uint32_t;"));
  CHECK(holds(standard_header("cstddef", "cuda/std/cstddef"), "#define offsetof("));
}

TEST_CASE("a C header needs none of CCCL, and no other does without") {
  CHECK(*header_without_cccl("math.h") == "#pragma once\n");
  CHECK(holds(*header_without_cccl("stdio.h"), "FILE;"));
  CHECK(holds(*header_without_cccl("stdint.h"), "typedef unsigned int uint32_t;"));
  CHECK(holds(*header_without_cccl("stddef.h"), "#define offsetof("));
  CHECK(holds(*header_without_cccl("float.h"), "#define FLT_MAX "));
  CHECK(holds(*header_without_cccl("limits.h"), "#define INT_MAX "));
  CHECK(header_without_cccl("stdbool.h"));
  for (const char* none : {"cstdint", "iostream", "complex.h", ""})
    CHECK_FALSE(header_without_cccl(none));
}

TEST_CASE("CCCL is told by the folder of a name") {
  for (const char* name : {"cuda/std/limits", "cub/cub.cuh", "nv/target", "thrust/sort.h"})
    CHECK(is_of_cccl(name));
  for (const char* name : {"cuda.h", "cuda", "cooperative_groups/reduce.h", "mine/cuda/x.h", ""})
    CHECK_FALSE(is_of_cccl(name));
}

TEST_CASE("a standard header is its counterpart in CCCL, but for what CCCL itself asks for") {
  const test::TempDir mine;
  const test::TempDir toolkit;
  write_header(toolkit / "cuda/std/limits", "#include <cstdint>\n#if __has_include(<cstdint>)\n#endif\n");
  write_header(toolkit / "cuda/std/cstdint", "\n");
  write_header(mine / "mine.h",
               "#include <limits>\n#if __has_include(<cstdint>)\n#endif\n#include <vector>\n");
  const HeaderSearch search{{mine.path()}, {toolkit.path()}};
  // Missing: cstdint, thrice where it does not count, and vector.
  const auto headers = headers_of("#include <mine.h>\n", search, 4);
  CHECK(headers.size() == 3);
  CHECK(headers.contains("limits"));
  CHECK(headers.contains("cuda/std/limits"));
  write_header(mine / "limits", "// mine\n");
  CHECK(headers_of("#include <mine.h>\n", search, 2).at("limits") == "// mine\n");
}

TEST_CASE("a header of the toolkit sees our headers, but for what it includes for a host compiler") {
  const test::TempDir toolkit;
  write_header(toolkit / "cuda/std/cstdint", "\n");
  write_header(toolkit / "host_api.h",
               "extern \"C\" {\n#include <stdint.h>\n}\n#include <stdlib.h>\n"
               "#ifndef __CUDACC_RTC__\n#include <utility>\n#endif\n");
  write_header(toolkit / "cuda/std/utility", "\n");
  const auto headers = headers_of("#include <host_api.h>\n", {{}, {toolkit.path()}}, 1);
  CHECK(headers.contains("stdint.h"));
  CHECK(headers.contains("stdlib.h"));
  CHECK_FALSE(headers.contains("utility"));
  CHECK_FALSE(headers.contains("cuda/std/utility"));
}

TEST_CASE("a C header is there without CCCL, and that of the caller goes before it") {
  const test::TempDir mine;
  write_header(mine / "math.h", "// mine\n");
  const auto headers =
      headers_of("#include <stdio.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdint.h>\n",
                 {{mine.path()}, {}});
  CHECK(headers.at("stdio.h") == *header_without_cccl("stdio.h"));
  CHECK(headers.at("stdint.h") == *header_without_cccl("stdint.h"));
  CHECK(headers.at("math.h") == "// mine\n");
}

TEST_CASE("the types of libraries can be read from the header of the toolkit instead of those of NVRTC") {
  const test::TempDir toolkit;
  write_header(toolkit / "library_types.h", "int types;\n");
  const auto of_toolkit = headers_of("#include <library_types.h>\n", {{}, {toolkit.path()}});
  CHECK(of_toolkit.at("library_types.h") == std::string(kLibraryTypesPrefix) + "int types;\n");
  const auto of_caller = headers_of("#include <library_types.h>\n", {{toolkit.path()}, {}});
  CHECK(of_caller.at("library_types.h") == "int types;\n");
}

TEST_CASE("a file that is called like a standard header is not taken for it") {
  const test::TempDir beside;
  const test::TempDir toolkit;
  write_header(toolkit / "cuda/std/limits", "\n");
  write_header(beside / "limits", "// mine\n");
  const auto source = test::scale_source("#include \"limits\"\n#include <limits>\n");
  const auto parsed = KernelTemplate::parse(source, "scale.cu", beside.path().string());
  REQUIRE(parsed);
  const auto closure = close_over_includes(**parsed, {{}, {toolkit.path()}});
  REQUIRE(closure);
  CHECK(closure->source.find("#include <limits>\n#include <limits~2>\n") != std::string::npos);
  REQUIRE(closure->headers.size() == 3);
  const auto text_of = [&](std::string_view name) {
    return std::find_if(closure->headers.begin(), closure->headers.end(),
                        [&](const CompilerHeader& header) { return header.name == name; })
        ->text;
  };
  CHECK(text_of("limits") == "// mine\n");
  CHECK(holds(text_of("limits~2"), "#include <cuda/std/limits>"));
}
