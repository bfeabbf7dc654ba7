// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of docs/arithmetic.md, written from the page for one row.
#include "prefill_batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubinet {

struct ExpectedRow {
  std::vector<std::uint16_t> output;
  float lse;
};

class ArithmeticPage {
 public:
  ArithmeticPage(const PrefillBatch& batch, int sequence, int token, int head)
      : batch_(batch),
        sequence_(sequence),
        q_(batch.q(sequence, token, head)),
        head_(head),
        head_kv_(batch.head_kv(head)),
        end_(batch.kv_len(sequence) - batch.q_len(sequence) + token + 1),
        begin_(end_ - batch.sizes().window) {
    const auto& p = batch.parameters();
    if (parameters::soft_cap) {
      twice_ = 2.0f * p.softmax_scale_log2 / p.soft_cap;
      c_ = p.soft_cap * kLog2E;
    } else {
      c_ = p.softmax_scale_log2;
    }
  }

  ExpectedRow row() const {
    State folded;
    for (int first = 0; first < batch_.kv_len(sequence_); first += kSegment) {
      State segment;
      for (int step = first; step < first + kSegment; step += kStep)
        add_step(segment, step);
      fold(folded, segment.m, (segment.l[0] + segment.l[1]) + (segment.l[2] + segment.l[3]), &segment.o);
    }
    if (batch_.sizes().has_sinks) fold(folded, batch_.sink(head_) * kLog2E, 1.0f, nullptr);
    ExpectedRow row;
    const bool sees = folded.m != negative_infinity();
    row.lse = sees ? (folded.m + log2_approx(folded.l[0])) * kLn2 : negative_infinity();
    const float factor = sees ? batch_.parameters().output_scale / folded.l[0] : 0.0f;
    for (const float element : folded.o)
      row.output.push_back(static_cast<std::uint16_t>(rounded_to_bf16(element * factor)));
    return row;
  }

 private:
  static constexpr int kStep = 64;
  static constexpr int kSegment = 512;

  struct State {
    float m = negative_infinity();
    std::array<float, 4> l = {};  // the sum of folded segments is the first
    std::vector<float> o = std::vector<float>(PrefillBatch::kColumnsV);
  };

  bool sees(int token) const { return token >= begin_ && token < end_ && token < batch_.kv_len(sequence_); }

  float score(int token) const {
    if (!sees(token)) return negative_infinity();
    const std::uint16_t* const k = batch_.k(sequence_, token, head_kv_);
    float sum = 0.0f;
    for (int column = 0; column < PrefillBatch::kColumnsQk; ++column)
      sum += float_of_bf16(q_[column]) * float_of_bf16(k[column]);
    if (!parameters::soft_cap) return sum;
    return std::fma(-2.0f, reciprocal_approx(exp2_approx(sum * twice_) + 1.0f), 1.0f);
  }

  void add_step(State& state, int first) const {
    std::array<float, kStep> s;
    for (int i = 0; i < kStep; ++i)
      s[static_cast<std::size_t>(i)] = score(first + i);
    const float m = std::max(state.m, *std::max_element(s.begin(), s.end()) * c_);
    const float f = m == negative_infinity() ? 0.0f : m;
    const float a = exp2_approx(state.m - f);
    for (float& l : state.l)
      l *= a;
    for (float& o : state.o)
      o *= a;
    for (std::size_t i = 0; i < kStep; ++i) {
      const float p = exp2_approx(std::fma(s[i], c_, -f));
      state.l[i / 2 % 4] += p;
      const int token = first + static_cast<int>(i);
      if (!sees(token)) continue;
      const float p16 = float_of_bf16(rounded_to_bf16(p));
      const std::uint16_t* const v = batch_.v(sequence_, token, head_kv_);
      for (std::size_t column = 0; column < state.o.size(); ++column)
        state.o[column] += p16 * float_of_bf16(v[column]);
    }
    state.m = m;
  }

  static void fold(State& folded, float m, float l, const std::vector<float>* o) {
    if (m == negative_infinity()) return;
    const float largest = std::max(folded.m, m);
    const bool is_first = folded.m == negative_infinity();
    const float kept = is_first ? 0.0f : exp2_approx(folded.m - largest);
    const float added = is_first ? 1.0f : exp2_approx(m - largest);
    folded.l[0] = std::fma(l, added, folded.l[0] * kept);
    for (std::size_t column = 0; column < folded.o.size(); ++column)
      folded.o[column] = std::fma(o == nullptr ? 0.0f : (*o)[column], added, folded.o[column] * kept);
    folded.m = largest;
  }

  const PrefillBatch& batch_;
  int sequence_;
  const std::uint16_t* q_;
  int head_;
  int head_kv_;
  int end_;
  int begin_;
  float twice_ = 0.0f;
  float c_ = 0.0f;
};

}  // namespace cubinet
