// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/reference.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/checked_merge.hpp>

#include <fmt/format.h>

#include <new>

namespace cubinet {
namespace {

// Two partial results and their merged result, on a device.
struct MergeBuffers {
  DeviceBuffer first_o, first_lse, second_o, second_lse, merged_o, merged_lse;

  static Result<MergeBuffers> create(const std::shared_ptr<const Device>& device,
                                     const AttentionMerge::Problem& problem, const MergeInputs& inputs);
  AttentionMerge::Tensors tensors() const;
  // Returns the bytes that a run reads and writes.
  double bytes() const {
    return static_cast<double>(first_o.size() + second_o.size() + merged_o.size() + 3 * merged_lse.size());
  }
};

Result<MergeBuffers> MergeBuffers::create(const std::shared_ptr<const Device>& device,
                                          const AttentionMerge::Problem& problem, const MergeInputs& inputs) {
  const std::size_t elements = inputs.first.lse.size() * problem.head_dim;
  // These bytes are NaN in every output type.
  const Bytes poison(elements * bits_of(problem.data_type_o) / 8, std::byte{0xff});
  CUBINET_TRY_ASSIGN(DeviceBuffer first_o, DeviceBuffer::copy_of(device, inputs.first.o));
  CUBINET_TRY_ASSIGN(DeviceBuffer first_lse, DeviceBuffer::copy_of(device, inputs.first.lse));
  CUBINET_TRY_ASSIGN(DeviceBuffer second_o, DeviceBuffer::copy_of(device, inputs.second.o));
  CUBINET_TRY_ASSIGN(DeviceBuffer second_lse, DeviceBuffer::copy_of(device, inputs.second.lse));
  CUBINET_TRY_ASSIGN(DeviceBuffer merged_o, DeviceBuffer::copy_of(device, poison));
  CUBINET_TRY_ASSIGN(DeviceBuffer merged_lse, DeviceBuffer::copy_of(device, inputs.first.lse));
  return MergeBuffers{std::move(first_o),    std::move(first_lse), std::move(second_o),
                      std::move(second_lse), std::move(merged_o),  std::move(merged_lse)};
}

AttentionMerge::Tensors MergeBuffers::tensors() const {
  return {{first_o, first_lse}, {second_o, second_lse}, {merged_o, merged_lse}};
}

// Compares the merged result with the definition in double precision.
Result<AttentionVerdict> verdict_of_merge(const AttentionMerge::Problem& problem, const MergeInputs& inputs,
                                          const MergeBuffers& buffers) {
  Bytes o(buffers.merged_o.size());
  std::vector<float> lse(inputs.first.lse.size());
  CUBINET_TRY(buffers.merged_o.copy_to(o));
  CUBINET_TRY(buffers.merged_lse.copy_to(lse));
  AttentionVerdict verdict;
  verdict.narrow_output = problem.data_type_o == DataType::e4m3;
  CUBINET_TRY_ASSIGN(verdict.error, compare_merge(problem, inputs, o, lse));
  return verdict;
}

// Returns the partial results in the host's memory. Checks the device's memory first, because the
// host may have less.
Result<MergeInputs> parts_in_memory(const AttentionMerge::Problem& problem,
                                    const CheckedMergeOptions& options, const DeviceProperties& device) {
  const double bytes =
      2.0 * options.tokens * problem.heads * problem.head_dim * bits_of(problem.data_type) / 8;
  if (bytes > static_cast<double>(device.memory_bytes)) {
    return Error{ErrorCode::unavailable,
                 fmt::format("the two parts alone take {:.0f} GiB, more than {} has", bytes / (1U << 30U),
                             device.to_string()),
                 "ask for fewer tokens"};
  }
  try {
    return make_merge_inputs(problem, options.tokens, options.seed);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::unavailable,
                 "the memory does not suffice for two parts of " + std::to_string(options.tokens) + " tokens",
                 "ask for fewer tokens"};
  }
}

}  // namespace

Result<CheckedMerge> run_checked_merge(Runtime& runtime, const AttentionMerge::Problem& problem,
                                       const CheckedMergeOptions& options) {
  CUBINET_TRY_ASSIGN(const AttentionMerge merge, AttentionMerge::bind(runtime, problem, options.device));
  CUBINET_TRY_ASSIGN(const auto device, runtime.device(options.device));
  CheckedMerge checked;
  checked.device = device->properties();
  CUBINET_TRY_ASSIGN(const MergeInputs inputs, parts_in_memory(problem, options, checked.device));
  CUBINET_TRY_ASSIGN(const MergeBuffers buffers, MergeBuffers::create(device, problem, inputs));
  checked.bytes = buffers.bytes();
  const auto record = [&](std::uint32_t, CUstream stream) {
    return merge.run(buffers.tensors(), options.tokens, stream);
  };
  CUBINET_TRY_ASSIGN(checked.seconds, median_replay(device, options.replays, record));
  CUBINET_TRY_ASSIGN(checked.verdict, verdict_of_merge(problem, inputs, buffers));
  return checked;
}

}  // namespace cubinet
