// SPDX-License-Identifier: Apache-2.0
#include "linked_parts.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a source is called as a file, without a folder") {
  CHECK(is_file_name("more kernels"));
  for (const char* name : {"", "a/b", "..\\b", "a\nb", "<a>", "a\"b"})
    CHECK_FALSE(is_file_name(name));
  CHECK_FALSE(is_file_name(std::string(kMaximumFileName + 1, 'a')));
}

TEST_CASE("a library is named once, and without its folder") {
  CHECK(check_library_names({"cudadevrt", "mine.fatbin"}));
  const auto folder = check_library_names({"lib/mine.a"});
  REQUIRE_FALSE(folder);
  CHECK(folder.error().remedy.find("`CompileOptions::library_directories`") != std::string::npos);
  CHECK_FALSE(check_library_names({"m", "m"}));
  CHECK_FALSE(check_library_names({""}));
  CHECK_FALSE(check_library_names(std::vector<std::string>(1025, "m")));
}

TEST_CASE("what is linked is relocatable, unless it is optimised at link time") {
  CompilerOptions options;
  make_linkable(options);
  CHECK(options == CompilerOptions{{"relocatable-device-code", "true"}});
  options = {{"dlink-time-opt", ""}};
  make_linkable(options);
  CHECK(options == CompilerOptions{{"dlink-time-opt", ""}});
}
