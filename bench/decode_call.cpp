// SPDX-License-Identifier: Apache-2.0
#include "decode_call.hpp"

#include <span>

namespace cubinet::bench {
namespace {

enum Tensor : std::size_t { q, k, v, o, lse, page_tables, kv_lengths, workspace };

template <class T>
ByteView bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

DecodeProblem llama(int batch, int kv_len, int page_size) {
  DecodeProblem problem;
  problem.batch = batch;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len_max = kv_len;
  problem.page_size = page_size;
  return problem;
}

std::uint64_t output_rows(const DecodeProblem& problem) {
  return static_cast<std::uint64_t>(problem.batch) * static_cast<std::uint64_t>(problem.q_len) *
         static_cast<std::uint64_t>(problem.heads_q);
}

// The page tables of all copies: copy c's pages lie c pools further.
std::vector<std::int32_t> shifted_tables(const DecodeInputs& inputs, int copies) {
  std::vector<std::int32_t> tables;
  tables.reserve(inputs.page_table.size() * static_cast<std::size_t>(copies));
  for (int copy = 0; copy < copies; ++copy) {
    for (const std::int32_t page : inputs.page_table) {
      tables.push_back(page + static_cast<std::int32_t>(inputs.pages) * copy);
    }
  }
  return tables;
}

std::uint64_t kv_bytes_read(const DecodeProblem& problem, const DecodeInputs& inputs) {
  std::uint64_t tokens = 0;
  for (const std::int32_t length : inputs.kv_lengths)
    tokens += static_cast<std::uint64_t>(length);
  const auto row = static_cast<std::uint64_t>(problem.head_dim_qk + problem.head_dim_v);
  return tokens * static_cast<std::uint64_t>(problem.heads_kv) * row * bits_of(problem.dtype_kv) / 8;
}

}  // namespace

std::vector<NamedProblem> llama_problems() {
  std::vector<NamedProblem> problems;
  for (const int batch : {1, 16, 64}) {
    for (const int kv_len : {4096, 16384}) {
      for (const int page_size : {16, 64}) {
        problems.push_back({"batch " + std::to_string(batch) + ", KV " + std::to_string(kv_len) + ", page " +
                                std::to_string(page_size),
                            llama(batch, kv_len, page_size)});
      }
    }
  }
  return problems;
}

std::vector<NamedProblem> small_problems() {
  std::vector<NamedProblem> problems = {
      {"page 16", llama(4, 210, 16)},        {"page 128", llama(4, 300, 128)},
      {"head dim 64", llama(4, 150, 64)},    {"head dim 256", llama(3, 140, 32)},
      {"split KV", llama(1, 2100, 64)},      {"several query tokens", llama(3, 170, 16)},
      {"sliding window", llama(3, 260, 16)}, {"fp16", llama(3, 129, 64)},
      {"one query head", llama(3, 100, 16)},
  };
  const auto find = [&problems](const char* name) -> DecodeProblem& {
    for (NamedProblem& entry : problems) {
      if (entry.name == name) return entry.problem;
    }
    return problems.front().problem;
  };
  find("head dim 64").head_dim_qk = find("head dim 64").head_dim_v = 64;
  find("head dim 256").head_dim_qk = find("head dim 256").head_dim_v = 256;
  find("several query tokens").q_len = 4;
  find("sliding window").window = 100;
  DecodeProblem& half = find("fp16");
  half.dtype_q = half.dtype_kv = half.dtype_o = DataType::fp16;
  find("one query head").heads_q = 8;
  return problems;
}

Result<DecodeKernels> request_kernels(Runtime& runtime, const DecodePlan& plan, int device) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const PreparedKernel> prepared, runtime.prepare(plan.spec));
  DecodeKernels kernels;
  CUBINET_TRY_ASSIGN(kernels.main, runtime.function(*prepared, device, "attention_decode"));
  if (plan.reduces()) {
    CUBINET_TRY_ASSIGN(kernels.reduce, runtime.function(*prepared, device, "attention_decode_reduce"));
  }
  return kernels;
}

Result<DecodeCall> DecodeCall::create(const std::shared_ptr<const Device>& device,
                                      const DecodeProblem& problem, const DecodeInputs& inputs, int copies) {
  DecodeCall call;
  call.problem_ = problem;
  call.kv_bytes_ = kv_bytes_read(problem, inputs);
  const DeviceProperties& properties = device->properties();
  CUBINET_TRY_ASSIGN(call.plan_, plan_decode(problem, {static_cast<int>(properties.multiprocessors),
                                                       properties.maximum_shared_bytes_per_block}));
  const std::uint64_t rows = output_rows(problem);
  const std::vector<std::int32_t> tables = shifted_tables(inputs, copies);
  const auto places = static_cast<std::size_t>(copies);
  const std::size_t sizes[] = {
      inputs.q.size() * 2,
      inputs.k.size() * 2 * places,
      inputs.v.size() * 2 * places,
      rows * static_cast<std::uint64_t>(problem.head_dim_v) * bits_of(problem.dtype_o) / 8,
      rows * sizeof(float),
      tables.size() * sizeof(std::int32_t),
      inputs.kv_lengths.size() * sizeof(std::int32_t),
      call.plan_.workspace_bytes};
  for (const std::size_t size : sizes) {
    CUBINET_TRY_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(device, size));
    call.buffers_.push_back(std::move(buffer));
  }
  CUBINET_TRY(call.buffers_[q].copy_from(bytes_of(inputs.q)));
  for (std::size_t copy = 0; copy < places; ++copy) {
    CUBINET_TRY(call.buffers_[k].copy_from(bytes_of(inputs.k), copy * inputs.k.size() * 2));
    CUBINET_TRY(call.buffers_[v].copy_from(bytes_of(inputs.v), copy * inputs.v.size() * 2));
  }
  CUBINET_TRY(call.buffers_[page_tables].copy_from(bytes_of(tables)));
  CUBINET_TRY(call.buffers_[kv_lengths].copy_from(bytes_of(inputs.kv_lengths)));

  DecodeTensors tensors{call.buffers_[q].address(),          call.buffers_[k].address(),
                        call.buffers_[v].address(),          call.buffers_[o].address(),
                        call.buffers_[lse].address(),        call.buffers_[page_tables].address(),
                        call.buffers_[kv_lengths].address(), call.buffers_[workspace].address()};
  for (int copy = 0; copy < copies; ++copy) {
    CUBINET_TRY_ASSIGN(call.calls_.emplace_back(), call.plan_.arguments(tensors));
    tensors.page_table += inputs.page_table.size() * sizeof(std::int32_t);
  }
  return call;
}

Result<void> DecodeCall::poison(Poison what) const {
  constexpr std::byte kNan{0xff};  // 0xffff and 0xffffffff are NaN in every type of an output
  CUBINET_TRY(buffers_[o].fill(kNan));
  CUBINET_TRY(buffers_[lse].fill(kNan));
  if (what == Poison::outputs || plan_.workspace_bytes == 0) return {};
  return buffers_[workspace].fill(kNan);
}

Result<void> DecodeCall::launch(const DecodeKernels& kernels, int copy, CUstream stream) const {
  const kernel_templates::AttentionDecodeParameters& parameters = calls_[static_cast<std::size_t>(copy)];
  LaunchConfig config;
  config.stream = stream;
  config.grid = plan_.grid;
  CUBINET_TRY(kernels.main.launch(config, parameters));
  if (!plan_.reduces()) return {};
  config.grid = plan_.reduce_grid;
  config.programmatic_launch = true;
  return kernels.reduce.launch(config, parameters);
}

Result<Bytes> DecodeCall::read_output() const {
  Bytes bytes(buffers_[o].size());
  CUBINET_TRY(buffers_[o].copy_to(bytes));
  return bytes;
}

Result<std::vector<float>> DecodeCall::read_lse() const {
  std::vector<float> values(buffers_[lse].size() / sizeof(float));
  CUBINET_TRY(buffers_[lse].copy_to(std::as_writable_bytes(std::span(values))));
  return values;
}

}  // namespace cubinet::bench
