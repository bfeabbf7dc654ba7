// SPDX-License-Identifier: Apache-2.0
// Compares attention_reduction of partial results with float64. Needs a GPU and NVRTC.
#include "kernel_templates/partial_results.hpp"
#include "kernel_templates/template_gpu.hpp"

#include <cubinet/kernel_templates/attention_reduction_parameters.h>
#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;
using test::PartialResults;
using test::ReductionCase;

constexpr float kLog2E = std::numbers::log2e_v<float>;

KernelSpec spec_of(const ReductionCase& of) {
  KernelSpec spec{"attention_reduction", {}};
  return spec.set("dtype_q", to_string(of.dtype_q))
      .set("dtype_o", to_string(of.dtype_o))
      .set("head_dim_per_tile", of.head_dim_per_tile)
      .set("tile_size_q", of.tile_size_q);
}

double e4m3_to_double(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::nan("");
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return bits >> 7 != 0 ? -magnitude : magnitude;
}

double element(const Bytes& bytes, std::size_t index, DataType type) {
  if (type == DataType::e4m3) return e4m3_to_double(std::to_integer<std::uint8_t>(bytes[index]));
  const auto bits = static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[2 * index]) |
                                               std::to_integer<unsigned>(bytes[2 * index + 1]) << 8U);
  return static_cast<double>(to_float(bits, type));
}

// Returns the number of output rows that differ from float64 by more than the rounding of partial
// results and output allows.
std::size_t wrong_outputs(const ReductionCase& of, const std::vector<double>& expected, const Bytes& o) {
  const bool narrow = of.dtype_o == DataType::e4m3;
  // The absolute bound is half a step for values that are too small for a relative bound.
  const double smallest = narrow ? 1.0 / 1024 : of.dtype_o == DataType::fp16 ? 3e-8 : 1e-30;
  const auto columns = static_cast<std::size_t>(of.head_dim());
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < expected.size() / columns; ++row) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      error += std::pow(element(o, i, of.dtype_o) - expected[i], 2);
      norm += std::pow(expected[i], 2);
    }
    const double allowed = norm == 0 ? 0
                                     : (narrow ? 4e-2 : 4e-3) * std::sqrt(norm) +
                                           smallest * std::sqrt(static_cast<double>(columns));
    if (!(std::sqrt(error) <= allowed)) ++wrong;  // a NaN is wrong too
  }
  return wrong;
}

std::size_t wrong_stats(const std::vector<double>& lse, const std::vector<float>& stats) {
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const auto maximum = static_cast<double>(stats[2 * row]);
    const auto sum = static_cast<double>(stats[2 * row + 1]);
    const double found = maximum + std::log(sum);
    if (!(found == lse[row] || std::abs(found - lse[row]) <= 1e-5 * (1 + std::abs(lse[row])))) ++wrong;
  }
  return wrong;
}

kernel_templates::AttentionReductionParameters parameters_of(const ReductionCase& of) {
  kernel_templates::AttentionReductionParameters parameters{};
  // The scale on the device has precedence.
  parameters.softmax_scale_log2 = of.scale_on_device ? 7.0f : test::kSoftmaxScale * kLog2E;
  parameters.q_len = of.is_ragged() ? 1'000'000 : of.longest_q();  // not read if sequences are ragged
  parameters.heads_q = of.heads_q;
  parameters.max_splits = of.max_splits;
  parameters.max_kv_tokens = of.max_kv_tokens;
  parameters.tokens_per_tile = of.tokens_per_tile;
  parameters.tiles_q = ok(kernel_templates::make_fast_divisor(of.tiles_q()));
  parameters.heads_per_tile = ok(kernel_templates::make_fast_divisor(of.heads_per_tile));
  parameters.head_dim_tiles = ok(kernel_templates::make_fast_divisor(of.head_dim_tiles));
  return parameters;
}

void check(const test::TemplateGpu& gpu, const ReductionCase& of, const PartialResults& partials) {
  const std::string name = spec_of(of).to_string();
  CAPTURE(name);
  CAPTURE(of.sinks);
  CAPTURE(of.blocks_of_tile);
  const float scale[] = {test::kSoftmaxScale * kLog2E};
  // One spare row must stay unchanged.
  const std::size_t spare = static_cast<std::size_t>(of.head_dim());
  Bytes o((partials.expected.size() + spare) * (bits_of(of.dtype_o) / 8), std::byte{0xff});
  std::vector<float> stats(2 * partials.lse.size() + 2, 12345.0f);

  const DeviceBuffer device_o = gpu.upload(o);
  const DeviceBuffer device_stats = gpu.upload(stats);
  const DeviceBuffer partial_o = gpu.upload(partials.o);
  const DeviceBuffer partial_stats = gpu.upload(partials.stats);
  const DeviceBuffer lengths = gpu.upload(of.kv_lengths);
  const DeviceBuffer offsets = gpu.upload(partials.begin);
  const DeviceBuffer sinks = gpu.upload(partials.sinks);
  const DeviceBuffer device_scale = gpu.upload(scale);
  auto parameters = parameters_of(of);
  parameters.o = device_o.address();
  parameters.partial_o = partial_o.address();
  parameters.partial_stats = partial_stats.address();
  parameters.kv_lengths = lengths.address();
  parameters.q_offsets = of.is_ragged() ? offsets.address() : 0;
  parameters.sinks = of.sinks ? sinks.address() : 0;
  parameters.softmax_stats = device_stats.address();
  parameters.softmax_scale_address = of.scale_on_device ? device_scale.address() : 0;
  gpu.run(spec_of(of),
          {static_cast<std::uint32_t>(of.tiles_q() * of.blocks_of_tile),
           static_cast<std::uint32_t>(of.tiles_y()), static_cast<std::uint32_t>(of.kv_lengths.size())},
          parameters);

  ok(device_o.copy_to(o));
  ok(device_stats.copy_to(stats));
  CHECK(wrong_outputs(of, partials.expected, o) == 0);
  CHECK(wrong_stats(partials.lse, stats) == 0);
  CHECK(std::isnan(element(o, partials.expected.size(), of.dtype_o)));
  CHECK(stats.back() == 12345.0f);
}

// Checks the case with and without sinks, and with numbers of blocks per tile that give equal
// shares, unequal shares, and empty shares.
void check_all(ReductionCase of) {
  const auto gpu = test::TemplateGpu::open();
  if (!gpu) return;
  for (const bool sinks : {false, true}) {
    of.sinks = sinks;
    const PartialResults partials = test::make_partial_results(of);
    for (const int blocks : {1, 3, 40}) {
      of.blocks_of_tile = blocks;
      of.scale_on_device = blocks == 3;
      check(*gpu, of, partials);
    }
  }
}

TEST_CASE("Heads that fill several tiles are reduced for sequences of every length, in bf16") {
  ReductionCase of;
  of.head_dim_per_tile = 512;
  of.heads_q = 128;
  of.q_lengths = {2};
  of.kv_lengths = {1, 0, 129, 128, 700};
  of.max_splits = 5;
  check_all(of);
}

TEST_CASE("Probabilities that were quantised to e4m3 are put right, for outputs of every type") {
  for (const DataType dtype_o : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    ReductionCase of;
    of.dtype_q = DataType::e4m3;
    of.dtype_o = dtype_o;
    of.head_dim_per_tile = dtype_o == DataType::fp16 ? 256 : 128;
    of.head_dim_tiles = dtype_o == DataType::fp16 ? 2 : 4;
    of.q_lengths = {1};
    of.kv_lengths = {900, 64, 0};
    of.max_splits = 6;
    check_all(of);
  }
}

TEST_CASE("Tokens and heads that share a tile are told apart, in ragged sequences") {
  ReductionCase of;
  of.dtype_q = of.dtype_o = DataType::fp16;
  of.head_dim_per_tile = 256;
  of.head_dim_tiles = 2;
  of.heads_q = 32;
  of.heads_per_tile = 16;
  of.tokens_per_tile = 4;
  of.q_lengths = {9, 0, 1, 5};
  of.kv_lengths = {260, 100, 513, 2};
  of.max_splits = 3;
  check_all(of);
}

TEST_CASE("A group that does not fill its tile leaves rows that nobody reads or writes") {
  ReductionCase of;
  of.head_dim_per_tile = 64;
  of.tile_size_q = 128;
  of.heads_q = 10;
  of.heads_per_tile = 5;
  of.tokens_per_tile = 25;
  of.q_lengths = {30};
  of.kv_lengths = {300, 1};
  of.max_splits = 3;
  check_all(of);
}

TEST_CASE("Sparse attention has the splits of the tokens that it selects") {
  ReductionCase of;
  of.head_dim_per_tile = 256;
  of.q_lengths = {1};
  of.kv_lengths = {5000, 130};
  of.max_splits = 8;
  of.max_kv_tokens = 300;
  check_all(of);
}

}  // namespace
}  // namespace cubinet
