// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cubinet::test {

// A small template around `body`: a parameter `factor` (1 to 64, default 2), which the body need
// not use, and the kernel `scale` of 32 threads.
inline std::string scale_source(const std::string& body, const std::string& more = "") {
  return R"cu(/* cubinet-template {"name": "scale", "interface": 1, "minimum_target": "sm_75",
  "parameters": [{"name": "factor", "type": "int", "minimum": 1, "maximum": 64, "default": 2}],
  "kernels": [{"name": "scale", "threads": "factor > 0 ? 32 : 64", "parameter_bytes": 8)cu" +
         more + "}]} */\n" + body;
}

inline const std::string kScaleBody = R"cu(#include <cubinet/parameters.cuh>
extern "C" __global__ void scale(float* data) { data[threadIdx.x] *= cubinet::parameters::factor; }
)cu";

inline std::shared_ptr<const KernelTemplate> parse_template(const std::string& source) {
  auto parsed = KernelTemplate::parse(source, "test.cu");
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  return *parsed;
}

inline CompileRequest request_of(std::shared_ptr<const KernelTemplate> kernel_template,
                                 const char* target = "sm_90a") {
  CompileRequest request;
  request.spec.name = kernel_template->name();
  request.kernel_template = std::move(kernel_template);
  request.target = *SmTarget::parse(target);
  return request;
}

inline CompileRequest scale_request(const std::string& body = kScaleBody, const char* target = "sm_90a") {
  return request_of(parse_template(scale_source(body)), target);
}

// Returns the names of the library's templates.
inline std::vector<std::string> builtin_names() {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  std::vector<std::string> names;
  for (const auto& kernel_template : catalog->list())
    names.push_back(kernel_template->name());
  return names;
}

// Returns a request for a template of the library. Parameters without a default have their first
// value, unless another one is stated here.
inline CompileRequest builtin_request(std::string_view name, const char* target) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  CompileRequest request = request_of(*catalog->find(name), target);
  if (name == "attention_wide")
    request.spec.set("head_dim_qk", 512).set("head_dim_v", 512).set("tile_size_kv", 16).set("stages", 2);
  if (name == "attention_combine" || name == "attention_prefill_combine") request.spec.set("head_dim_v", 128);
  if (name == "attention_reduction") request.spec.set("head_dim_per_tile", 512);
  if (name == "rms_norm") request.spec.set("hidden_size", 1024);
  for (const ParameterDeclaration& parameter : request.kernel_template->parameters()) {
    if (!parameter.default_value && parameter.default_expression.empty() && !parameter.values.empty())
      request.spec.parameters.try_emplace(parameter.name, parameter.values.front());
  }
  return request;
}

}  // namespace cubinet::test
