// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/bytes.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/launch_record.hpp>
#include <cubinet/spec/data_type.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace cubinet {
namespace {

constexpr std::uint64_t kFirstAddress = 0x100000000000;
constexpr std::uint64_t kAddressStep = std::uint64_t{1} << 36U;
constexpr std::uint64_t kCounterRoom = std::uint64_t{8}
                                       << 20U;  // bytes for counters in the recorded workspace
constexpr std::uint64_t kWorkspace = 5;

// The alignments that a run asks for.
constexpr std::uint64_t kTensorAlignment = 16;
constexpr std::uint64_t kWordAlignment = 4;

// A tensor, its name, the number of its buffer in the records and its alignment.
struct NamedBuffer {
  const char* name;
  DeviceTensor AttentionTensors::*tensor;
  std::uint64_t number;
  std::uint64_t alignment = kTensorAlignment;
};
constexpr NamedBuffer kBuffers[] = {
    {"o", &AttentionTensors::o, 1},
    {"q", &AttentionTensors::q, 2},
    {"k", &AttentionTensors::k, 3},
    {"v", &AttentionTensors::v, 4},
    {"counters", &AttentionTensors::counters, kWorkspace, kWorkspaceAlignment},
    {"scratch", &AttentionTensors::scratch, kWorkspace, kWorkspaceAlignment},
    {"page_table", &AttentionTensors::page_table, 6, kWordAlignment},
    {"kv_lengths", &AttentionTensors::kv_lengths, 7, kWordAlignment},
    {"q_offsets", &AttentionTensors::q_offsets, 8, kWordAlignment},
    {"kv_offsets", &AttentionTensors::kv_offsets, 9, kWordAlignment},
    {"sinks", &AttentionTensors::sinks, 10, kWordAlignment},
    {"k_block_scales", &AttentionTensors::k_block_scales, 11},
    {"v_block_scales", &AttentionTensors::v_block_scales, 12},
    {"o_block_scales", &AttentionTensors::o_block_scales, 13},
    {"mask", &AttentionTensors::mask, 14, kWordAlignment},
    {"lse", &AttentionTensors::lse, 15, kWordAlignment},
    {"softmax_scale", &AttentionTensors::softmax_scale, 16, kWordAlignment},
    {"output_scale", &AttentionTensors::output_scale, 17, kWordAlignment},
    {"new_q", &AttentionTensors::new_q, 18},
    {"new_k", &AttentionTensors::new_k, 19},
    {"new_v", &AttentionTensors::new_v, 20},
    {"positions", &AttentionTensors::positions, 21, kWordAlignment},
    {"cos_sin", &AttentionTensors::cos_sin, 22},
    {"q_scale", &AttentionTensors::q_scale, 23, kWordAlignment},
    {"k_scale", &AttentionTensors::k_scale, 24, kWordAlignment},
    {"v_scale", &AttentionTensors::v_scale, 25, kWordAlignment},
    {"k_head_scales", &AttentionTensors::k_head_scales, 26, kWordAlignment},
    {"v_head_scales", &AttentionTensors::v_head_scales, 27, kWordAlignment},
};

Result<void> set_address(AttentionTensors& tensors, const TensorAddress& given) {
  const auto* const found = std::find_if(std::begin(kBuffers), std::end(kBuffers),
                                         [&](const NamedBuffer& each) { return given.tensor == each.name; });
  if (found == std::end(kBuffers)) {
    std::vector<std::string> names;
    for (const NamedBuffer& buffer : kBuffers)
      names.emplace_back(buffer.name);
    return Error{ErrorCode::invalid_argument, fmt::format("attention has no tensor '{}'", given.tensor),
                 "name one of " + join(names)};
  }
  if (given.address % found->alignment != 0) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is at {:#x}, but must be at a multiple of {} bytes", given.tensor,
                             given.address, found->alignment),
                 "give an aligned address"};
  }
  (tensors.*(found->tensor)).address = given.address;
  return {};
}

// Returns the size of a pool that has exactly the pages of all sequences.
std::uint64_t pool_bytes(const AttentionProblem& problem) {
  const std::uint64_t columns = std::max(problem.head_dim_qk, problem.head_dim_v);
  const std::uint64_t pages = std::uint64_t{problem.batch} * problem.pages_per_sequence();
  return pages * problem.tokens_per_page * problem.heads_kv * columns * bits_of(problem.data_type_k) / 8;
}

nlohmann::json recorded(const TensorMapDescription& map) {
  const auto first = [](const auto& values, std::size_t count) {
    return nlohmann::json(std::vector(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)));
  };
  return {{"type", static_cast<int>(map.type)},
          {"address", map.address},
          {"dims", first(map.sizes, map.rank)},
          {"strides", first(map.strides_bytes, map.rank - 1)},
          {"box", first(map.box, map.rank)},
          {"element_strides", std::vector<int>(map.rank, 1)},
          {"swizzle", static_cast<int>(map.swizzle)},
          {"interleave", 0},
          {"l2", 2},  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
          {"oob", 0}};
}

nlohmann::json recorded(const PlanStep& step, const AttentionTensors& tensors, bool runtime) {
  std::vector<std::byte> argument(step.arguments->size());
  step.arguments->prepare(argument);
  step.arguments->write(tensors, argument);
  return {{"function", step.entry_point},
          {"runtime", runtime},
          {"grid", step.grid},
          {"block", {step.threads, 1, 1}},
          {"shared", step.shared_bytes},
          {"cluster", {step.cluster_x, 1, 1}},
          {"cluster_policy", step.cluster_x > 1 ? 1 : 0},  // CU_CLUSTER_SCHEDULING_POLICY_SPREAD
          {"pdl", step.starts_early ? 1 : 0},
          {"params", to_hex(argument)}};
}

}  // namespace

Result<AttentionTensors> made_up_tensors(const AttentionPlan& plan,
                                         const std::vector<TensorAddress>& addresses) {
  const AttentionProblem& problem = plan.request.problem;
  AttentionTensors tensors;
  for (const NamedBuffer& buffer : kBuffers)
    (tensors.*(buffer.tensor)).address = kFirstAddress + buffer.number * kAddressStep;
  // Tensors without pages have room for the longest possible sequences.
  tensors.q.bytes = kAddressStep;
  tensors.k.bytes = problem.layout == QkvLayout::paged_kv ? pool_bytes(problem) : kAddressStep;
  tensors.v.bytes = tensors.k.bytes;
  if (problem.append) tensors.cos_sin.bytes = std::uint64_t{problem.kv_len} * problem.append->rope_dim * 4;
  // Prefill over pages has no counters: its workspace is all scratch.
  if (problem.is_generation() || problem.layout != QkvLayout::paged_kv)
    tensors.scratch.address += kCounterRoom;
  for (const TensorAddress& given : addresses) {
    CUBINET_TRY(set_address(tensors, given));
    AttentionTensors moved = tensors;
    CUBINET_TRY(set_address(moved, {given.tensor, given.address + kAddressStep}));
    if (launch_record(plan, moved) != launch_record(plan, tensors)) continue;
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is given, but the plan's kernels do not read it", given.tensor),
                 "leave it out"};
  }
  return tensors;
}

nlohmann::json launch_record(const AttentionPlan& plan, const AttentionTensors& tensors) {
  auto launches = nlohmann::json::array();
  auto maps = nlohmann::json::array();
  const ArgumentWriter* described = nullptr;
  for (const PlanStep& step : plan.steps) {
    launches.push_back(recorded(step, tensors, &step != &plan.steps[plan.attention_step()]));
    if (step.arguments.get() == described) continue;
    described = step.arguments.get();
    std::array<PlacedTensorMap, kMaximumTensorMaps> placed;
    const std::size_t count = described->tensor_maps(tensors, placed);
    for (std::size_t i = 0; i < count; ++i)
      maps.push_back(recorded(placed[i].description));
  }
  return {{"launches", std::move(launches)}, {"tensor_maps", std::move(maps)}};
}

}  // namespace cubinet
