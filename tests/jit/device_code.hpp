// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/counted.hpp"
#include "support/sampled.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/spec/kernel_resources.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace cubinet::test {

// Gives a request of attention_prefill its head dim, and all options or none.
inline void set_portable_prefill(CompileRequest& request, int head_dim, bool all_options) {
  request.spec.set("head_dim_qk", head_dim)
      .set("head_dim_v", head_dim == 192 ? 128 : head_dim)
      .set("kv_layout", all_options ? "paged" : "contiguous")
      .set("mask", all_options ? "causal" : "dense")
      .set("sliding_window", ParameterValue(all_options))
      .set("soft_cap", ParameterValue(all_options))
      .set("separate_page_tables", ParameterValue(all_options));
}

// Returns whether the target has the resources of a kernel, such as shared memory for its tile.
inline bool fits_target(const CompileRequest& request) {
  const auto resolved = request.kernel_template->resolve(request.spec);
  REQUIRE(resolved);
  return static_cast<bool>(request.kernel_template->check_target(*resolved, request.target));
}

inline std::shared_ptr<Compiler> open_compiler(const CompilerSearch& search) {
  const auto opened = Compiler::open(search);
  REQUIRE_MESSAGE(opened, opened.error().message);
  return *opened;
}

// Returns one request out of three, from a random start. A failure names its specification. Returns
// all of them if CUBINET_TEST_EVERY is set, as in scripts/campaign.sh device.
inline std::vector<CompileRequest> some_of(const std::vector<CompileRequest>& requests) {
  std::vector<CompileRequest> taken;
  for (const std::size_t i : sampled(requests.size(), 3))
    taken.push_back(requests[i]);
  counted(taken.size(), "specifications");
  return taken;
}

// Checks that NVRTC reports nothing and that no kernel uses the stack. NVRTC's warnings contain
// those of ptxas about serialised warpgroup products. Spilled registers are on the stack.
inline void check_all_without_a_word(Compiler& nvrtc, const std::vector<CompileRequest>& requests) {
  parallel_for(requests.size(), default_jobs(), [&](std::size_t i) {
    CAPTURE(requests[i].spec.to_string());
    const auto output = nvrtc.compile(requests[i]);
    REQUIRE_MESSAGE(output, (output.error().message + output.error().detail));
    CHECK_MESSAGE(output->record.warnings.empty(), output->record.warnings);
    const auto report = report_cubin(*output->image);
    REQUIRE(report);
    for (const KernelResources& kernel : report->kernels)
      CHECK(kernel.stack_bytes == 0);
  });
}

inline void check_without_a_word(Compiler& nvrtc, const std::vector<CompileRequest>& requests) {
  check_all_without_a_word(nvrtc, some_of(requests));
}

}  // namespace cubinet::test
