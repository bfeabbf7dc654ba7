// SPDX-License-Identifier: Apache-2.0
// Compares rms_norm with float64. Needs a GPU and NVRTC.
#include "kernel_templates/template_gpu.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/kernel_templates/rms_norm_parameters.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;

constexpr std::size_t kRows = 11;      // not a multiple of 2, 4 or 8 rows per block
constexpr std::size_t kSpareRows = 8;  // rows that a partly filled block would access
constexpr float kEpsilon = 1e-5f;

struct Shape {
  int hidden_size = 0;
  int threads_per_row = 0;
  int rows_per_block = 0;
};

struct Case {
  DataType dtype = DataType::bf16;
  DataType dtype_weight = DataType::bf16;
  Shape shape;
  bool residual_add = false;

  std::size_t hidden_size() const { return static_cast<std::size_t>(shape.hidden_size); }
  KernelSpec spec() const {
    KernelSpec spec{"rms_norm", {}};
    return spec.set("dtype", std::string(to_string(dtype)))
        .set("dtype_weight", std::string(to_string(dtype_weight)))
        .set("hidden_size", shape.hidden_size)
        .set("threads_per_row", shape.threads_per_row)
        .set("rows_per_block", shape.rows_per_block)
        .set("residual_add", ParameterValue(residual_add));
  }
};

std::size_t bytes_of(DataType type) {
  return bits_of(type) / 8;
}

// Strided rows in host memory. Padding, spare rows and unset values are bytes of 0xff, which is NaN
// in every type.
class Rows {
 public:
  Rows(DataType type, std::size_t rows, std::size_t stride)
      : type_(type), stride_(stride), bytes_(rows * stride * bytes_of(type), std::byte{0xff}) {}

  std::size_t stride() const { return stride_; }
  Bytes& bytes() { return bytes_; }
  const Bytes& bytes() const { return bytes_; }

  void set(std::size_t row, std::size_t column, float value) {
    std::byte* target = at(row, column);
    if (type_ == DataType::fp32) {
      std::memcpy(target, &value, sizeof(value));
      return;
    }
    const std::uint16_t bits = from_float(value, type_);
    std::memcpy(target, &bits, sizeof(bits));
  }
  float get(std::size_t row, std::size_t column) const {
    const std::byte* source = const_cast<Rows*>(this)->at(row, column);
    if (type_ == DataType::fp32) {
      float value = 0;
      std::memcpy(&value, source, sizeof(value));
      return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, source, sizeof(bits));
    return to_float(bits, type_);
  }
  void forget(std::size_t row, std::size_t column) { std::memset(at(row, column), 0xff, bytes_of(type_)); }

 private:
  std::byte* at(std::size_t row, std::size_t column) {
    return bytes_.data() + (row * stride_ + column) * bytes_of(type_);
  }

  DataType type_;
  std::size_t stride_;
  Bytes bytes_;
};

// Returns normal numbers, a row of zeros, and rows so small that epsilon decides.
Rows random_rows(const Case& of, std::size_t padding, std::mt19937& random) {
  constexpr float kSizes[] = {1.0f, 0.0f, 1e-3f, 30.0f};
  Rows rows(of.dtype, kRows + kSpareRows, of.hidden_size() + padding);
  std::normal_distribution<float> normal;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < of.hidden_size(); ++column)
      rows.set(row, column, kSizes[row % 4] * normal(random));
  }
  return rows;
}

Rows random_weight(const Case& of, std::mt19937& random) {
  Rows weight(of.dtype_weight, 1, of.hidden_size());
  std::uniform_real_distribution<float> uniform(-2.0f, 2.0f);
  for (std::size_t column = 0; column < of.hidden_size(); ++column)
    weight.set(0, column, uniform(random));
  return weight;
}

double tolerance(DataType type) {
  return type == DataType::bf16 ? 1e-2 : type == DataType::fp16 ? 2e-3 : 1e-5;
}

// Returns the number of elements of `y` that differ from the normalised `input` by more than their
// type's rounding allows. Resets correct elements, so `y` is all 0xff in the end unless other bytes
// than the rows were written.
std::size_t wrong_elements(const Case& of, const Rows& input, const Rows& weight, Rows& y) {
  // Half of fp16's smallest step, which relative bounds do not cover.
  const double smallest = of.dtype == DataType::fp16 ? 1e-7 : 1e-30;
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (std::size_t column = 0; column < of.hidden_size(); ++column)
      squares += std::pow(static_cast<double>(input.get(row, column)), 2);
    const double scale = 1 / std::sqrt(squares / of.shape.hidden_size + static_cast<double>(kEpsilon));
    for (std::size_t column = 0; column < of.hidden_size(); ++column) {
      const double expected =
          scale * static_cast<double>(input.get(row, column)) * static_cast<double>(weight.get(0, column));
      const double error = std::abs(static_cast<double>(y.get(row, column)) - expected);
      if (!(error <= tolerance(of.dtype) * std::abs(expected) + smallest)) ++wrong;  // a NaN is wrong too
      y.forget(row, column);
    }
  }
  return wrong;
}

void check(const test::TemplateGpu& gpu, const Case& of, bool in_place) {
  const std::string name = of.spec().to_string();
  CAPTURE(name);
  CAPTURE(in_place);
  std::mt19937 random(7);
  const Rows x = random_rows(of, 8, random);
  const Rows residual = random_rows(of, 24, random);
  const Rows weight = random_weight(of, random);
  Rows y(of.dtype, kRows + kSpareRows, in_place ? x.stride() : of.hidden_size() + 16);

  const DeviceBuffer device_x = gpu.upload(x.bytes());
  const DeviceBuffer device_y = gpu.upload(y.bytes());
  const DeviceBuffer device_residual = gpu.upload(residual.bytes());
  const DeviceBuffer device_weight = gpu.upload(weight.bytes());
  const DeviceBuffer& written = in_place ? device_x : device_y;
  kernel_templates::RmsNormParameters parameters{};
  parameters.x = device_x.address();
  parameters.weight = device_weight.address();
  parameters.y = written.address();
  parameters.residual = of.residual_add ? device_residual.address() : 0;
  parameters.x_row_stride = static_cast<long long>(x.stride());
  parameters.y_row_stride = static_cast<long long>(y.stride());
  parameters.residual_row_stride = static_cast<long long>(residual.stride());
  parameters.rows = static_cast<int>(kRows);
  parameters.epsilon = kEpsilon;
  const auto rows_per_block = static_cast<std::size_t>(of.shape.rows_per_block);
  gpu.run(of.spec(), {static_cast<std::uint32_t>((kRows + rows_per_block - 1) / rows_per_block), 1, 1},
          parameters);

  // The input is x or the residual's new content, whose rounding is defined to the last bit.
  Rows sums = residual;
  for (std::size_t row = 0; of.residual_add && row < kRows; ++row) {
    for (std::size_t column = 0; column < of.hidden_size(); ++column)
      sums.set(row, column, x.get(row, column) + residual.get(row, column));
  }
  Bytes stored(residual.bytes().size());
  ok(device_residual.copy_to(stored));
  CHECK(stored == sums.bytes());

  const Bytes untouched = y.bytes();
  ok(written.copy_to(y.bytes()));
  CHECK(wrong_elements(of, of.residual_add ? sums : x, weight, y) == 0);
  CHECK(y.bytes() == untouched);
}

void check_shape(const Shape& shape) {
  const auto gpu = test::TemplateGpu::open();
  if (!gpu) return;
  for (const DataType dtype : {DataType::bf16, DataType::fp16, DataType::fp32}) {
    for (const DataType dtype_weight : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      for (const bool residual_add : {false, true}) {
        for (const bool in_place : {false, true})
          check(*gpu, Case{dtype, dtype_weight, shape, residual_add}, in_place);
      }
    }
  }
}

TEST_CASE("Norms of 64 elements agree with float64, eight rows of a warp each to a block") {
  check_shape({64, 32, 8});
}

TEST_CASE("Norms of 72 elements agree with float64, with threads that have none") {
  check_shape({72, 64, 4});
}

TEST_CASE("Norms of 8192 elements agree with float64, two rows to a block and one") {
  check_shape({8192, 256, 2});
  check_shape({8192, 512, 1});
}

TEST_CASE("Norms of 32768 elements agree with float64, as many as a block can keep") {
  check_shape({32768, 1024, 1});
}

}  // namespace
}  // namespace cubinet
