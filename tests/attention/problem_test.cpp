// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/attention/problem.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace cubinet {
namespace {

template <class Change>
ErrorCode refusal(Change change) {
  AttentionProblem problem = test::generation(2, 4, 1024, 16, 4);
  change(problem);
  const auto checked = check_problem(problem);
  REQUIRE(!checked);
  CHECK_FALSE(checked.error().message.empty());
  return checked.error().code;
}

TEST_CASE("a problem that makes sense passes") {
  CHECK(check_problem(test::generation(2, 4, 1024, 16, 4)));
  CHECK(check_problem(test::context(2, 700, 1024, 16, 4)));
  CHECK(check_problem(test::generation(65'535, 1, kUnlimited, 1, 1)));
}

TEST_CASE("each wrong size is refused, nothing is rounded") {
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  CHECK(refusal([](AttentionProblem& p) { p.batch = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.batch = 65'536; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.q_len = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.kv_len = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.q_len = 1025; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.heads_q = 15; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.heads_kv = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.head_dim_qk = 129; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.head_dim_v = 1032; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.tokens_per_page = 12; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.tokens_per_page = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.window = 0; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.mask = AttentionMask::sliding_or_chunked_causal; }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.mask = static_cast<AttentionMask>(9); }) == kInvalid);
  CHECK(refusal([](AttentionProblem& p) { p.data_type_q = static_cast<DataType>(9); }) == kInvalid);
}

TEST_CASE("pages are of a power of two or a multiple of eight tokens, those of an append of a power of two") {
  AttentionProblem problem = test::context(2, 700, 1024, 16, 4);
  for (const std::uint32_t tokens : {1U, 4U, 8U, 24U, 48U, 64U, 136U, 1U << 20U}) {
    problem.tokens_per_page = tokens;
    CHECK(check_problem(problem));
  }
  problem.tokens_per_page = 1U << 21U;
  CHECK_FALSE(check_problem(problem));
  problem.tokens_per_page = 48;
  problem.append.emplace();
  CHECK(check_problem(problem).error().message.find("append") != std::string::npos);
}

TEST_CASE("an append is of 16 bits into a paged cache of them or of e4m3, whose scales make sense") {
  const auto appends = [](auto change) {
    return [change](AttentionProblem& p) {
      p.data_type_k = p.data_type_v = DataType::e4m3;
      p.append.emplace().rope_dim = 128;
      change(p);
    };
  };
  AttentionProblem problem = test::generation(2, 4, 1024, 16, 4);
  appends([](AttentionProblem& p) { p.append->v_scale = 0.1; })(problem);
  CHECK(check_problem(problem));
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  constexpr ErrorCode kUnsupported = ErrorCode::unsupported;
  CHECK(refusal(appends([](AttentionProblem& p) { p.append->rope_dim = 144; })) == kInvalid);
  CHECK(refusal(appends([](AttentionProblem& p) { p.append->rope_dim = 24; })) == kInvalid);
  CHECK(refusal(appends([](AttentionProblem& p) { p.head_dim_v = 72; })) == kInvalid);
  CHECK(refusal(appends([](AttentionProblem& p) { p.append->data_type = DataType::fp32; })) == kInvalid);
  CHECK(refusal(appends([](AttentionProblem& p) { p.append->k_scale = 0; })) == kInvalid);
  CHECK(refusal(appends([](AttentionProblem& p) { p.append->q_scale = 2; })) == kInvalid);  // of bf16
  appends([](AttentionProblem& p) { p.append->q_scale = 1e-20; })(problem);
  CHECK(check_problem(problem).error().message.starts_with("a scale of append is 1e-20: "));
  CHECK(refusal(appends([](AttentionProblem& p) { p.data_type_v = DataType::bf16; })) == kUnsupported);
  CHECK(refusal(appends([](AttentionProblem& p) { p.data_type_q = DataType::fp16; })) == kUnsupported);
  CHECK(refusal(appends([](AttentionProblem& p) { p.layout = QkvLayout::separate_qkv; })) == kUnsupported);
}

TEST_CASE("the default softmax scale is one over the root of the head dim, and others must make sense") {
  AttentionProblem problem = test::generation(1, 1, 1024, 16, 4, 64, 64);
  CHECK(problem.scale() == doctest::Approx(0.125));
  problem.softmax_scale = 0.3F;
  CHECK(problem.scale() == 0.3F);
  for (const float scale :
       {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(refusal([&](AttentionProblem& p) { p.softmax_scale = scale; }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a scale that fp32 holds as 0 or as infinity is refused, and said as it was given") {
  AttentionProblem problem = test::generation(1, 1, 1024, 16, 4);
  problem.softmax_scale = 1e-60;
  const auto checked = check_problem(problem);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find("1e-60") != std::string::npos);
  for (const double scale : {1e-60, 1e39, 3.4e38}) {
    CHECK(refusal([&](AttentionProblem& p) { p.softmax_scale = scale; }) == ErrorCode::invalid_argument);
    CHECK(refusal([&](AttentionProblem& p) { p.output_scale = scale; }) == ErrorCode::invalid_argument);
    CHECK(refusal([&](AttentionProblem& p) { p.soft_cap = scale; }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("known lengths are one a sequence and within the longest, none included") {
  AttentionProblem problem = test::generation(2, 4, 1024, 16, 4);
  problem.kv_lengths = {0, 1024};
  CHECK(check_problem(problem));
  const auto refused = [](std::vector<std::int32_t> lengths) {
    return refusal([&](AttentionProblem& p) { p.kv_lengths = lengths; }) == ErrorCode::invalid_argument;
  };
  CHECK(refused({1}));
  CHECK(refused({1, 1025}));
  CHECK(refused({-1, 1}));
  CHECK(refusal([](AttentionProblem& p) { p.kv_order = static_cast<KvOrder>(2); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("a sequence has as many pages as hold its longest length") {
  CHECK(test::generation(1, 1, 1024, 16, 4).pages_per_sequence() == 16);
  CHECK(test::generation(1, 1, 1025, 16, 4).pages_per_sequence() == 17);
  CHECK(test::generation(1, 1, 1, 16, 4).pages_per_sequence() == 1);
}

TEST_CASE("combinations that no kernel has are refused as such") {
  constexpr ErrorCode kUnsupported = ErrorCode::unsupported;
  CHECK(refusal([](AttentionProblem& p) { p.window = p.chunk = 64; }) == kUnsupported);
  CHECK(refusal([](AttentionProblem& p) {
          p.mask = AttentionMask::custom;
          p.chunk = 64;
        }) == kUnsupported);
  CHECK(refusal([](AttentionProblem& p) {
          p.mask = AttentionMask::dense;
          p.window = 64;
        }) == kUnsupported);
  const auto sparse = [](AttentionProblem& p) {
    p.sparse = SparseAttention::static_token;
    p.top_k = 128;
  };
  CHECK(refusal([&](AttentionProblem& p) {
          sparse(p);
          p.skips_softmax = true;
        }) == kUnsupported);
  CHECK(refusal([&](AttentionProblem& p) {
          sparse(p);
          p.window = 64;
        }) == kUnsupported);
  CHECK(refusal([&](AttentionProblem& p) {
          sparse(p);
          p.top_k = 126;
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("only K and V of e4m3 have scales of KV heads") {
  for (const KvScales scales : {KvScales::head, KvScales::sequence}) {
    CHECK(refusal([&](AttentionProblem& p) { p.kv_scales = scales; }) == ErrorCode::unsupported);
    CHECK(refusal([&](AttentionProblem& p) {
            p.kv_scales = scales;
            p.data_type_k = DataType::e4m3;
          }) == ErrorCode::unsupported);
    AttentionProblem problem = test::generation(2, 4, 1024, 16, 4);
    problem.data_type_k = problem.data_type_v = DataType::e4m3;
    problem.kv_scales = scales;
    CHECK(check_problem(problem));
  }
  CHECK(refusal([](AttentionProblem& p) { p.kv_scales = static_cast<KvScales>(3); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("latent attention has one KV head") {
  AttentionProblem problem = test::generation(8, 1, 4096, 128, 128, 576, 512);
  CHECK(check_problem(problem));
  problem.heads_kv = 2;
  const auto refused = check_problem(problem);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.starts_with(
      "`AttentionProblem::heads_kv` is 2: it must be 1 for latent attention"));
  problem.prefill = true;
  CHECK(check_problem(problem));
}

TEST_CASE("a window slides only where it cuts something off") {
  AttentionProblem problem = test::generation(1, 1, 1024, 16, 4);
  problem.window = 1024;
  CHECK_FALSE(problem.is_sliding());
  problem.window = 1023;
  CHECK(problem.is_sliding());
  problem.mask = AttentionMask::dense;
  CHECK(problem.is_sliding());
  problem.prefill = true;
  CHECK_FALSE(problem.is_sliding());
}

TEST_CASE("a custom mask may have a window, which slides nothing of the query tokens") {
  AttentionProblem problem = test::generation(1, 40, 1024, 16, 4);
  problem.mask = AttentionMask::custom;
  CHECK(problem.mask_words() == 2);
  CHECK_FALSE(problem.is_windowed());
  problem.window = 64;
  CHECK(check_problem(problem));
  CHECK(problem.is_windowed());
  CHECK_FALSE(problem.is_sliding());
}

TEST_CASE("a soft cap is a number above zero") {
  for (const double cap : {0.0, -1.0, std::numeric_limits<double>::infinity()})
    CHECK(refusal([&](AttentionProblem& p) { p.soft_cap = cap; }) == ErrorCode::invalid_argument);
  AttentionProblem problem = test::generation(1, 1, 1024, 16, 4);
  problem.soft_cap = 50;
  CHECK(check_problem(problem));
}

TEST_CASE("the shared memory of a device is what is stated or what its capability has") {
  CHECK(DeviceFacts{{10, 0}, 148, 0}.shared_limit() == 227 * 1024);
  CHECK(DeviceFacts{{10, 0}, 148, 1000}.shared_limit() == 1000);
  CHECK(check_device(test::kB200));
  CHECK_FALSE(check_device({{10, 0}, 0, 0}));
}

}  // namespace
}  // namespace cubinet
