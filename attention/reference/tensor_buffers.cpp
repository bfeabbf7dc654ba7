// SPDX-License-Identifier: Apache-2.0
#include "reference/sequence_rows.hpp"
#include "size_limits.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {
namespace {

constexpr std::size_t kNewElementBytes = 2;  // bytes of bf16 and fp16, which the append takes
constexpr std::byte kNanByte{0xff};          // 0xffff and 0xffffffff are NaN in every type of an output

std::size_t bytes_of(const ElementBits& elements, DataType type) {
  return elements.size() * bits_of(type) / 8;
}

// elements that are packed and copied at once
constexpr std::size_t kChunk = std::size_t{1} << 24;
constexpr std::size_t kThreadsChunk = std::size_t{1} << 20;  // elements that one thread packs

// Packs the elements for kernels and uploads them from `offset` on, repeated until there are
// `bytes`.
Result<void> upload(const ElementBits& elements, DataType type, const DeviceBuffer& buffer,
                    std::size_t offset, std::size_t bytes) {
  Bytes packed;
  for (const std::size_t end = offset + bytes; offset < end && !elements.empty();) {
    for (std::size_t first = 0; first < elements.size() && offset < end; first += kChunk) {
      const auto chunk = std::span(elements).subspan(first, std::min(kChunk, elements.size() - first));
      packed.resize(chunk.size() * bits_of(type) / 8);
      parallel_for((chunk.size() + kThreadsChunk - 1) / kThreadsChunk, 0, [&](std::size_t i) {
        const std::size_t begin = i * kThreadsChunk;
        const std::size_t count = std::min(kThreadsChunk, chunk.size() - begin);
        pack_elements(chunk.subspan(begin, count), type,
                      std::span(packed).subspan(begin * bits_of(type) / 8, count * bits_of(type) / 8));
      });
      const ByteView content = ByteView(packed).first(std::min(packed.size(), end - offset));
      CUBINET_TRY(buffer.copy_from(content, offset));
      offset += content.size();
    }
  }
  return {};
}

// Returns the bytes of K or V.
std::size_t pool_bytes(const AttentionProblem& problem, const AttentionInputs& inputs,
                       const ElementBits& elements, std::uint32_t head_dim, DataType type) {
  if (elements.empty() || inputs.pages <= 0) return bytes_of(elements, type);
  return pool_offset(problem, inputs.pages, 0, 0, head_dim) * bits_of(type) / 8;
}

// A source of buffers: consecutive parts of the given memory, or new allocations.
class BufferSource {
 public:
  BufferSource(std::shared_ptr<const Device> device, const DeviceTensor& memory)
      : device_(std::move(device)), memory_(memory) {}

  Result<DeviceBuffer> take(std::size_t bytes) {
    if (memory_.address == 0) return DeviceBuffer::allocate(device_, bytes);
    const std::uint64_t begin =
        (memory_.address + used_ + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment -
        memory_.address;
    used_ = begin + bytes;
    if (bytes == 0) return DeviceBuffer::borrow(device_, 0, 0);
    if (used_ <= memory_.bytes) return DeviceBuffer::borrow(device_, memory_.address + begin, bytes);
    return Error{ErrorCode::invalid_argument, "tensors and workspace take more than the " +
                                                  std::to_string(memory_.bytes) +
                                                  " bytes of memory that were given"};
  }

 private:
  std::shared_ptr<const Device> device_;
  DeviceTensor memory_;
  std::uint64_t used_ = 0;
};

// Returns the page tables of all copies. The pages of copy c are offset by c pools.
std::vector<std::int32_t> shifted_tables(const AttentionInputs& inputs, std::uint32_t copies) {
  std::vector<std::int32_t> tables;
  tables.reserve(inputs.page_table.size() * copies);
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (const std::int32_t page : inputs.page_table)
      tables.push_back(page + static_cast<std::int32_t>(inputs.pages * copy));
  }
  return tables;
}

// Elements behind the scales of each sequence, which are NaN.
constexpr std::size_t kSpareScales = 2;

// Returns the scales of KV heads as rows with spare elements.
std::vector<float> spaced_scales(const AttentionProblem& problem, const std::vector<float>& scales) {
  std::vector<float> spaced;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    spaced.push_back(scales[i]);
    if ((i + 1) % problem.heads_kv == 0)
      spaced.insert(spaced.end(), kSpareScales, std::numeric_limits<float>::quiet_NaN());
  }
  return spaced;
}

std::vector<std::int32_t> q_offsets_of(const AttentionProblem& problem, const AttentionInputs& inputs) {
  const SequenceRows rows(problem, inputs);
  std::vector<std::int32_t> offsets;
  for (std::size_t b = 0; b <= problem.batch; ++b)
    offsets.push_back(static_cast<std::int32_t>(rows.q_begin(b)));
  return offsets;
}

// Checks the limits of int32: page numbers, and offsets of sequences that are stored one behind the
// other.
Result<void> check_counts(const AttentionProblem& problem, const AttentionInputs& inputs,
                          std::uint32_t copies) {
  const auto pages = static_cast<std::uint64_t>(std::max<std::int64_t>(inputs.pages, 0));
  const SequenceRows rows(problem, inputs);
  const std::pair<std::string_view, std::uint64_t> counts[] = {
      {"pages in all copies of the pool", saturating_product(pages, copies)},
      {"query tokens", rows.q_tokens()},
      {"KV tokens", problem.layout == QkvLayout::paged_kv ? 0 : rows.kv_tokens()}};
  for (const auto& [what, count] : counts) {
    if (count <= kLargestCount) continue;
    return Error{
        ErrorCode::invalid_argument,
        "attention inputs: " + std::to_string(count) + " " + std::string(what) + " are more than 2^31 - 1",
        "ask for a smaller batch or fewer tokens"};
  }
  return {};
}

}  // namespace

Result<TensorBuffers> TensorBuffers::create(const std::shared_ptr<const Device>& device,
                                            const AttentionProblem& problem, const AttentionInputs& inputs,
                                            const WorkspaceSizes& workspace, std::uint32_t copies,
                                            const DeviceTensor& memory) {
  CUBINET_TRY(check_counts(problem, inputs, copies));
  TensorBuffers made;
  made.copies_ = copies;
  const SequenceRows sequences(problem, inputs);
  made.rows_ = sequences.q_tokens() * problem.heads_q;
  for (std::size_t b = 0; problem.append && problem.append->lengths_exclude_new && b < problem.batch; ++b)
    made.excluded_.push_back(static_cast<std::int32_t>(sequences.q_length(b)));
  const std::vector<std::int32_t> tables = shifted_tables(inputs, copies);
  const std::vector<float> k_scales = spaced_scales(problem, inputs.k_head_scales);
  const std::vector<float> v_scales = spaced_scales(problem, inputs.v_head_scales);
  if (problem.kv_scales == KvScales::sequence) made.scales_stride_ = problem.heads_kv + kSpareScales;
  const std::size_t k_bytes = pool_bytes(problem, inputs, inputs.k, problem.head_dim_qk, problem.data_type_k);
  const std::size_t v_bytes = pool_bytes(problem, inputs, inputs.v, problem.head_dim_v, problem.data_type_v);
  const std::size_t sizes[] = {bytes_of(inputs.q, problem.data_type_q),
                               k_bytes * copies,
                               v_bytes * copies,
                               made.rows_ * problem.head_dim_v * bits_of(problem.data_type_o) / 8,
                               std::size_t{problem.batch} * problem.q_len * problem.heads_q * sizeof(float),
                               tables.size() * sizeof(std::int32_t),
                               inputs.kv_lengths.size() * sizeof(std::int32_t),
                               inputs.sinks.size() * sizeof(float),
                               inputs.mask.size() * sizeof(std::uint32_t),
                               (inputs.kv_lengths.size() + 1) * sizeof(std::int32_t),
                               (inputs.kv_lengths.size() + 1) * sizeof(std::int32_t),
                               sizeof(float),
                               sizeof(float),
                               k_scales.size() * sizeof(float),
                               v_scales.size() * sizeof(float),
                               workspace.scratch_bytes,
                               workspace.counter_bytes,
                               inputs.new_q.size() * kNewElementBytes,
                               inputs.new_k.size() * kNewElementBytes,
                               inputs.new_v.size() * kNewElementBytes,
                               inputs.positions.size() * sizeof(std::int32_t),
                               inputs.cos_sin.size() * sizeof(float),
                               sizeof(float),
                               sizeof(float),
                               sizeof(float)};
  BufferSource source(device, memory);
  for (const std::size_t size : sizes) {
    CUBINET_TRY_ASSIGN(DeviceBuffer buffer, source.take(size));
    made.buffers_.push_back(std::move(buffer));
  }
  CUBINET_TRY(upload(inputs.q, problem.data_type_q, made.buffers_[q], 0, made.buffers_[q].size()));
  for (std::size_t copy = 0; copy < copies; ++copy) {
    CUBINET_TRY(upload(inputs.k, problem.data_type_k, made.buffers_[k], copy * k_bytes, k_bytes));
    CUBINET_TRY(upload(inputs.v, problem.data_type_v, made.buffers_[v], copy * v_bytes, v_bytes));
  }
  CUBINET_TRY(made.buffers_[page_tables].copy_from(tables));
  CUBINET_TRY(made.set_kv_lengths(inputs.kv_lengths));
  CUBINET_TRY(made.buffers_[sinks].copy_from(inputs.sinks));
  CUBINET_TRY(made.buffers_[mask].copy_from(inputs.mask));
  CUBINET_TRY(made.buffers_[q_offsets].copy_from(q_offsets_of(problem, inputs)));
  const std::vector<float> softmax = {static_cast<float>(problem.scale() * std::numbers::log2e)};
  const std::vector<float> output = {static_cast<float>(problem.output_scale)};
  CUBINET_TRY(made.buffers_[softmax_scale].copy_from(softmax));
  CUBINET_TRY(made.buffers_[output_scale].copy_from(output));
  CUBINET_TRY(made.buffers_[k_head_scales].copy_from(k_scales));
  CUBINET_TRY(made.buffers_[v_head_scales].copy_from(v_scales));
  CUBINET_TRY(made.buffers_[counters].fill(std::byte{0}));
  if (problem.append) CUBINET_TRY(made.upload_append(*problem.append, inputs));
  CUBINET_TRY(made.poison(/*scratch=*/true));
  return made;
}

Result<void> TensorBuffers::upload_append(const AttentionProblem::Append& append,
                                          const AttentionInputs& inputs) const {
  CUBINET_TRY(buffers_[new_q].copy_from(inputs.new_q));
  CUBINET_TRY(buffers_[new_k].copy_from(inputs.new_k));
  CUBINET_TRY(buffers_[new_v].copy_from(inputs.new_v));
  CUBINET_TRY(buffers_[positions].copy_from(inputs.positions));
  CUBINET_TRY(buffers_[cos_sin].copy_from(inputs.cos_sin));
  const std::pair<Tensor, double> scales[] = {
      {q_scale, append.q_scale}, {k_scale, append.k_scale}, {v_scale, append.v_scale}};
  for (const auto& [tensor, scale] : scales)
    CUBINET_TRY(buffers_[tensor].copy_from(std::vector{static_cast<float>(scale)}));
  return {};
}

AttentionTensors TensorBuffers::tensors(std::uint32_t copy) const {
  AttentionTensors tensors;
  tensors.q = buffers_[q];
  tensors.k = buffers_[k];
  tensors.v = buffers_[buffers_[v].size() == 0 ? k : v];  // one pool in latent attention
  tensors.o = buffers_[o];
  tensors.lse = buffers_[log_sum_exp];
  tensors.page_table = buffers_[page_tables];
  tensors.kv_lengths = buffers_[kv_lengths];
  tensors.sinks = buffers_[sinks];
  tensors.mask = buffers_[mask];
  tensors.q_offsets = buffers_[q_offsets];
  tensors.kv_offsets = buffers_[kv_offsets];
  tensors.softmax_scale = buffers_[softmax_scale];
  tensors.output_scale = buffers_[output_scale];
  tensors.k_head_scales = buffers_[k_head_scales];
  tensors.v_head_scales = buffers_[v_head_scales];
  tensors.k_head_scales.strides[0] = tensors.v_head_scales.strides[0] = scales_stride_;
  tensors.scratch = buffers_[scratch];
  tensors.counters = buffers_[counters];
  tensors.new_q = buffers_[new_q];
  tensors.new_k = buffers_[new_k];
  tensors.new_v = buffers_[new_v];
  tensors.positions = buffers_[positions];
  tensors.cos_sin = buffers_[cos_sin];
  tensors.q_scale = buffers_[q_scale];
  tensors.k_scale = buffers_[k_scale];
  tensors.v_scale = buffers_[v_scale];
  tensors.page_table.bytes /= copies_;
  tensors.page_table.address += copy * tensors.page_table.bytes;
  // Without pages, a copy of K and V follows the one before.
  for (DeviceTensor* tensor : {&tensors.k, &tensors.v}) {
    if (buffers_[page_tables].size() != 0) break;
    const std::uint64_t skipped = copy * (tensor->bytes / copies_);
    tensor->address += skipped;
    tensor->bytes -= skipped;
  }
  return tensors;
}

Result<void> TensorBuffers::poison(bool with_scratch) const {
  CUBINET_TRY(buffers_[o].fill(kNanByte));
  CUBINET_TRY(buffers_[log_sum_exp].fill(kNanByte));
  return with_scratch ? buffers_[scratch].fill(kNanByte) : Result<void>{};
}

Result<void> TensorBuffers::set_kv_lengths(const std::vector<std::int32_t>& lengths) const {
  // The tokens of paged sequences may exceed an int32. create() rejects that for all others.
  std::vector<std::int32_t> offsets(lengths.size() + 1);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sum += static_cast<std::uint64_t>(lengths[i]);
    offsets[i + 1] = static_cast<std::int32_t>(std::min(sum, kLargestCount));
  }
  CUBINET_TRY(buffers_[kv_offsets].copy_from(offsets));
  std::vector<std::int32_t> given = lengths;
  for (std::size_t i = 0; i < excluded_.size(); ++i)
    given[i] -= excluded_[i];
  return buffers_[kv_lengths].copy_from(given);
}

Result<Bytes> TensorBuffers::output() const {
  Bytes bytes(buffers_[o].size());
  CUBINET_TRY(buffers_[o].copy_to(bytes));
  return bytes;
}

Result<std::array<Bytes, 3>> TensorBuffers::appended() const {
  std::array<Bytes, 3> read;
  for (const Tensor tensor : {q, k, v}) {
    read[tensor].resize(buffers_[tensor].size());
    CUBINET_TRY(buffers_[tensor].copy_to(read[tensor]));
  }
  return read;
}

Result<std::vector<float>> TensorBuffers::lse() const {
  std::vector<float> values(rows_);
  CUBINET_TRY(buffers_[log_sum_exp].copy_to(values));
  return values;
}

}  // namespace cubinet
