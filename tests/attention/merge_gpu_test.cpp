// SPDX-License-Identifier: Apache-2.0
// Compares two merged parts of attention with float64. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <cubinet/attention/merge.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

constexpr std::size_t kGuard = 256;  // bytes behind an output that must stay unchanged

// Returns the rows of `tensor`, which may be strided, as contiguous rows.
Bytes gathered(const Bytes& all, const DeviceTensor& tensor, const AttentionMerge::Problem& problem,
               std::uint32_t tokens, DataType type) {
  if (tensor.is_contiguous()) return all;
  Bytes rows;
  const std::size_t row = problem.head_dim * bits_of(type) / 8;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t head = 0; head < problem.heads; ++head) {
      const std::size_t first = (token * static_cast<std::size_t>(tensor.strides[1]) +
                                 head * static_cast<std::size_t>(tensor.strides[2])) *
                                bits_of(type) / 8;
      rows.insert(rows.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(first + row));
    }
  }
  return rows;
}

// Returns contiguous rows spread over a strided input tensor. The inverse of gathered().
Bytes spread(const Bytes& rows, const DeviceTensor& tensor, const AttentionMerge::Problem& problem,
             std::uint32_t tokens, DataType type) {
  if (tensor.is_contiguous()) return rows;
  Bytes all(tensor.bytes, std::byte{0xff});
  const std::size_t row = problem.head_dim * bits_of(type) / 8;
  for (std::size_t i = 0; i < std::size_t{tokens} * problem.heads; ++i) {
    const std::size_t first = (i / problem.heads * static_cast<std::size_t>(tensor.strides[1]) +
                               i % problem.heads * static_cast<std::size_t>(tensor.strides[2])) *
                              bits_of(type) / 8;
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * row), row,
                all.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return all;
}

// Returns a tensor layout. If `strided`, a gap separates the rows of one head.
DeviceTensor layout(const AttentionMerge::Problem& problem, std::uint32_t tokens, DataType type,
                    bool strided) {
  const std::int64_t row = problem.head_dim;
  DeviceTensor tensor;
  tensor.bytes = std::uint64_t{tokens} * problem.heads * problem.head_dim * bits_of(type) / 8;
  if (!strided) return tensor;
  // Heads are the outer dimension, tokens the inner one, with a gap between rows.
  const std::int64_t of_row = row + 16;
  tensor.strides = {16, of_row, of_row * tokens};
  tensor.bytes = static_cast<std::uint64_t>(of_row) * tokens * problem.heads * bits_of(type) / 8;
  return tensor;
}

enum class Place { apart, first, second };

void check_merge(const Gpu& gpu, const AttentionMerge::Problem& problem, std::uint32_t tokens,
                 std::uint64_t seed, Place place = Place::apart, bool strided = false) {
  CAPTURE(to_string(problem.data_type));
  CAPTURE(to_string(problem.data_type_o));
  CAPTURE(problem.heads);
  CAPTURE(problem.head_dim);
  CAPTURE(tokens);
  CAPTURE(seed);
  const AttentionMerge merge = ok(AttentionMerge::bind(*gpu.runtime, problem, 0));
  const MergeInputs inputs = make_merge_inputs(problem, tokens, seed);
  const auto upload_bytes = [&](ByteView bytes) {
    Bytes guarded(bytes.begin(), bytes.end());
    guarded.resize(bytes.size() + kGuard, std::byte{0x5a});
    return ok(DeviceBuffer::copy_of(gpu.device, guarded));
  };
  const auto bytes_of = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  const DeviceTensor part = layout(problem, tokens, problem.data_type, strided);
  const DeviceTensor out = layout(problem, tokens, problem.data_type_o, strided);
  std::vector<DeviceBuffer> buffers;
  buffers.push_back(upload_bytes(spread(inputs.first.o, part, problem, tokens, problem.data_type)));
  buffers.push_back(upload_bytes(bytes_of(inputs.first.lse)));
  buffers.push_back(upload_bytes(spread(inputs.second.o, part, problem, tokens, problem.data_type)));
  buffers.push_back(upload_bytes(bytes_of(inputs.second.lse)));
  buffers.push_back(upload_bytes(Bytes(out.bytes, std::byte{0xff})));
  buffers.push_back(upload_bytes(Bytes(inputs.first.lse.size() * sizeof(float), std::byte{0xff})));
  const auto tensor = [&](std::size_t i, DeviceTensor of) {
    of.address = buffers[i].address();
    if (of.bytes == 0) of.bytes = buffers[i].size() - kGuard;
    return of;
  };
  AttentionMerge::Tensors tensors{
      {tensor(0, part), tensor(1, {})}, {tensor(2, part), tensor(3, {})}, {tensor(4, out), tensor(5, {})}};
  std::size_t o = 4;
  if (place != Place::apart) {
    o = place == Place::first ? 0 : 2;
    tensors.merged = place == Place::first ? tensors.first : tensors.second;
  }
  const Stream stream = ok(Stream::create(gpu.device));
  ok(merge.run(tensors, tokens, stream.handle()));
  ok(stream.synchronize());
  Bytes merged(buffers[o].size());
  ok(buffers[o].copy_to(merged));
  Bytes sums(buffers[o + 1].size());
  ok(buffers[o + 1].copy_to(sums));
  CHECK(std::all_of(merged.end() - kGuard, merged.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
  CHECK(std::all_of(sums.end() - kGuard, sums.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
  merged.resize(merged.size() - kGuard);
  std::vector<float> lse(inputs.first.lse.size());
  std::memcpy(lse.data(), sums.data(), lse.size() * sizeof(float));
  const AttentionDeviation error =
      ok(compare_merge(problem, inputs, gathered(merged, out, problem, tokens, problem.data_type_o), lse));
  if (problem.data_type_o == DataType::e4m3) {
    CHECK(error.worst_steps <= 1);
  } else {
    CHECK(error.worst_row < (problem.data_type_o == DataType::fp32 ? 1e-5 : 5e-3));
  }
  CHECK(error.worst_lse < 1e-5);
}

TEST_CASE("Merged parts of every type agree with float64, whatever the rows and columns") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::uint64_t seed = 1;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::fp32}) {
    for (const DataType type_o : {DataType::bf16, DataType::fp16, DataType::fp32, DataType::e4m3}) {
      AttentionMerge::Problem problem;
      problem.data_type = type;
      problem.data_type_o = type_o;
      for (const std::uint32_t head_dim : {8U, 64U, 72U, 128U, 192U, 256U, 512U, 520U}) {
        problem.head_dim = head_dim;
        problem.heads = head_dim == 64 ? 7 : 5;
        problem.output_scale = head_dim == 256 ? 0.25 : 1;
        for (const std::uint32_t tokens : {1U, 3U, 33U, 211U})
          check_merge(*gpu, problem, tokens, ++seed);
      }
    }
  }
}

TEST_CASE("Merged parts agree in place of either part and in tensors with strides") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionMerge::Problem problem;
  problem.heads = 6;
  for (const std::uint32_t head_dim : {64U, 128U, 512U}) {
    problem.head_dim = head_dim;
    for (const bool strided : {false, true}) {
      for (const Place place : {Place::apart, Place::first, Place::second})
        check_merge(*gpu, problem, 1000, head_dim, place, strided);
    }
  }
}

// The pages of the second part follow those of the first in one table. Each part has its own view
// of the table.
TEST_CASE("Attention over two parts of the KV, merged in a graph, is attention over all of it") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  AttentionProblem problem = many_borders(128, 16);
  problem.lse = true;
  problem.mask = AttentionMask::dense;
  std::vector<std::int32_t> lengths(problem.batch);
  for (std::size_t b = 0; b < lengths.size(); ++b)
    lengths[b] = static_cast<std::int32_t>(b == 3 ? 0 : 1 + b * 37);
  const AttentionInputs all = ok(make_attention_inputs(problem, lengths, 9));
  AttentionInputs parts[2] = {all, all};
  const std::size_t pages = problem.pages_per_sequence();
  constexpr std::int32_t kFirstPages = 11;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    parts[0].kv_lengths[b] = std::min(lengths[b], kFirstPages * 16);
    parts[1].kv_lengths[b] = lengths[b] - parts[0].kv_lengths[b];
    const auto row = parts[1].page_table.begin() + static_cast<std::ptrdiff_t>(b * pages);
    std::rotate(row, row + kFirstPages, row + static_cast<std::ptrdiff_t>(pages));
  }
  const BoundAttention attention = bind(*gpu, problem);
  const TensorBuffers buffers[2] = {upload(*gpu, attention, parts[0]), upload(*gpu, attention, parts[1])};
  AttentionMerge::Problem of_rows;
  of_rows.heads = problem.heads_q;
  of_rows.head_dim = problem.head_dim_v;
  of_rows.starts_early = true;
  const AttentionMerge merge = ok(AttentionMerge::bind(*gpu->runtime, of_rows, 0));
  const auto part = [&](int i) {
    const AttentionTensors tensors = buffers[i].tensors();
    return AttentionMerge::Part{tensors.o, tensors.lse};
  };
  const Stream stream = ok(Stream::create(gpu->device));
  const Graph graph = ok(Graph::capture(stream, [&]() -> Result<void> {
    CUBINET_TRY(attention.run(buffers[0].tensors(), stream.handle()));
    CUBINET_TRY(attention.run(buffers[1].tensors(), stream.handle()));
    return merge.run({part(0), part(1), part(0)}, problem.batch, stream.handle());
  }));
  for (int replay = 0; replay < 2; ++replay) {
    ok(graph.launch(stream));
    ok(stream.synchronize());
    compare(problem, all, ok(buffers[0].output()), ok(buffers[0].lse()));
  }
}

}  // namespace
}  // namespace cubinet
