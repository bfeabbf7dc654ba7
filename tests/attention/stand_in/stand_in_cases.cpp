// SPDX-License-Identifier: Apache-2.0
#include "attention/problems.hpp"
#include "attention/stand_in/stand_in_rows.hpp"

#include <utility>

namespace cubinet::test {
namespace {

// 19 sequences: the longest, an empty one, and lengths on both sides of pages and tiles.
AttentionProblem borders(std::uint32_t q_len = 1, std::uint32_t heads_q = 16, std::uint32_t group = 8,
                         std::uint32_t head_dim = 128) {
  return generation(19, q_len, 700, heads_q, group, head_dim, head_dim);
}

AttentionProblem latent(std::uint32_t batch, std::uint32_t q_len, std::uint32_t kv_len, std::uint32_t heads) {
  return generation(batch, q_len, kv_len, heads, heads, 576, 512);
}

// Prompts behind what is cached of them.
AttentionProblem prompts(std::uint32_t q_len, AttentionMask mask = AttentionMask::causal) {
  AttentionProblem problem = context(9, q_len, 700, 4, 2);
  problem.mask = mask;
  return problem;
}

AttentionProblem side_by_side(std::uint32_t head_dim_qk, AttentionMask mask) {
  AttentionProblem problem = context(9, 300, 300, 4, 2);
  problem.layout = QkvLayout::separate_qkv;
  problem.head_dim_qk = head_dim_qk;
  problem.mask = mask;
  return problem;
}

template <class Change>
AttentionProblem with(AttentionProblem problem, Change change) {
  change(problem);
  return problem;
}

using P = AttentionProblem;

}  // namespace

std::vector<StandInCase> decode_cases() {
  const auto fp16 = [](P& p) {
    p.data_type_q = p.data_type_k = p.data_type_v = p.data_type_o = DataType::fp16;
  };
  return {decode_case("many sequences", borders(), 8),
          decode_case("no sequence split", with(borders(), [](P& p) { p.kv_len = 500; }), 8),
          decode_case("ten splits", generation(2, 1, 5000, 16, 8), 8),
          decode_case("more splits than the short sequence has tokens", generation(3, 1, 20000, 8, 8), 8),
          decode_case("fp16", with(borders(), fp16), 8),
          decode_case("head dim 64", borders(1, 16, 8, 64), 8),
          decode_case("head dim 256", borders(1, 16, 8, 256), 8)};
}

std::vector<StandInCase> grouping_cases() {
  return {
      decode_case("a group of one", borders(1, 4, 1), 8),
      decode_case("tokens and heads", borders(4, 8, 4), 16),
      decode_case("tokens and heads in several tiles", borders(7, 8, 4), 16),
      decode_case("tokens and a group that leaves rows over", borders(5, 10, 5), 16),
      decode_case("a group of two tiles", borders(1, 16, 16), 8),
      decode_case("heads alone", borders(3, 8, 4), 8, false),
      decode_case("dense tokens", with(borders(4, 8, 4), [](P& p) { p.mask = AttentionMask::dense; }), 16)};
}

std::vector<StandInCase> page_cases() {
  std::vector<StandInCase> cases;
  for (const std::uint32_t page : {16U, 32U, 128U, 256U}) {
    const P problem = with(borders(), [&](P& p) { p.tokens_per_page = page; });
    cases.push_back(decode_case("pages of " + std::to_string(page), problem, 8));
  }
  cases.push_back(decode_case("pages by head", with(borders(), [](P& p) { p.kv_order = KvOrder::hnd; }), 8));
  cases.push_back(
      decode_case("pages of V apart", with(borders(), [](P& p) { p.separate_page_tables = true; }), 8));
  return cases;
}

std::vector<StandInCase> option_cases() {
  const auto everything = [](P& p) {
    p.sinks = p.lse = p.scales_on_device = p.separate_page_tables = true;
    p.window = p.kv_len - 100;
    p.softmax_scale = 0.05;
    p.output_scale = 0.25;
    p.tokens_per_page = 32;
  };
  const auto scales = [](P& p) {
    p.softmax_scale = 0.11;
    p.output_scale = 0.37;
  };
  const auto device_scales = [&](P& p) {
    scales(p);
    p.scales_on_device = true;
  };
  return {
      decode_case("sinks", with(borders(), [](P& p) { p.sinks = true; }), 8),
      decode_case("scales of the host", with(borders(), scales), 8),
      decode_case("scales on the device", with(borders(), device_scales), 8),
      decode_case("a window", with(borders(), [](P& p) { p.window = 37; }), 8),
      decode_case("a window over several tokens", with(borders(4, 8, 4), [](P& p) { p.window = 300; }), 16),
      decode_case("ragged queries", with(borders(4, 8, 4), [](P& p) { p.ragged_q = true; }), 16),
      decode_case("log sum exp", with(borders(), [](P& p) { p.lse = true; }), 8),
      decode_case("all of it", with(borders(4, 8, 4, 64), everything), 16),
      decode_case("all of it in one block", with(generation(60, 4, 300, 8, 4, 64, 64), everything), 16)};
}

std::vector<StandInCase> paged_context_cases() {
  return {context_case("prompts", prompts(300)),
          context_case("a prompt of one tile", prompts(97)),
          context_case("dense", prompts(300, AttentionMask::dense)),
          context_case("a window", with(prompts(300), [](P& p) { p.window = 130; })),
          context_case("ragged prompts", with(prompts(300), [](P& p) { p.ragged_q = true; })),
          context_case("small pages", with(prompts(130), [](P& p) { p.tokens_per_page = 16; })),
          context_case("sinks, scales and log sum exp", with(prompts(130), [](P& p) {
                         p.sinks = p.lse = p.scales_on_device = true;
                         p.output_scale = 0.5;
                       }))};
}

std::vector<StandInCase> separate_context_cases() {
  std::vector<StandInCase> cases;
  for (const std::uint32_t head_dim : {128U, 192U}) {
    for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::dense}) {
      const P problem = side_by_side(head_dim, mask);
      const std::string name = std::to_string(head_dim) + " " + std::string(to_string(mask));
      cases.push_back(context_case(name, problem));
      cases.push_back(context_case(name + " and all options", with(problem, [](P& p) {
                                     p.ragged_q = p.sinks = p.lse = p.scales_on_device = true;
                                     p.output_scale = 2;
                                   })));
    }
  }
  return cases;
}

std::vector<StandInCase> latent_cases() {
  return {
      latent_case("sixteen heads", latent(9, 1, 700, 16), 16, 512),
      latent_case("eight heads", latent(9, 1, 700, 8), 8, 512),
      latent_case("pages of 32", with(latent(9, 1, 700, 16), [](P& p) { p.tokens_per_page = 32; }), 16, 512),
      latent_case("one long sequence", latent(1, 1, 9000, 16), 16, 512),
      latent_case("columns of V in two parts", latent(5, 1, 700, 16), 16, 256),
      latent_case("columns of V in four parts", latent(1, 1, 3000, 16), 16, 128),
      latent_case("several tokens, which are causal", latent(9, 3, 700, 16), 16, 512),
      latent_case("not split, with all options",
                  with(latent(40, 2, 300, 32),
                       [](P& p) {
                         p.sinks = p.lse = p.ragged_q = true;
                         p.softmax_scale = 0.06;
                         p.output_scale = 0.5;
                       }),
                  16, 512)};
}

std::vector<StandInCase> separate_reduction_cases() {
  const auto options = [](P& p) { p.sinks = p.lse = p.scales_on_device = true; };
  return {latent_case("64 heads", latent(9, 1, 2000, 64), 64, 512),
          latent_case("64 heads with options", with(latent(9, 2, 2000, 64), options), 64, 512),
          latent_case("128 heads, in two parts of V", latent(5, 1, 3000, 128), 64, 256)};
}

}  // namespace cubinet::test
