// SPDX-License-Identifier: Apache-2.0
#include "linker_inputs.hpp"

#include "support/temp_dir.hpp"

#include <cubinet/kernel_templates/source_program.hpp>

#include <doctest/doctest.h>

#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

CompilerCandidate compiler_below(const fs::path& folder) {
  return {CompilerCandidate::Source::toolkit, folder / "lib64/libnvrtc.so.12",
          folder / "lib64/libnvrtc-builtins.so.12.4"};
}

std::shared_ptr<const KernelTemplate> with_library(const fs::path& folder) {
  SourceProgram program;
  program.libraries = {"code.ltoir"};
  program.folder = folder;
  const auto made = program.as_template();
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("a library lies where the caller says, else beside the source, else with the compiler") {
  const test::TempDir folder;
  fs::create_directories(folder / "lib64");
  LinkerInputs inputs(compiler_below(folder.path()), {});
  const auto source = with_library(folder / "beside");
  CompileOptions options;
  options.library_directories = {folder / "said"};
  CHECK(inputs.libraries(*source, options).error().code == ErrorCode::unavailable);
  for (const char* place : {"lib64", "beside", "said"}) {
    fs::create_directories(folder / place);
    std::ofstream(folder / place / "code.ltoir") << place;
    const auto found = inputs.libraries(*source, options);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    CHECK(as_text(found->libraries[0].content) == place);
    CHECK(*inputs.libraries_digest(*source, options) == found->digest);
  }
}

TEST_CASE("a linker is of the release of the compiler or another, and the first answer stays") {
  const test::TempDir folder;
  fs::create_directories(folder / "lib64");
  fs::copy_file(CUBINET_TEST_NVJITLINK, folder / "lib64/libnvJitLink.so.12");  // 12.10
  const auto of_release = [&](const char* release) {
    CompilerCandidate compiler = compiler_below(folder.path());
    compiler.builtins = folder / ("lib64/libnvrtc-builtins.so." + std::string(release));
    CompilerSearch search;
    search.usual_toolkits.clear();
    return LinkerInputs(compiler, search).linker_of_same_release();
  };
  CHECK(of_release("12.10"));
  const auto newer = of_release("12.4");
  REQUIRE_FALSE(newer);
  CHECK(newer.error().message.find("not of the release") != std::string::npos);
  LinkerInputs inputs(compiler_below(folder.path()), {});
  CHECK_FALSE(inputs.linker_of_same_release());
  fs::remove(folder / "lib64/libnvJitLink.so.12");
  CHECK(inputs.linker_of_same_release().error().message == newer.error().message);
}

TEST_CASE("the digest of what is linked is of the linker, the texts and the libraries") {
  const test::TempDir folder;
  LinkerInputs inputs(compiler_below(folder.path()), {});
  const auto source = with_library({});
  auto closure = std::make_shared<IncludeClosure>();
  fs::create_directories(folder / "lib64");
  fs::copy_file(CUBINET_TEST_NVJITLINK, folder / "lib64/libnvJitLink.so.12");
  const auto digest = inputs.linked_digest(*source, {closure}, {});
  REQUIRE_MESSAGE(digest.has_value(), digest.error().message);
  CHECK(inputs.linker()->identity.starts_with("nvJitLink 12.10, build "));
  CHECK(*inputs.linked_digest(*source, {closure}, {}) == *digest);
  CHECK(*inputs.linked_digest(*source, {closure}, sha256(as_bytes("a library"))) != *digest);
  closure->digest = sha256(as_bytes("a text"));
  CHECK(*inputs.linked_digest(*source, {closure}, {}) != *digest);
}
