// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"

#include "support/ok.hpp"

namespace cubinet::test {
namespace {

std::string digest(const std::string& text) {
  return sha256(as_bytes(text)).to_hex();
}

std::string kernel_text(const std::string& symbol) {
  return "/* Copyright of " + symbol + " */\n#include \"common.cuh\"\nextern \"C\" __global__ void " +
         symbol + "(float* x) { x[threadIdx.x] *= FACTOR + kZero; }\n";
}

}  // namespace

CatalogFolder::CatalogFolder() {
  files["csrc/one_kernel.cu"] = kernel_text("kernel_doubles_one");
  files["csrc/two_kernel.cu"] = kernel_text("kernel_doubles_two");
  files["csrc/common.cuh"] = "#pragma once\nconstexpr int kZero = 0;\n";
  files["csrc/binding.cu"] = "#include <host.h>\n";
}

std::string CatalogFolder::listed(const std::string& path, const std::string& kind) const {
  return R"({"path": ")" + path + R"(", "sha256": ")" + digest(files.at(path)) + "\"" +
         (kind.empty() ? "" : R"(, "kind": ")" + kind + "\"") + "}";
}

std::string CatalogFolder::module(const std::string& kernel, const std::string& source) const {
  return R"({"name": ")" + kernel + R"(", "kernel_symbol": "kernel_)" + kernel + R"(", "arch": "sm_90a",
    "role": "kernel", "compile_flags": [")" +
         flag + R"("], "translation_units": {"device": ")" + source + R"(", "binding": "csrc/binding.cu"},
    "closure": [)" +
         listed(source, "") + ", " + listed("csrc/common.cuh", "") + ", " + listed("csrc/binding.cu", "") +
         R"(],
    "launch": {"block": [64, 2, 1], "cluster": [2, 1, 1], "dynamic_smem_bytes": 1024, "cooperative": false,
               "use_pdl": true}})";
}

std::string CatalogFolder::manifest() const {
  std::string text = R"({"schema": ")" + schema + R"(", "name": ")" + name + R"(", "library": "flashinfer",
  "artifact_kind": "source_only", "build_contract": {"translation_unit_model": "separate_device_and_binding"},
  "files": [)" + listed("csrc/one_kernel.cu", "device_source") +
                     ", " + listed("csrc/two_kernel.cu", "device_source") + ", " +
                     listed("csrc/common.cuh", "shared_device_preamble") + ", " +
                     listed("csrc/binding.cu", "tvm_ffi_binding") + R"(],
  "modules": [)" + module("doubles_one", "csrc/one_kernel.cu") +
                     ", " + module(second_kernel, "csrc/two_kernel.cu") + "]}";
  for (const auto& replacement : replacements) {
    const std::size_t at = text.find(replacement.first);
    REQUIRE_MESSAGE(at != std::string::npos, replacement.first);
    text.replace(at, replacement.first.size(), replacement.second);
  }
  return text;
}

void CatalogFolder::write() const {
  for (const auto& [path, text] : files)
    write_file(data() / path, text);
  write_file(manifest_path(), manifest());
  write_file(folder_ / "some_wheel-1.2.dist-info/RECORD",
             "package/__init__.py,,\npackage/data/csrc/" + name + "_manifest.json,sha256=x,9\n");
  write_file(folder_ / "some_wheel-1.2.dist-info/licenses/LICENSE", "A licence.\n");
}

SourceManifest own_catalog(std::map<std::string, Bytes>& contents) {
  const std::string text =
      "constexpr char text[] = R\"CODE(extern \"C\" __global__ void twice(int* x) )CODE\"\n"
      "  R\"CODE({ *x *= 2; }\n)CODE\";\n";
  const auto bytes_of = [](std::string_view content) {
    const ByteView view = as_bytes(content);
    return Bytes(view.begin(), view.end());
  };
  contents["csrc/twice.h"] = bytes_of(text);
  contents["NOTICE"] = bytes_of("A notice.\n");
  SourceManifest manifest;
  manifest.name = "own";
  manifest.library = "library 1.0";
  manifest.files = {{"csrc/twice.h", sha256(contents.at("csrc/twice.h"))}};
  manifest.licences = {{"NOTICE", sha256(contents.at("NOTICE"))}};
  SourceKernel& kernel = manifest.kernels.emplace_back();
  kernel.name = "twice_kernel";
  kernel.symbol = "twice";
  kernel.target = ok(SmTarget::parse("sm_80"));
  kernel.source = "csrc/twice.h";
  kernel.raw_strings = "CODE";
  kernel.flags = {"-std=c++17"};
  kernel.block = {32, 1, 1};
  return manifest;
}

}  // namespace cubinet::test
