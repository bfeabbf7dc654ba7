// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/sample_template.hpp"

#include <cubinet/kernel_templates/attention_append_parameters.h>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/kernel_templates/attention_lse_parameters.h>
#include <cubinet/kernel_templates/attention_merge_parameters.h>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>
#include <cubinet/kernel_templates/attention_reduction_parameters.h>
#include <cubinet/kernel_templates/rms_norm_parameters.h>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("the templates that come with the library are found") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  CHECK(catalog->list().size() >= 12);
  for (const auto& listed : catalog->list()) {
    const auto found = catalog->find(listed->name());
    REQUIRE(found);
    CHECK(*found == listed);
    CHECK_FALSE((*found)->summary().empty());
    for (const ParameterDeclaration& parameter : (*found)->parameters())
      CHECK_FALSE(parameter.summary.empty());
  }
}

TEST_CASE("the parameter structures have the size that the declarations state") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto check_entry = [&](const KernelSpec& spec, std::size_t bytes) {
    const auto found = *catalog->find(spec.name);
    const auto resolved = found->resolve(spec);
    REQUIRE_MESSAGE(resolved.has_value(), resolved.error().to_line());
    const auto entries = found->entry_points(*resolved);
    REQUIRE(entries);
    REQUIRE(entries->size() == 1);
    CHECK(entries->front().name == spec.name);
    CHECK(entries->front().parameter_bytes == bytes);
  };
  check_entry(KernelSpec{"attention_decode", {}}.set("head_dim_qk", 128).set("head_dim_v", 128),
              sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_decode_swapped", {}}.set("head_dim_qk", 128).set("head_dim_v", 128),
              sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_decode_wgmma", {}}.set("head_dim_qk", 128).set("head_dim_v", 128),
              sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_latent", {}}, sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_wide", {}}.set("head_dim_qk", 576).set("head_dim_v", 512),
              sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_combine", {}}.set("head_dim_v", 128),
              sizeof(kernel_templates::AttentionDecodeParameters));
  check_entry(KernelSpec{"attention_prefill_combine", {}}.set("head_dim_v", 128),
              sizeof(kernel_templates::AttentionPrefillMapParameters));
  check_entry(KernelSpec{"attention_append", {}}, sizeof(kernel_templates::AttentionAppendParameters));
  check_entry(KernelSpec{"attention_lse", {}}, sizeof(kernel_templates::AttentionLseParameters));
  check_entry(KernelSpec{"attention_merge", {}}, sizeof(kernel_templates::AttentionMergeParameters));
  check_entry(KernelSpec{"attention_reduction", {}}.set("head_dim_per_tile", 512),
              sizeof(kernel_templates::AttentionReductionParameters));
  check_entry(KernelSpec{"rms_norm", {}}.set("hidden_size", 4096),
              sizeof(kernel_templates::RmsNormParameters));
}

TEST_CASE("every built in kernel states its grid, its argument structure and the header that defines it") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  for (const auto& kernel_template : catalog->list()) {
    for (const KernelInterface& kernel : kernel_template->interfaces()) {
      CAPTURE(kernel.kernel);
      CHECK_FALSE(kernel.grid.empty());
      const auto header = embedded_headers().find(kernel.argument_header);
      REQUIRE(header != embedded_headers().end());
      const std::string structure = kernel.argument.substr(kernel.argument.rfind(':') + 1);
      CHECK(kernel.argument == "cubinet::kernel_templates::" + structure);
      CHECK(header->second.find("struct " + structure + " {") != std::string::npos);
      CHECK(kernel_template->source().find(structure + " p)") != std::string::npos);
    }
  }
}

TEST_CASE("the normalisation takes every hidden size that it declares without further words") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto rms_norm = *catalog->find("rms_norm");
  for (int size = 64; size <= 32768; size += 8) {
    const auto resolved = rms_norm->resolve(KernelSpec{"rms_norm", {}}.set("hidden_size", size));
    REQUIRE_MESSAGE(resolved.has_value(), resolved.error().to_line());
    const int threads = size <= 8192 ? 256 : size <= 16384 ? 512 : 1024;
    REQUIRE(resolved->parameters.at("threads_per_row") == ParameterValue(std::int64_t{threads}));
  }
}

TEST_CASE("the reduction takes the types that published kernels leave partial results of, and no others") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto reduction = *catalog->find("attention_reduction");
  const auto resolve = [&](const char* q, const char* o, int head_dim, int tile = 64) {
    return reduction->resolve(KernelSpec{"attention_reduction", {}}
                                  .set("dtype_q", q)
                                  .set("dtype_o", o)
                                  .set("head_dim_per_tile", head_dim)
                                  .set("tile_size_q", tile));
  };
  for (const char* o : {"bf16", "fp16", "e4m3"}) {
    const auto resolved = resolve("e4m3", o, 256);
    REQUIRE(resolved);
    const auto entries = reduction->entry_points(*resolved);
    REQUIRE(entries);
    CHECK(entries->front().name == "attention_reduction");
    CHECK(entries->front().threads == 512);
    CHECK(entries->front().dynamic_shared_bytes == 0);
  }
  CHECK(resolve("bf16", "bf16", 512, 128));
  CHECK(resolve("fp16", "fp16", 64));
  const auto mixed = resolve("bf16", "fp16", 128);
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().message.find("dtype_o must be the same as dtype_q") != std::string::npos);
  CHECK_FALSE(resolve("bf16", "e4m3", 128));
  CHECK_FALSE(resolve("bf16", "bf16", 96));
  CHECK_FALSE(resolve("bf16", "bf16", 128, 32));
  CHECK_FALSE(reduction->resolve(KernelSpec{"attention_reduction", {}}));
}

TEST_CASE("an unknown template is not found, the nearest name is told first") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find("rmsnorm");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::not_found);
  CHECK(found.error().remedy.rfind("there are rms_norm, attention_lse, ", 0) == 0);
  CHECK(TemplateCatalog().find("x").error().remedy == "the catalogue is empty");
}

TEST_CASE("a template is added once, and to one copy of the catalogue alone") {
  const auto builtin = TemplateCatalog::builtin();
  REQUIRE(builtin);
  TemplateCatalog copy = *builtin;
  const auto sample = KernelTemplate::parse(test::kSampleSource, "sample.cu");
  REQUIRE(sample);
  CHECK(copy.add(*sample));
  CHECK(copy.find("sample"));
  CHECK_FALSE(builtin->find("sample"));
  CHECK_FALSE(TemplateCatalog::builtin()->find("sample"));
  CHECK_FALSE(copy.add(*sample));
  CHECK_FALSE(copy.add(nullptr));
}

TEST_CASE("embedded headers include only each other, by their full names") {
  const auto& headers = embedded_headers();
  CHECK(headers.contains("cubinet/types.cuh"));
  for (const auto& header : headers) {
    // No structured binding: Clang 14 cannot capture one, and doctest's messages do.
    const std::string& name = header.first;
    const std::string& content = header.second;
    CHECK_MESSAGE(content.find("#include \"") == std::string::npos, name);
    CHECK_MESSAGE(content.find("#pragma once") != std::string::npos, name);
    CHECK_MESSAGE(content.back() == '\n', name);
    for (std::size_t at = content.find("#include <"); at != std::string::npos;
         at = content.find("#include <", at + 1)) {
      const std::string included = content.substr(at + 10, content.find('>', at) - at - 10);
      const bool known = headers.contains(included) || included == "cubinet/parameters.cuh";
      CHECK_MESSAGE(known, (name + " includes " + included));
    }
  }
}

TEST_CASE(
    "only a kernel includes the headers of its folder, and only they include the generated parameters") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  // The template in whose folder a header is; empty: a shared header.
  const auto kernel_of = [&](const std::string& header) {
    const std::string folder = header.substr(0, header.rfind('/'));
    const std::string name = folder.substr(folder.rfind('/') + 1);
    return catalog->find(name) ? name : std::string();
  };
  CHECK(kernel_of("cubinet/attention_decode/shape.cuh") == "attention_decode");
  CHECK(kernel_of("cubinet/attention/rows.cuh").empty());
  const auto check = [&](const std::string& file, const std::string& kernel, const std::string& content) {
    for (std::size_t at = content.find("#include <"); at != std::string::npos;
         at = content.find("#include <", at + 1)) {
      const std::string included = content.substr(at + 10, content.find('>', at) - at - 10);
      const bool is_own = included == "cubinet/parameters.cuh" || !kernel_of(included).empty();
      const bool allowed =
          !is_own || (included == "cubinet/parameters.cuh" ? !kernel.empty() : kernel_of(included) == kernel);
      CHECK_MESSAGE(allowed, (file + " includes " + included));
    }
  };
  for (const auto& header : embedded_headers())
    check(header.first, kernel_of(header.first), header.second);
  for (const auto& kernel : catalog->list())
    check(kernel->file_name(), kernel->name(), kernel->source());
}
