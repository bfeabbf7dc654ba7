// SPDX-License-Identifier: Apache-2.0
// Checks that the device code of prefill attention compiles for its targets, like
// device_code_test.cpp.
#include "jit/device_code.hpp"
#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <utility>
#include <vector>

using namespace cubinet;
using test::check_without_a_word;
using test::open_compiler;

namespace {

// Adds a kernel of attention_prefill, or none if its tile does not fit the shared memory of the
// target, as tall tiles of wide heads. It has all options or none.
void add_portable(std::vector<CompileRequest>& requests, CompileRequest request, int head_dim, int rows,
                  bool all_options) {
  test::set_portable_prefill(request, head_dim, all_options);
  request.spec.set("tile_size_q", rows);
  if (test::fits_target(request)) requests.push_back(std::move(request));
}

}  // namespace

TEST_CASE(
    "prefill attention of warpgroups compiles for all its head dims and masks, without a warning or a "
    "stack") {
  struct Kernel {
    int head_dim_qk;
    int head_dim_v;
    int rows;
    int tokens;
    bool is_plain;  // without windows and soft caps, which need more registers
  };
  std::vector<CompileRequest> requests;
  for (const Kernel& kernel : {Kernel{64, 64, 192, 128, true},
                               {64, 64, 128, 128, false},
                               {72, 72, 192, 96, false},
                               {72, 72, 128, 192, true},
                               {80, 80, 192, 112, true},
                               {80, 80, 128, 128, false},
                               {88, 88, 192, 112, true},
                               {88, 88, 128, 128, false},
                               {96, 96, 192, 96, false},
                               {96, 96, 192, 112, true},
                               {96, 96, 128, 192, true},
                               {96, 96, 128, 128, false},
                               {128, 128, 128, 128, false},
                               {128, 128, 128, 176, true},
                               {192, 128, 128, 128, false},
                               {256, 256, 128, 80, false}}) {
    for (const char* type : {"bf16", "fp16"}) {
      for (const char* layout : {"paged", "contiguous"}) {
        CompileRequest request = test::builtin_request("attention_prefill_wgmma", "sm_90a");
        request.spec.set("head_dim_qk", kernel.head_dim_qk).set("head_dim_v", kernel.head_dim_v);
        request.spec.set("dtype", type).set("dtype_o", type).set("kv_layout", layout);
        request.spec.set("tile_size_q", kernel.rows).set("tile_size_kv", kernel.tokens);
        requests.push_back(request);
        CompileRequest dense = request;
        dense.spec.set("mask", "dense").set("dtype_o", "fp32");
        requests.push_back(dense);
        if (kernel.is_plain) continue;
        request.spec.set("sliding_window", ParameterValue(true));
        requests.push_back(request);
        request.spec.set("soft_cap", ParameterValue(true));
        request.spec.set("separate_page_tables", ParameterValue(std::string_view(layout) == "paged"));
        requests.push_back(request);
      }
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE(
    "clusters of prefill compile for all their head dims, types and masks, without a warning or a stack") {
  std::vector<CompileRequest> requests;
  const auto add = [&](const char* type, int head_dim_qk, int head_dim_v, int tokens, const char* numerics) {
    for (const char* layout : {"paged", "contiguous"}) {
      const bool paged = std::string_view(layout) == "paged";
      CompileRequest request = test::builtin_request("attention_prefill_wgmma", "sm_90a");
      request.spec.set("head_dim_qk", head_dim_qk).set("head_dim_v", head_dim_v).set("numerics", numerics);
      request.spec.set("dtype", type).set("kv_layout", layout).set("tile_size_kv", tokens);
      request.spec.set("cluster_size", 2).set("mask", paged ? "causal" : "dense");
      if (tokens != 176 || !paged) requests.push_back(request);
      const bool lacks_registers = std::string_view(type) == "e4m3" || std::string_view(numerics) != "fast";
      if (tokens == 176 || lacks_registers) continue;
      request.spec.set("mask", "causal").set("sliding_window", ParameterValue(true));
      request.spec.set("soft_cap", ParameterValue(paged));
      requests.push_back(request);
    }
  };
  add("bf16", 128, 128, 128, "fast");
  add("fp16", 128, 128, 176, "fast");
  add("fp16", 192, 128, 128, "fast");
  add("bf16", 256, 256, 80, "fast");
  add("e4m3", 128, 128, 128, "fast");
  add("bf16", 128, 128, 128, "invariant");
  add("fp16", 192, 128, 128, "invariant");
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("prefill of e4m3 by warpgroups compiles with all tiles and masks, without a warning or a stack") {
  struct Kernel {
    int head_dim;
    int rows;
    int tokens;
    int fold_steps;
    bool is_plain;  // without windows and soft caps
    bool has_cap;
  };
  std::vector<CompileRequest> requests;
  for (const Kernel& kernel : {Kernel{64, 128, 128, 4, false, true},
                               {64, 192, 128, 4, false, true},
                               {64, 192, 160, 0, true, false},
                               {128, 128, 128, 4, false, false},
                               {128, 128, 128, 8, true, false},
                               {128, 128, 96, 4, false, true},
                               {128, 128, 224, 0, true, false}}) {
    for (const bool paged : {true, false}) {
      if (paged && kernel.is_plain) continue;  // pages lack the registers for long steps
      CompileRequest request = test::builtin_request("attention_prefill_wgmma", "sm_90a");
      request.spec.set("kv_layout", paged ? "paged" : "contiguous");
      request.spec.set("dtype", "e4m3").set("fold_steps", kernel.fold_steps);
      request.spec.set("head_dim_qk", kernel.head_dim).set("head_dim_v", kernel.head_dim);
      request.spec.set("tile_size_q", kernel.rows).set("tile_size_kv", kernel.tokens);
      requests.push_back(request);
      CompileRequest other = request;
      other.spec.set("mask", "dense").set("dtype_o", "e4m3");
      requests.push_back(other);
      other.spec.set("mask", "causal").set("dtype_o", "fp32");
      requests.push_back(other);
      if (kernel.is_plain) continue;
      request.spec.set("sliding_window", ParameterValue(true)).set("dtype_o", "fp16");
      requests.push_back(request);
      request.spec.set("soft_cap", ParameterValue(kernel.has_cap)).set("dtype_o", "fp32");
      request.spec.set("separate_page_tables", ParameterValue(paged));
      requests.push_back(request);
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("the kernels that combine splits of prefill compile without a warning or a stack") {
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_90a", "sm_80"}) {
    for (const int head_dim : {64, 72, 96, 128, 256}) {
      for (const char* output : {"bf16", "fp16", "fp32", "e4m3"}) {
        CompileRequest request = test::builtin_request("attention_prefill_combine", target);
        request.spec.set("head_dim_v", head_dim).set("dtype_o", output);
        requests.push_back(request);
        request.spec.set("sliding_window", ParameterValue(true));
        requests.push_back(request);
      }
    }
  }
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("no shape of prefill attention has registers to spill, on old and new targets") {
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_80", "sm_90a", "sm_100f", "sm_120f"}) {
    for (const int head_dim : {64, 72, 88, 96, 128, 192, 256, 512}) {
      for (const int rows : {64, 128}) {
        for (const bool all_options : {false, true}) {
          CompileRequest request = test::builtin_request("attention_prefill", target);
          request.spec.set("stages", head_dim >= 256 ? 1 : 2)
              .set("dtype", rows == 64 ? "bf16" : "fp16")
              .set("dtype_o", all_options ? "fp32" : "bf16");
          add_portable(requests, std::move(request), head_dim, rows, all_options);
        }
      }
    }
  }
  CHECK(requests.size() > 80);
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}

TEST_CASE("no shape of prefill attention over KV of e4m3 has registers to spill, beside Q of 16 and 8 bits") {
  std::vector<CompileRequest> requests;
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const int head_dim : {64, 72, 88, 96, 128, 192, 256, 512}) {
      for (const int rows : {64, 128}) {
        for (const bool narrow_q : {false, true}) {
          const bool all_options = narrow_q == (rows == 64);
          CompileRequest request = test::builtin_request("attention_prefill", target);
          request.spec.set("dtype", narrow_q ? "e4m3" : "bf16")
              .set("dtype_kv", "e4m3")
              .set("dtype_o", !all_options                          ? "bf16"
                              : std::string_view(target) == "sm_80" ? "fp32"
                                                                    : "e4m3");
          add_portable(requests, std::move(request), head_dim, rows, all_options);
        }
      }
    }
  }
  CHECK(requests.size() > 40);
  check_without_a_word(*open_compiler(test::compiler_search()), requests);
}
