// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::CatalogFolder;
using test::ok;

Error cake_refusal(const CatalogFolder& folder) {
  const auto parsed = parse_source_manifest(folder.manifest(), "m");
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error();
}

std::string refusal_after(const std::string& from, const std::string& to) {
  CatalogFolder folder;
  folder.replacements = {{from, to}};
  const Error error = cake_refusal(folder);
  CHECK(error.code == ErrorCode::invalid_argument);
  return error.message;
}

TEST_CASE("A manifest of FlashInfer states files, flags and launches") {
  for (const char* schema : {"cake.library_export.v1", "cake.library_export.v5"}) {
    CatalogFolder folder;
    folder.schema = schema;
    const SourceManifest manifest = ok(parse_source_manifest(folder.manifest(), "m"));
    CHECK(manifest.name == "doubles");
    CHECK(manifest.files.size() == 4);
    CHECK(manifest.differing_digests == 0);
    REQUIRE(manifest.kernels.size() == 2);
    const SourceKernel& kernel = manifest.kernels.front();
    CHECK(kernel.name == "doubles_one");
    CHECK(kernel.symbol == "kernel_doubles_one");
    CHECK(kernel.target.to_string() == "sm_90a");
    CHECK(kernel.source == "csrc/one_kernel.cu");
    CHECK(kernel.headers == std::vector<std::string>{"csrc/common.cuh"});  // not the host's
    CHECK(kernel.flags == std::vector<std::string>{"-DFACTOR=2"});
    CHECK(kernel.block == std::array<std::uint32_t, 3>{64, 2, 1});
    CHECK(kernel.cluster == std::array<std::uint32_t, 3>{2, 1, 1});
    CHECK(kernel.dynamic_shared_bytes == 1024);
    CHECK(kernel.programmatic_launch);
    CHECK_FALSE(kernel.cooperative);
  }
}

TEST_CASE("Digests of modules that differ from the list of files are counted") {
  CatalogFolder folder;
  const std::string digest = sha256(as_bytes(folder.files.at("csrc/one_kernel.cu"))).to_hex();
  // The first occurrence is in the list of files, the second in a module.
  const std::string text = folder.manifest();
  const std::size_t second = text.find(digest, text.find(digest) + 1);
  std::string changed = text;
  changed.replace(second, digest.size(), std::string(64, 'b'));
  const SourceManifest manifest = ok(parse_source_manifest(changed, "m"));
  CHECK(manifest.differing_digests == 1);
  CHECK(manifest.find("csrc/one_kernel.cu")->digest.to_hex() == digest);
}

TEST_CASE("A manifest of Python sources is none of ours") {
  CatalogFolder folder;
  folder.replacements = {{R"({"device": "csrc/one_kernel.cu")", R"({"device": "csrc/one.py")"},
                         {R"({"device": "csrc/two_kernel.cu")", R"({"device": "csrc/two.py")"}};
  CHECK(cake_refusal(folder).code == ErrorCode::unsupported);
  folder.replacements.pop_back();
  CHECK(cake_refusal(folder).code == ErrorCode::invalid_argument);
}

TEST_CASE("What is wrong with a manifest of FlashInfer is named") {
  CHECK(refusal_after("\"source_only\"", "\"binary\"").find("'artifact_kind'") != std::string::npos);
  CHECK(refusal_after("\"separate_device_and_binding\"", "\"one\"").find("'translation_unit_model'") !=
        std::string::npos);
  CHECK(refusal_after("\"use_pdl\": true", "\"use_pdl\": 1").find("'use_pdl'") != std::string::npos);
  CHECK(refusal_after("\"dynamic_smem_bytes\"", "\"smem\"").find("'dynamic_smem_bytes'") !=
        std::string::npos);
  CHECK(refusal_after("{\"device\": \"csrc/one_kernel.cu\"", "{\"device\": \"csrc/common.cu\"")
            .find("its device source is not in 'closure'") != std::string::npos);
  CHECK(refusal_after("\"sm_90a\"", "\"sm_90z\"").find("sm_90z") != std::string::npos);
  CHECK(refusal_after("\"modules\"", "\"moduls\"") == "m: it has no kernels");
}

TEST_CASE("A file of a module that is not listed is refused") {
  CatalogFolder folder;
  const std::string listed = R"({"path": "csrc/binding.cu", "sha256": ")" +
                             sha256(as_bytes(folder.files.at("csrc/binding.cu"))).to_hex() +
                             R"(", "kind": "tvm_ffi_binding"})";
  folder.replacements = {{", " + listed, ""}};
  CHECK(cake_refusal(folder).message.find("'csrc/binding.cu' is not in 'files'") != std::string::npos);
  folder.replacements = {{listed, listed + ", " + listed}};
  CHECK(cake_refusal(folder).message.find("'csrc/binding.cu' is listed twice") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
