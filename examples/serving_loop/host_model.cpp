// SPDX-License-Identifier: Apache-2.0
#include "host_model.hpp"

#include <cubinet/attention/problem.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace serving_loop {
namespace {

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

// Rotates a head of Q or K by the angles of a position.
std::vector<double> rotate(std::span<const std::uint16_t> head, std::span<const float> cos_sin) {
  constexpr std::size_t kHalf = kHeadDim / 2;
  std::vector<double> rotated(kHeadDim);
  for (std::size_t i = 0; i < kHalf; ++i) {
    const double a = from_bf16(head[i]);
    const double b = from_bf16(head[i + kHalf]);
    const double cosine = cos_sin[i];
    const double sine = cos_sin[i + kHalf];
    rotated[i] = a * cosine - b * sine;
    rotated[i + kHalf] = b * cosine + a * sine;
  }
  return rotated;
}

}  // namespace

// The elements are multiples of 1/8 from -1 to 1, which bf16 and e4m3 represent.
Weights make_weights(std::uint32_t positions) {
  Weights weights;
  weights.qkv.resize(kVocabulary * kQkvRow);
  std::mt19937 random(1);
  for (std::uint16_t& element : weights.qkv) {
    const float value = static_cast<float>(random() % 17) / 8 - 1;
    element = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
  }
  weights.cos_sin = cubinet::rope_table(cubinet::rope_frequencies(kHeadDim, 500'000), positions);
  return weights;
}

std::vector<double> attend(const Weights& weights, std::span<const Token> tokens) {
  const auto head_of = [&](std::size_t position, std::size_t column) {
    return std::span(weights.qkv)
        .subspan(static_cast<std::size_t>(tokens[position]) * kQkvRow + column, kHeadDim);
  };
  const auto rotated_head = [&](std::size_t position, std::size_t column) {
    return rotate(head_of(position, column),
                  std::span(weights.cos_sin).subspan(position * kHeadDim, kHeadDim));
  };
  std::vector<double> o(kRow);
  std::vector<double> logits(tokens.size());
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t kv_column = kRow + head / (kHeads / kKvHeads) * kHeadDim;
    const std::vector<double> q = rotated_head(tokens.size() - 1, head * kHeadDim);
    for (std::size_t position = 0; position < tokens.size(); ++position) {
      const std::vector<double> k = rotated_head(position, kv_column);
      logits[position] = 0;
      for (std::size_t i = 0; i < kHeadDim; ++i)
        logits[position] += kSoftmaxScale * q[i] * k[i];
    }
    const double maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double& logit : logits)
      sum += logit = std::exp(logit - maximum);
    for (std::size_t position = 0; position < tokens.size(); ++position) {
      const auto v = head_of(position, kv_column + kKvRow);
      for (std::size_t i = 0; i < kHeadDim; ++i)
        o[head * kHeadDim + i] += logits[position] / sum * double{from_bf16(v[i])};
    }
  }
  return o;
}

double relative_error(std::span<const std::uint16_t> row, std::span<const double> expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = double{from_bf16(row[i])} - expected[i];
    error += difference * difference;
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace serving_loop
