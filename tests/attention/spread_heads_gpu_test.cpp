// SPDX-License-Identifier: Apache-2.0
// Runs prefill attention over tensors with a gap behind every head. The gaps of Q, K and V are NaN,
// so a kernel that multiplies columns behind the head dim is found. The gaps of the output must
// stay as they are. Needs a GPU and NVRTC.
#include "decode_gpu_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using namespace test::gpu;

constexpr std::uint16_t kNan = 0xffff;  // in bf16 and fp16
constexpr std::uint32_t kGap = 8;       // elements

using Elements = std::vector<std::uint16_t>;

// Returns rows of `columns` elements with a gap behind each.
Elements spread(const ElementBits& rows, std::uint32_t columns) {
  Elements all(rows.size() / columns * (columns + kGap), kNan);
  for (std::size_t row = 0; row < rows.size() / columns; ++row)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                all.begin() + static_cast<std::ptrdiff_t>(row * (columns + kGap)));
  return all;
}

// Checks one kernel, with 19 sequences of lengths on both sides of tiles and pages.
void check_spread_heads(const Gpu& gpu, const AttentionProblem& problem, const KernelSpec& kernel,
                        const AttentionInputs& inputs, const AttentionOutputs& reference) {
  CAPTURE(kernel.to_string());
  const std::uint32_t columns = problem.head_dim_qk;
  const std::int64_t head = columns + kGap;
  const DeviceBuffer q = ok(DeviceBuffer::copy_of(gpu.device, spread(inputs.q, columns)));
  const DeviceBuffer k = ok(DeviceBuffer::copy_of(gpu.device, spread(inputs.k, columns)));
  const DeviceBuffer v = ok(DeviceBuffer::copy_of(gpu.device, spread(inputs.v, columns)));
  const DeviceBuffer o = ok(DeviceBuffer::allocate(gpu.device, q.size()));
  ok(o.fill(std::byte{0xff}));
  const BoundAttention attention = bind(gpu, problem, 0, true, kernel);
  const TensorBuffers buffers = upload(gpu, attention, inputs);
  AttentionTensors tensors = buffers.tensors();
  const std::int64_t of_token = head * problem.heads_q;
  const std::int64_t of_kv_token = head * problem.heads_kv;
  const bool paged = problem.layout == QkvLayout::paged_kv;
  const std::int64_t outer = of_kv_token * (paged ? problem.tokens_per_page : problem.kv_len);
  tensors.q = {q.address(), q.size(), {of_token * problem.q_len, of_token, head}};
  tensors.o = {o.address(), o.size(), tensors.q.strides};
  tensors.k = {k.address(), k.size(), {outer, of_kv_token, head}};
  tensors.v = {v.address(), v.size(), tensors.k.strides};
  const Stream stream = ok(Stream::create(gpu.device));
  ok(attention.run(tensors, stream.handle()));
  ok(stream.synchronize());

  Elements written(o.size() / sizeof(std::uint16_t));
  ok(o.copy_to(written));
  const std::size_t rows = written.size() / static_cast<std::size_t>(head);
  Elements output;
  std::size_t touched = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = written.begin() + static_cast<std::ptrdiff_t>(row) * head;
    output.insert(output.end(), first, first + columns);
    if (std::count(first + columns, first + head, kNan) != kGap) ++touched;
  }
  CHECK(touched == 0);
  const ByteView bytes = std::as_bytes(std::span(output));
  compare(problem, reference, Bytes(bytes.begin(), bytes.end()), ok(buffers.lse()));
}

TEST_CASE("Columns behind the head dim are neither multiplied nor written, in any layout") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const std::uint32_t head_dim : {64U, 72U, 80U, 88U, 96U, 128U}) {
    for (const QkvLayout layout : {QkvLayout::paged_kv, QkvLayout::contiguous_kv}) {
      AttentionProblem problem = many_borders(head_dim, 64);
      problem.prefill = problem.lse = true;
      problem.layout = layout;
      problem.q_len = 60;
      problem.heads_q = 4;
      const AttentionInputs inputs =
          ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 11));
      const AttentionOutputs reference = ok(attention_reference(problem, inputs));
      for (const KernelSpec& kernel : kernels_of(*gpu, problem))
        check_spread_heads(*gpu, problem, kernel, inputs, reference);
    }
  }
}

}  // namespace
}  // namespace cubinet
