// SPDX-License-Identifier: Apache-2.0
#include "reference/sequence_rows.hpp"
#include "rounding.hpp"
#include "templates/prefill/attention_prefill_family.hpp"
#include "templates/prefill/prefill_arguments.hpp"
#include "templates/prefill/prefill_parameters.hpp"

#include <cubinet/kernel_templates/attention_reference_parameters.h>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <array>
#include <cstring>
#include <string>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillParameters;
using kernel_templates::AttentionReferenceParameters;

constexpr const char* kReferenceTemplate = "attention_reference";
constexpr std::uint32_t kReferenceRows = 16;  // query tokens of a block, as in the template

Result<AttentionReferenceParameters> reference_argument(const AttentionProblem& problem,
                                                        const AttentionTensors& tensors) {
  CUBINET_TRY_ASSIGN(const AttentionPrefillParameters sizes, prefill_parameters(problem));
  const PrefillArguments writer(sizes, kAttentionPrefill, {}, {}, {}, problem);
  std::array<std::byte, sizeof(AttentionPrefillParameters)> bytes;
  writer.prepare(bytes);
  writer.write(tensors, bytes);
  AttentionReferenceParameters argument{};
  std::memcpy(&argument.tensors, bytes.data(), sizeof(argument.tensors));
  argument.softmax_scale = problem.scale();
  argument.output_scale = problem.output_scale;
  argument.soft_cap = problem.soft_cap.value_or(0);
  argument.window = static_cast<int>(problem.is_windowed() ? problem.window : kUnlimited);
  argument.causal = problem.mask == AttentionMask::causal ? 1 : 0;
  return argument;
}

}  // namespace

bool has_device_reference(const AttentionProblem& problem) {
  const auto has_type = [](DataType type) {
    return type == DataType::bf16 || type == DataType::fp16 || type == DataType::e4m3;
  };
  const auto one_of = [](std::uint32_t value, std::initializer_list<std::uint32_t> values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  const bool has_types =
      has_type(problem.data_type_q) && problem.data_type_k == problem.data_type_v &&
      (problem.data_type_k == problem.data_type_q || problem.data_type_k == DataType::e4m3);
  return has_types && problem.layout != QkvLayout::packed_qkv && problem.mask != AttentionMask::custom &&
         problem.sparse == SparseAttention::none && problem.chunk == kUnlimited && !problem.append &&
         !problem.is_mla_generation() && one_of(problem.head_dim_qk, {64, 128, 192, 256, 512}) &&
         one_of(problem.head_dim_v, {64, 128, 256, 512});
}

Result<AttentionOutputs> attention_reference_on(Runtime& runtime, const std::shared_ptr<const Device>& device,
                                                const AttentionProblem& problem,
                                                const AttentionInputs& inputs) {
  if (!has_device_reference(problem))
    return Error{ErrorCode::unsupported, "no kernel computes the reference of this problem on a device"};
  KernelSpec spec{kReferenceTemplate, {}};
  spec.set("dtype", ParameterValue(std::string(to_string(problem.data_type_q))))
      .set("dtype_kv", ParameterValue(std::string(to_string(problem.data_type_k))))
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("kv_layout", problem.layout == QkvLayout::paged_kv ? "paged" : "contiguous");
  CUBINET_TRY_ASSIGN(const Function function, runtime.function(spec, device->ordinal(), kReferenceTemplate));
  CUBINET_TRY_ASSIGN(const TensorBuffers buffers, TensorBuffers::create(device, problem, inputs, {}));
  AttentionOutputs outputs;
  outputs.lse.resize(SequenceRows(problem, inputs).q_tokens() * problem.heads_q);
  outputs.o.resize(outputs.lse.size() * problem.head_dim_v);
  CUBINET_TRY_ASSIGN(const DeviceBuffer o, DeviceBuffer::allocate(device, outputs.o.size() * sizeof(double)));
  CUBINET_TRY_ASSIGN(const DeviceBuffer lse,
                     DeviceBuffer::allocate(device, outputs.lse.size() * sizeof(double)));
  AttentionTensors tensors = buffers.tensors();
  tensors.o = o;
  tensors.lse = lse;
  CUBINET_TRY_ASSIGN(const AttentionReferenceParameters argument, reference_argument(problem, tensors));
  CUBINET_TRY_ASSIGN(const Stream stream, Stream::create(device));
  {
    CUBINET_TRY_ASSIGN(const Device::ContextGuard current, device->make_current());
    LaunchConfig config;
    config.grid = {divide_up(problem.q_len, kReferenceRows), problem.heads_q, problem.batch};
    config.stream = stream.handle();
    CUBINET_TRY(function.launch(config, argument));
  }
  CUBINET_TRY(stream.synchronize());
  CUBINET_TRY(o.copy_to(outputs.o));
  CUBINET_TRY(lse.copy_to(outputs.lse));
  return outputs;
}

}  // namespace cubinet
