// SPDX-License-Identifier: Apache-2.0
#include "library_imports.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <fstream>

namespace cubinet {
namespace {

// The library stays loaded.
const link_map& stub_imports() {
  void* const library = ::dlopen(CUBINET_TEST_IMPORTS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  link_map* map = nullptr;
  REQUIRE(library != nullptr);
  REQUIRE(::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
  return *map;
}

TEST_CASE("an import has a slot in the file, and a function that is not imported has none") {
  const link_map& library = stub_imports();
  const auto imports = imports_of(library, "rand");
  REQUIRE(!imports.empty());
  for (const ElfW(Rela) * import : imports)
    CHECK(file_offset(library, import->r_offset));
  CHECK(imports_of(library, "srand").empty());
}

TEST_CASE("the file has what is in memory at the offset of its address, and addresses outside have no offset") {
  const link_map& library = stub_imports();
  const auto offset = file_offset(library, 0);
  REQUIRE(offset);
  std::ifstream file(CUBINET_TEST_IMPORTS, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(*offset));
  char magic[4] = {};
  file.read(magic, sizeof magic);
  CHECK(std::string_view(magic, sizeof magic) ==
        "\x7f"
        "ELF");
  CHECK_FALSE(file_offset(library, std::uint64_t{1} << 60U));
}

}  // namespace
}  // namespace cubinet
