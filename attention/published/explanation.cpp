// SPDX-License-Identifier: Apache-2.0
#include "explanation.hpp"

#include <cubinet/attention/backend.hpp>

#include <cstdio>

namespace cubinet {
namespace {

constexpr std::size_t kNearest = 3;

std::string text(std::uint64_t value) {
  return std::to_string(value);
}

std::string decimal(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.1f", value);
  return buffer;
}

std::string kernel_text(const KernelSelector& selector) {
  return std::string(to_string(selector.kernel_type)) + " " + text(selector.tile_size_q) + "x" +
         text(selector.tile_size_kv) + (selector.two_cta ? " with a pair of CTAs" : "") + ", " +
         text(selector.head_dim_per_cta_v) + " columns of V a CTA, " +
         std::string(to_string(selector.multi_ctas_kv_mode)) + ", " +
         std::string(to_string(selector.scheduler));
}

std::string_view reason_text(Refinement refinement) {
  switch (refinement) {
    case Refinement::none:
      return "before any refinement";
    case Refinement::no_split:
      return "one CTA a sequence is enough or all that fit, so KV is not split";
    case Refinement::tile_kv64:
      return "the device is not full, so KV tiles are halved";
    case Refinement::cga:
      return "the splits fit into a cluster, so it reduces them";
    case Refinement::head_dim_split:
      return "the device is not full, so the columns of V are divided";
    case Refinement::cga_fallback:
      return "the clusters do not fit at once, so global memory reduces";
  }
  return "";
}

void add_trace(const SelectionTrace& trace, std::vector<std::string>& lines) {
  if (trace.model_skipped)
    lines.push_back("the default tile keeps the device busy: no other tile was compared");
  for (std::size_t i = 0; i < trace.candidate_count; ++i) {
    const TraceCandidate& candidate = trace.candidates[i];
    std::string line = "tile " + text(candidate.tile_size_q) + ": ";
    line += candidate.exists ? text(candidate.kv_splits) + " splits, " + text(candidate.ctas) +
                                   " CTAs, time " + decimal(candidate.time)
                             : "no such kernel";
    lines.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < trace.pass_count; ++i) {
    const TracePass& pass = trace.passes[i];
    lines.push_back("pass " + text(i + 1) + ": " + kernel_text(pass.selector) + ", " + text(pass.kv_splits) +
                    " splits, " + text(pass.ctas) + " CTAs: " + std::string(reason_text(pass.because)));
  }
  for (std::size_t i = 1; i < kRefinements; ++i) {
    if ((trace.missing_refinements >> i & 1U) != 0) {
      lines.push_back("no kernel exists for the refinement " +
                      std::string(to_string(static_cast<Refinement>(i))));
    }
  }
  if (trace.default_missing)
    lines.push_back("the rules' first choice is not in the table: " + kernel_text(trace.wanted));
}

void add_refusals(const SelectionTrace& trace, const DeviceFacts& device, const KernelIndex& index,
                  std::vector<std::string>& lines) {
  if (std::string passed_over = index.usage().passed_over(); !passed_over.empty())
    lines.push_back(std::move(passed_over));
  if (trace.over_shared_limit != 0) {
    lines.push_back(text(trace.over_shared_limit) + " rows need more than the device's " +
                    text(device.shared_limit()) + " bytes of shared memory");
  }
  if (trace.refused_targets != 0) {
    lines.push_back(text(trace.refused_targets) + " rows are of a target that the policy refuses");
  }
  if (trace.not_launchable != 0) {
    lines.push_back(text(trace.not_launchable) +
                    " rows cannot be launched for the problem's heads and lengths");
  }
}

}  // namespace

std::string miss_reason(const AttentionProblem& problem, const DeviceFacts& device,
                        const Selection& selection) {
  return "no kernel for " + std::string(to_string(problem.data_type_q)) + " Q, " +
         std::string(to_string(problem.data_type_k)) + " KV, head dims " + text(problem.head_dim_qk) + "/" +
         text(problem.head_dim_v) + " on " + device.capability.to_string() + ": " +
         text(selection.trace.looked_up) + " looked up, the first of them " +
         kernel_text(selection.trace.wanted);
}

std::vector<std::string> explain(const AttentionProblem& problem, const DeviceFacts& device,
                                 const KernelIndex& index, const Selection& selection) {
  std::vector<std::string> lines;
  if (!selection.found) {
    lines.push_back(miss_reason(problem, device, selection));
    add_refusals(selection.trace, device, index, lines);
    for (const NearMiss& miss : nearest_rows(index, selection.trace.wanted, kNearest))
      lines.push_back("nearest: " + miss.to_string(index.device()));
    return lines;
  }
  const LaunchConfiguration& launch = selection.launch;
  lines.push_back((selection.row != nullptr
                       ? selection.row->function_name + " (" + selection.row->target.to_string() + ")"
                       : std::string("a kernel that is assumed to exist")) +
                  ": " + kernel_text(selection.kernel.selector) + "; grid " + text(launch.grid[0]) + "x" +
                  text(launch.grid[1]) + "x" + text(launch.grid[2]) + ", cluster " + text(launch.cluster_x));
  if (launch.wasted_rows != 0)
    lines.push_back(text(launch.wasted_rows) + " rows of a full tile hold nothing");
  add_trace(selection.trace, lines);
  add_refusals(selection.trace, device, index, lines);
  return lines;
}

}  // namespace cubinet
