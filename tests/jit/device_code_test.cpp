// SPDX-License-Identifier: Apache-2.0
// Checks that the library's device code compiles for its targets. NVRTC decides this, so a
// sanitizer adds nothing.
#include "jit/device_code.hpp"

#include "jit/test_templates.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

using namespace cubinet;
using test::check_all_without_a_word;
using test::check_without_a_word;
using test::open_compiler;
using test::some_of;

namespace {

void check_templates(Compiler& nvrtc, const std::vector<const char*>& targets) {
  std::vector<CompileRequest> requests;
  for (const char* target : targets) {
    for (const std::string& name : test::builtin_names()) {
      CompileRequest request = test::builtin_request(name, target);
      if (request.kernel_template->minimum_target().kind == TargetKind::baseline)
        requests.push_back(std::move(request));
    }
  }
  check_all_without_a_word(nvrtc, requests);
}

}  // namespace

TEST_CASE("the templates of the library compile for old and new targets without a warning or a stack") {
  check_templates(*open_compiler(test::compiler_search()), {"sm_80", "sm_90a", "sm_100f", "sm_120f"});
}

TEST_CASE("the templates of the library compile under a later release without a warning") {
  const auto search = test::later_compiler_search();
  if (search) check_templates(*open_compiler(*search), {"sm_80", "sm_90a", "sm_107a", "sm_107f"});
}

TEST_CASE("the products of warpgroups are pipelined in all kernels of whole tiles, and nothing is spilled") {
  std::vector<CompileRequest> requests;
  for (const int head_dim : {64, 128, 256}) {
    for (const char* type : {"bf16", "fp16"}) {
      CompileRequest request = test::builtin_request("attention_decode_wgmma", "sm_90a");
      request.spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("dtype_kv", type);
      request.spec.set("dtype_q", type).set("stages", head_dim == 256 ? 2 : 3);
      requests.push_back(request);
      request.spec.set("mask", "custom").set("sliding_window", ParameterValue(true));
      request.spec.set("soft_cap", ParameterValue(true)).set("separate_page_tables", ParameterValue(true));
      request.spec.set("page_size", 16);
      requests.push_back(request);
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("KV of eight bits is multiplied from registers in tiles of any size, and nothing is spilled") {
  std::vector<CompileRequest> requests;
  for (const int head_dim : {64, 128, 256}) {
    for (const int rows : {32, 48, 64, 96}) {
      if (head_dim == 256 && rows > 32) continue;
      CompileRequest request = test::builtin_request("attention_decode_swapped", "sm_90a");
      request.spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("tile_size_q", rows);
      request.spec.set("stages", head_dim == 256 ? 2 : 3);
      requests.push_back(request);
      CompileRequest windowed = request;
      windowed.spec.set("sliding_window", ParameterValue(true)).set("page_size", 128).set("dtype_q", "e4m3");
      requests.push_back(windowed);
      windowed.spec.set("page_size", 16).set("dtype_o", "e4m3");
      requests.push_back(windowed);
      request.spec.set("mask", "dense").set("dtype_q", "fp16").set("dtype_o", "fp16").set("page_size", 32);
      requests.push_back(request);
      request.spec.set("page_size", 64)
          .set("separate_page_tables", ParameterValue(true))
          .set("dtype_o", "fp32");
      requests.push_back(request);
      request.spec.set("mask", "custom").set("sliding_window", ParameterValue(true)).set("dtype_q", "bf16");
      request.spec.set("soft_cap", ParameterValue(true)).set("page_size", 8);
      requests.push_back(request);
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE(
    "latent attention of warpgroups compiles for all its tiles and types, without a warning or a stack") {
  const auto nvrtc = open_compiler(test::compiler_search());
  std::vector<CompileRequest> requests;
  for (const int rows : {16, 32, 64}) {
    CompileRequest request = test::builtin_request("attention_latent", "sm_90a");
    request.spec.set("tile_size_q", rows).set("mask", rows == 32 ? "dense" : "causal");
    for (const char* type : {"dtype_q", "dtype_kv", "dtype_o"})
      request.spec.set(type, rows == 16 ? "fp16" : "bf16");
    if (rows == 32) request.spec.set("dtype_o", "e4m3").set("page_size", 8);
    requests.push_back(request);
    if (rows > 16) request.spec.set("dtype_kv", "e4m3");
    requests.push_back(request);
    request.spec.set("cluster_size", 2);
    requests.push_back(request);
    request.spec.set("dtype_kv", rows == 16 ? "fp16" : "bf16");
    requests.push_back(request);
    request.spec.set("dtype_q", "e4m3").set("dtype_kv", "e4m3").set("cluster_size", 1);
    requests.push_back(request);
  }
  check_without_a_word(*nvrtc, requests);
}

TEST_CASE("latent attention of few rows compiles for all its types, without a warning or a stack") {
  const auto nvrtc = open_compiler(test::compiler_search());
  std::vector<CompileRequest> requests;
  for (const int page_size : {8, 64}) {
    const char* const type = page_size == 8 ? "bf16" : "fp16";
    CompileRequest request = test::builtin_request("attention_latent_narrow", "sm_90a");
    request.spec.set("mask", page_size == 8 ? "dense" : "causal").set("page_size", page_size);
    for (const char* of : {"dtype_q", "dtype_kv", "dtype_o"})
      request.spec.set(of, type);
    requests.push_back(request);
    request.spec.set("dtype_kv", "e4m3");
    requests.push_back(request);
    request.spec.set("dtype_q", "e4m3").set("dtype_o", "e4m3");
    requests.push_back(request);
  }
  check_without_a_word(*nvrtc, requests);
}

TEST_CASE("the reduction compiles for all that it may be asked for, e4m3 outputs from sm 89 on") {
  const auto nvrtc = open_compiler(test::compiler_search());
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_80", "sm_89", "sm_90a", "sm_100f", "sm_103a", "sm_120f"}) {
    for (const int head_dim : {64, 128, 256, 512}) {
      CompileRequest request = test::builtin_request("attention_reduction", target);
      request.spec.set("head_dim_per_tile", head_dim).set("tile_size_q", head_dim == 64 ? 128 : 64);
      request.spec.set("dtype_q", head_dim == 256 ? "bf16" : "e4m3");
      request.spec.set("dtype_o", head_dim == 64 ? "fp16" : head_dim == 128 ? "e4m3" : "bf16");
      requests.push_back(request);
    }
  }
  parallel_for(requests.size(), default_jobs(), [&](std::size_t i) {
    const auto output = nvrtc->compile(requests[i]);
    const bool narrow = requests[i].spec.parameters.at("dtype_o") == ParameterValue(std::string("e4m3"));
    if (narrow && requests[i].target == *SmTarget::parse("sm_80")) {
      REQUIRE_FALSE(output);
      CHECK(output.error().message.find("dtype_o e4m3 needs a target from sm_89 on") != std::string::npos);
      return;
    }
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
    CHECK(output->record.warnings.empty());
  });
}

TEST_CASE("the combination of partial results compiles for all its types and tiles, without a stack") {
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_80", "sm_90a", "sm_100f", "sm_120f"}) {
    for (const char* type : {"bf16", "fp16", "fp32", "e4m3"}) {
      if (std::string_view(target) == "sm_80" && std::string_view(type) == "e4m3") continue;
      for (const int head_dim : {64, 128, 256, 512}) {
        CompileRequest& request = requests.emplace_back(test::builtin_request("attention_combine", target));
        const bool is_wide = head_dim > 128;
        request.spec.set("dtype_o", type)
            .set("head_dim_v", head_dim)
            .set("tile_size_q", is_wide ? 64 : 16)
            .set("cluster_size", is_wide ? 2 : 1)
            .set("converts_kv", ParameterValue(is_wide))
            .set("sliding_window", ParameterValue(head_dim == 128))
            .set("slice", head_dim == 128 ? 32 : 16)
            .set("mask", head_dim == 128 ? "custom" : "causal");
      }
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("no shape of decode attention has registers to spill, on old and new targets") {
  const auto nvrtc = open_compiler(test::compiler_search());
  struct Shape {
    int head_dim, tile_size_q, tile_size_kv, stages, page_size;
    const char* dtype_kv;
    bool custom_mask, all_options;  // all_options: soft cap and separate page tables
  };
  constexpr Shape kShapes[] = {
      {64, 16, 128, 3, 8, "bf16", true, true},   {64, 16, 128, 6, 8, "e4m3", true, true},
      {64, 32, 64, 6, 8, "e4m3", true, true},    {128, 32, 64, 2, 64, "e4m3", false, false},
      {128, 32, 128, 2, 8, "e4m3", true, true},  {64, 64, 64, 3, 64, "bf16", false, false},
      {64, 64, 32, 6, 8, "bf16", true, false},   {64, 64, 32, 6, 16, "e4m3", true, false},
      {128, 16, 64, 3, 16, "bf16", false, true}, {128, 64, 32, 3, 8, "bf16", true, true},
      {128, 64, 32, 4, 8, "e4m3", true, true},   {256, 16, 32, 3, 8, "bf16", true, true},
      {256, 64, 16, 2, 16, "bf16", true, true},  {256, 16, 64, 2, 8, "e4m3", true, false},
  };
  std::vector<CompileRequest> requests;
  for (const Shape& shape : kShapes) {
    for (const char* target : {"sm_80", "sm_90a"}) {
      CompileRequest& request = requests.emplace_back(test::builtin_request("attention_decode", target));
      request.spec.set("head_dim_qk", shape.head_dim)
          .set("head_dim_v", shape.head_dim)
          .set("tile_size_q", shape.tile_size_q)
          .set("tile_size_kv", shape.tile_size_kv)
          .set("stages", shape.stages)
          .set("page_size", shape.page_size)
          .set("dtype_kv", shape.dtype_kv)
          .set("mask", shape.custom_mask ? "custom" : "causal")
          .set("sliding_window", ParameterValue(shape.custom_mask))
          .set("soft_cap", ParameterValue(shape.all_options))
          .set("separate_page_tables", ParameterValue(shape.all_options));
    }
  }
  requests = some_of(requests);
  parallel_for(requests.size(), default_jobs(), [&](std::size_t i) {
    const auto output = nvrtc->compile(requests[i]);
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
    const auto report = report_cubin(*output->image);
    REQUIRE(report);
    CHECK(report->kernels.size() == 1);
    for (const KernelResources& kernel : report->kernels) {
      CHECK_MESSAGE(kernel.stack_bytes == 0, kernel.name << " of " << requests[i].spec.to_string() << " for "
                                                         << requests[i].target.to_string());
    }
  });
}

TEST_CASE(
    "every kernel with invariant numerics compiles without a warning or a stack, on old and new targets") {
  std::vector<CompileRequest> requests;
  const auto add = [&](const char* name, const char* target) -> CompileRequest& {
    CompileRequest& request = requests.emplace_back(test::builtin_request(name, target));
    request.spec.set("numerics", "invariant");
    return request;
  };
  for (const char* target : {"sm_80", "sm_90a", "sm_120f"}) {
    for (const bool all_options : {false, true}) {
      for (const int head_dim : {64, 72, 96, 128, 192, 256, 512}) {
        CompileRequest& request = add("attention_prefill", target);
        test::set_portable_prefill(request, head_dim, all_options);
        request.spec.set("tile_size_q", head_dim > 128 ? 64 : 128)
            .set("stages", head_dim >= 256 ? 1 : 2)
            .set("dtype_o", all_options ? "fp32" : "bf16");
        if (!test::fits_target(request)) requests.pop_back();
      }
      for (const int head_dim : {64, 128, 256}) {
        add("attention_combine", target)
            .spec.set("head_dim_v", head_dim)
            .set("dtype_o", all_options ? "fp32" : "bf16")
            .set("sliding_window", ParameterValue(all_options))
            .set("slice", all_options ? 512 : 16);
        for (const int rows : {16, 32, 64}) {
          if (head_dim == 256 && (rows == 64 || std::string_view(target) == "sm_120f")) continue;
          if (head_dim == 128 && rows == 64 && std::string_view(target) == "sm_120f") continue;  // too large
          CompileRequest& request = add("attention_decode", target);
          request.spec.set("head_dim_qk", head_dim).set("head_dim_v", head_dim).set("tile_size_q", rows);
          request.spec.set("stages", 2)
              .set("page_size", all_options ? 8 : 64)
              .set("mask", all_options ? "custom" : "causal")
              .set("sliding_window", ParameterValue(all_options))
              .set("soft_cap", ParameterValue(all_options))
              .set("separate_page_tables", ParameterValue(all_options));
          if (std::string_view(target) != "sm_90a" || rows != 64) continue;
          CompileRequest by_warpgroups = test::builtin_request("attention_decode_wgmma", target);
          by_warpgroups.spec.parameters = request.spec.parameters;
          requests.push_back(by_warpgroups);
        }
      }
    }
  }
  for (const auto& [qk, v] : {std::pair{64, 64}, {72, 72}, {88, 88}, {96, 96}, {128, 128}, {192, 128}}) {
    for (const char* layout : {"paged", "contiguous"}) {
      const bool is_paged = std::string_view(layout) == "paged";
      for (const bool is_tall : {false, true}) {
        if (is_tall && qk != 64) continue;
        CompileRequest& request = add("attention_prefill_wgmma", "sm_90a");
        request.spec.set("head_dim_qk", qk).set("head_dim_v", v).set("kv_layout", layout);
        request.spec.set("tile_size_q", is_tall ? 192 : 128);
        CompileRequest dense = request;
        dense.spec.set("mask", "dense").set("dtype_o", "fp32");
        CompileRequest windowed = request;
        windowed.spec.set("sliding_window", ParameterValue(true)).set("dtype", "fp16").set("dtype_o", "fp32");
        windowed.spec.set("separate_page_tables", ParameterValue(is_paged));
        requests.push_back(dense);
        requests.push_back(windowed);
        if (is_tall) continue;  // soft caps have tiles of 128 rows
        windowed.spec.set("soft_cap", ParameterValue(true));
        requests.push_back(windowed);
      }
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

// 64 rows of 512 columns take half of the register file, so some kernels keep the data for the end
// of a step on the stack. A larger stack would contain data of a product.
TEST_CASE(
    "tiles of 64 rows of wide attention keep a dozen words on the stack at most, smaller ones nothing") {
  const auto nvrtc = open_compiler(test::compiler_search());
  constexpr int kFewBytes = 48;
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_90a", "sm_100f"}) {
    for (const int head_dim : {512, 576}) {
      for (const bool is_narrow : {false, true}) {
        for (const int rows : {16, 32, 64}) {
          for (const bool all_options : {false, true}) {
            CompileRequest& request = requests.emplace_back(test::builtin_request("attention_wide", target));
            request.spec.set("head_dim_qk", head_dim)
                .set("dtype_kv", is_narrow ? "e4m3" : "bf16")
                .set("tile_size_q", rows)
                .set("tile_size_kv", is_narrow && rows < 64 ? 64 : 32)
                .set("stages", (head_dim == 512 ? 2 : 3) * (is_narrow && rows == 64 ? 2 : 1))
                .set("sliding_window", ParameterValue(all_options))
                .set("soft_cap", ParameterValue(all_options))
                .set("separate_page_tables", ParameterValue(all_options && head_dim == 512));
          }
        }
      }
    }
  }
  requests = some_of(requests);
  parallel_for(requests.size(), default_jobs(), [&](std::size_t i) {
    CAPTURE(requests[i].spec.to_string());
    const auto output = nvrtc->compile(requests[i]);
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
    CHECK_MESSAGE(output->record.warnings.empty(), output->record.warnings);
    const auto report = report_cubin(*output->image);
    REQUIRE(report);
    const bool is_full = requests[i].spec.parameters.at("tile_size_q") == ParameterValue(64);
    for (const KernelResources& kernel : report->kernels)
      CHECK(kernel.stack_bytes <= (is_full ? kFewBytes : 0));
  });
}

TEST_CASE("every data type is a type of the device code") {
  const std::string source = R"cu(/* cubinet-template {"name": "typed", "interface": 1, "parameters": [
    {"name": "t", "type": "dtype", "values": ["fp16", "bf16", "fp32", "int8", "int32", "e4m3", "e5m2", "e2m1",
        "fp64", "int16", "int64", "uint8", "uint16", "uint32", "uint64"]}],
    "kernels": [{"name": "k", "threads": 32}]} */
#include <cubinet/parameters.cuh>
extern "C" __global__ void k(cubinet::parameters::t* p, void** to) { *to = p; }
)cu";
  const auto nvrtc = open_compiler(test::compiler_search());
  CompileRequest request = test::request_of(test::parse_template(source));
  CHECK(request.kernel_template->parameters()[0].values.size() == all_data_types().size());
  for (const DataType type : all_data_types()) {
    request.spec.set("t", ParameterValue(std::string(to_string(type))));
    const auto output = nvrtc->compile(request);
    CHECK_MESSAGE(output.has_value(), (output ? "" : output.error().message));
  }
}

TEST_CASE("the example of a user template compiles, with both its types and for all targets it allows") {
  std::ifstream file(CUBINET_TEST_EXAMPLE_TEMPLATE);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  CompileRequest request = test::request_of(test::parse_template(source));
  const auto nvrtc = open_compiler(test::compiler_search());
  for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_100f", "sm_120f"}) {
    for (const char* type : {"fp32", "bf16"}) {
      request.target = *SmTarget::parse(target);
      request.spec.set("dtype", type);
      const auto output = nvrtc->compile(request);
      CHECK_MESSAGE(output.has_value(), (output ? "" : output.error().message + output.error().detail));
      if (output) CHECK(output->record.warnings.empty());
    }
  }
  request.spec.set("block", 1024).set("elements_per_thread", 8);
  CHECK(nvrtc->compile(request).error().message.find("at most 4096 elements") != std::string::npos);
}

TEST_CASE("each shared header compiles as the only include of a source, without a warning") {
  const auto nvrtc = open_compiler(test::compiler_search());
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  std::size_t compiled = 0;
  for (const auto& header : embedded_headers()) {
    const std::string& name = header.first;
    const std::string folder = name.substr(0, name.rfind('/'));
    if (catalog->find(folder.substr(folder.rfind('/') + 1))) continue;  // the sizes of one kernel
    SourceProgram program;
    program.text = "#include <" + name + ">\nextern \"C\" __global__ void kernel() {}\n";
    const auto source = program.as_template();
    REQUIRE(source);
    const auto output = nvrtc->compile(test::request_of(*source, "sm_90a"));
    CHECK_MESSAGE(output, (name + ": " + (output ? "" : output.error().message + output.error().detail)));
    if (output) CHECK_MESSAGE(output->record.warnings.empty(), (name + ": " + output->record.warnings));
    ++compiled;
  }
  CHECK(compiled > 30);
}

TEST_CASE("the source of each template compiles alone, without a header beside it") {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  const auto api = NvrtcApi::open((*compiler)->location().library, (*compiler)->location().builtins);
  REQUIRE(api);
  for (const std::string& name : test::builtin_names()) {
    const auto source = specialised_source(test::builtin_request(name, "sm_90a"));
    REQUIRE(source);
    CHECK(source->find("#include") == std::string::npos);
    auto program = NvrtcProgram::create(**api, *source, "alone.cu", {});
    REQUIRE(program);
    CHECK_MESSAGE(program->compile({"--gpu-architecture=sm_90a", "--std=c++17"}) == NVRTC_SUCCESS,
                  program->log());
  }
}
