// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/sample_template.hpp"

#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/kernel_templates/rms_norm_parameters.h>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("the templates that come with the library are found") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  CHECK(catalog->list().size() == 2);
  for (const char* name : {"attention_decode", "rms_norm"}) {
    const auto found = catalog->find(name);
    REQUIRE(found);
    CHECK((*found)->name() == name);
    CHECK_FALSE((*found)->summary().empty());
    for (const ParameterDeclaration& parameter : (*found)->parameters())
      CHECK_FALSE(parameter.summary.empty());
  }
}

TEST_CASE("the parameter structures have the size that the declarations state") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto attention = *catalog->find("attention_decode");
  const auto resolved =
      attention->resolve(KernelSpec{"attention_decode", {}}.set("head_dim_qk", 128).set("head_dim_v", 128));
  REQUIRE(resolved);
  const auto entries = attention->entry_points(*resolved);
  REQUIRE(entries);
  for (const EntryPoint& entry : *entries) {
    CHECK(entry.parameter_bytes == sizeof(kernel_templates::AttentionDecodeParameters));
  }
  const auto norm = *catalog->find("rms_norm");
  const auto norm_entries =
      norm->entry_points(*norm->resolve(KernelSpec{"rms_norm", {}}.set("hidden_size", 4096)));
  REQUIRE(norm_entries);
  CHECK(norm_entries->front().parameter_bytes == sizeof(kernel_templates::RmsNormParameters));
}

TEST_CASE("an unknown template is not found, the nearest name is told first") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto found = catalog->find("rmsnorm");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::not_found);
  CHECK(found.error().remedy == "there are rms_norm, attention_decode");
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
