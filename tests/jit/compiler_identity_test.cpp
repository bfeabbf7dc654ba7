// SPDX-License-Identifier: Apache-2.0
#include "compiler_identity.hpp"

#include "support/compiler_search.hpp"
#include "support/fake_cubin.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const Bytes& content) {
  std::ofstream(path, std::ios::binary) << as_text(content);
}

}  // namespace

TEST_CASE("the installed compiler is named by its release and two builds") {
  const auto found = find_compilers(test::compiler_search());
  REQUIRE_FALSE(found.empty());
  const auto identity = compiler_identity(found.front());
  REQUIRE(identity);
  CHECK_MESSAGE(identity->starts_with("NVRTC 1"), *identity);
  CHECK(identity->find(", build ") != std::string::npos);
  CHECK(identity->find('/') == std::string::npos);
}

TEST_CASE("the identity is that of the contents, wherever they lie") {
  const test::TempDir first;
  const test::TempDir second;
  const Bytes library = test::make_fake_cubin({});
  test::FakeCubin other;
  other.filler = 0x17;
  const Bytes builtins = test::make_fake_cubin(other);
  const auto identity_in = [](const test::TempDir& folder) {
    const auto identity = compiler_identity(
        {CompilerCandidate::Source::option, folder / "libnvrtc.so.13", folder / "libnvrtc-builtins.so.13.0"});
    REQUIRE(identity);
    return *identity;
  };
  for (const test::TempDir* folder : {&first, &second}) {
    write(*folder / "libnvrtc.so.13", library);
    write(*folder / "libnvrtc-builtins.so.13.0", builtins);
  }
  CHECK(identity_in(first) == identity_in(second));
  CHECK(identity_in(first) ==
        "NVRTC 13.0, build sha256:" + sha256(library).to_hex() + "+sha256:" + sha256(builtins).to_hex());
  write(second / "libnvrtc-builtins.so.13.0", library);
  CHECK(identity_in(first) != identity_in(second));
}

TEST_CASE("a file that is gone or no library is an error") {
  const test::TempDir folder;
  write(folder / "empty", {});
  const auto open = [&](const char* name) {
    return compiler_identity({CompilerCandidate::Source::option, folder / name, folder / name});
  };
  CHECK(open("absent").error().code == ErrorCode::not_found);
  CHECK(open("empty").error().code == ErrorCode::unavailable);
}

TEST_CASE("what is loaded keeps its identity when the files are replaced") {
  const test::TempDir folder;
  const CompilerCandidate candidate{CompilerCandidate::Source::option, folder / "libnvrtc.so.13",
                                    folder / "libnvrtc-builtins.so.13.0"};
  fs::copy_file(CUBINET_TEST_BUILTINS, candidate.library);
  fs::copy_file(CUBINET_TEST_BUILTINS, candidate.builtins);
  const auto before = compiler_identity(candidate);
  REQUIRE(before);
  const auto library = DynamicLibrary::open(candidate.library);
  const auto builtins = DynamicLibrary::open(candidate.builtins);
  REQUIRE(library);
  REQUIRE(builtins);
  const auto loaded = [&] { return *loaded_identity(candidate, *library, *builtins); };
  CHECK(*before == "NVRTC 13.0, build 0a+0a");
  CHECK(loaded() == *before);
  fs::remove(candidate.library);
  fs::copy_file(CUBINET_TEST_BUILTINS_OTHER, candidate.library);
  CHECK(*compiler_identity(candidate) == "NVRTC 13.0, build 0b+0a");
  CHECK(loaded() == *before);
}
