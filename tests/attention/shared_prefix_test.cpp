// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"

#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/kernel_templates/attention_merge_parameters.h>

#include <doctest/doctest.h>

#include <functional>

namespace cubinet {
namespace {

using namespace test;
using kernel_templates::AttentionMergeParameters;
using Tensors = SharedPrefixAttention::Tensors;

constexpr std::uint64_t kPool = 0x10'0000'0000;

// Four sequences in two groups, two query tokens each: 4 heads, 64 columns. The addresses are of no
// memory: the stub launches nothing.
struct SharedSetting {
  Stub stub;
  TempDir home;
  std::shared_ptr<Runtime> runtime;
  SharedPrefixProblem problem;

  SharedSetting() {
    RuntimeOptions options = device_options(home / "h");
    options.templates = {};
    runtime = make_runtime(std::move(options));
    problem.own = generation(4, 2, 100, 4, 2, 64, 64);
    problem.groups = 2;
    problem.prefix_len = 1000;
  }
  SharedPrefixAttention bind() const {
    const DeviceProperties& properties = ok(runtime->device(0))->properties();
    const AttentionPlanner planner = ok(AttentionPlanner::over({}, DeviceFacts::of(properties)));
    return ok(SharedPrefixAttention::bind(*runtime, ok(plan_shared_prefix(problem, planner)), 0));
  }
  static Tensors tensors(const SharedPrefixAttention& attention) {
    Tensors all;
    const std::uint64_t rows = 8 * 4;
    all.own.q = {0x1'0000, rows * 64 * 2};
    all.own.o = {0x2'0000, rows * 64 * 2};
    all.own.k = {kPool, 1U << 20U};
    all.own.v = {2 * kPool, 1U << 20U};
    all.own.page_table = {0x3'0000, 4 * 2 * 4};
    all.own.kv_lengths = {0x3'1000, 4 * 4};
    all.own.q_offsets = {0x3'2000, 5 * 4};
    all.own.scratch = {0x100'0000, attention.workspace().scratch_bytes};
    all.own.counters = {0x4'0000, attention.workspace().counter_bytes};
    all.prefix_page_table = {0x5'0000, 2 * 16 * 4};
    all.prefix_lengths = {0x5'1000, 2 * 4};
    all.group_offsets = {0x5'2000, 3 * 4};
    return all;
  }
};

AttentionMergeParameters merge_of(const cubinet_stub_launch_record& launch) {
  AttentionMergeParameters argument{};
  REQUIRE(std::string(launch.kernel) == "attention_merge");
  REQUIRE(launch.argument_bytes == sizeof(argument));
  std::memcpy(&argument, launch.arguments, sizeof(argument));
  return argument;
}

kernel_templates::AttentionDecodeParameters decode_of(const cubinet_stub_launch_record& launch) {
  kernel_templates::AttentionDecodeParameters argument{};
  REQUIRE(launch.argument_bytes >= sizeof(argument));
  std::memcpy(&argument, launch.arguments, sizeof(argument));
  return argument;
}

TEST_CASE("a run launches the own tokens, the prefixes and the merge, which ends in O") {
  const SharedSetting setting;
  if (setting.stub.missing()) return;
  const SharedPrefixAttention attention = setting.bind();
  Tensors tensors = SharedSetting::tensors(attention);
  ok(attention.run(tensors, nullptr));
  const auto made = launches();
  const std::size_t own = attention.own().plan().steps.size();
  REQUIRE(made.size() == own + attention.prefix().plan().steps.size() + 1);
  const auto of_own = decode_of(made[0]);
  CHECK(of_own.page_table == 0x3'0000);
  CHECK(of_own.o == 0x2'0000);
  const auto of_prefix = decode_of(made[own]);
  CHECK(of_prefix.q == 0x1'0000);
  CHECK(of_prefix.k == kPool);
  CHECK(of_prefix.page_table == 0x5'0000);
  CHECK(of_prefix.kv_lengths == 0x5'1000);
  CHECK(of_prefix.q_offsets == 0x5'2000);
  const AttentionMergeParameters merge = merge_of(made.back());
  CHECK(made.back().programmatic == 1);
  CHECK(merge.rows == 8 * 4);
  CHECK(merge.first.o == of_prefix.o);
  CHECK(merge.first.lse == of_prefix.lse);
  CHECK(merge.second.o == 0x2'0000);
  CHECK(merge.second.lse == of_own.lse);
  CHECK(merge.merged.o == 0x2'0000);
  CHECK(merge.merged.lse == 0);
  // The results of the parts are in the workspace, apart from each other.
  const std::uint64_t begin = tensors.own.scratch.address;
  const std::uint64_t end = begin + attention.workspace().scratch_bytes;
  CHECK(of_prefix.o >= begin + attention.prefix().plan().workspace.scratch_bytes);
  CHECK(of_prefix.o >= begin + attention.own().plan().workspace.scratch_bytes);
  CHECK(of_prefix.lse >= of_prefix.o + 8 * 4 * 64 * 2);
  CHECK(of_own.lse >= of_prefix.lse + 8 * 4 * 4);
  CHECK(of_own.lse + 8 * 4 * 4 <= end);

  tensors.own.lse = {0x6'0000, 8 * 4 * 4};
  ok(attention.run(tensors, nullptr));
  const AttentionMergeParameters with_lse = merge_of(launches().back());
  CHECK(with_lse.second.lse == 0x6'0000);
  CHECK(with_lse.merged.lse == 0x6'0000);
}

TEST_CASE("an output of eight bits is written by the merge alone") {
  SharedSetting setting;
  if (setting.stub.missing()) return;
  setting.problem.own.data_type_o = DataType::e4m3;
  const SharedPrefixAttention attention = setting.bind();
  ok(attention.run(SharedSetting::tensors(attention), nullptr));
  const auto made = launches();
  const AttentionMergeParameters merge = merge_of(made.back());
  CHECK(merge.merged.o == 0x2'0000);
  CHECK(merge.second.o == decode_of(made[0]).o);
  CHECK(merge.second.o >= merge.first.o + 8 * 4 * 64 * 2);
  CHECK(merge.second.o + 8 * 4 * 64 * 2 <= 0x100'0000 + attention.workspace().scratch_bytes);
}

TEST_CASE("Q and O with strides are tokens that follow each other, and others are refused by name") {
  SharedSetting setting;
  if (setting.stub.missing()) return;
  const SharedPrefixAttention attention = setting.bind();
  Tensors tensors = SharedSetting::tensors(attention);
  tensors.own.q = {0x1'0000, 1U << 20U, {2 * 1024, 1024, 64}};
  tensors.own.o = {0x200'0000, 1U << 20U, {2 * 512, 512, 128}};
  ok(attention.run(tensors, nullptr));
  const auto made = launches();
  const auto of_prefix = decode_of(made[attention.own().plan().steps.size()]);
  CHECK(of_prefix.q_token_stride == 1024);
  CHECK(merge_of(made.back()).merged.token_stride == 512);
  CHECK(merge_of(made.back()).merged.head_stride == 128);
  for (DeviceTensor* tensor : {&tensors.own.q, &tensors.own.o}) {
    const DeviceTensor kept = *tensor;
    tensor->strides[0] += 64;
    const auto ran = attention.run(tensors, nullptr);
    REQUIRE_FALSE(ran);
    CHECK(ran.error().message.find(tensor == &tensors.own.q ? "q has strides" : "o has strides") !=
          std::string::npos);
    *tensor = kept;
  }
  CHECK(launches().size() == made.size());

  // A single query token of each sequence: the stride from sequence to sequence is the token's.
  setting.problem.own.q_len = 1;
  const SharedPrefixAttention single = setting.bind();
  tensors = SharedSetting::tensors(single);
  tensors.own.q = {0x1'0000, 1U << 20U, {1024, 0, 64}};
  ok(single.run(tensors, nullptr));
  CHECK(decode_of(launches()[made.size() + single.own().plan().steps.size()]).q_token_stride == 1024);
  CHECK(merge_of(launches().back()).rows == 4 * 4);
}

TEST_CASE("as many ragged tokens are merged as the tensors have, up to the bound") {
  SharedSetting setting;
  if (setting.stub.missing()) return;
  setting.problem.own.ragged_q = true;
  setting.problem.query_tokens = 6;
  const SharedPrefixAttention attention = setting.bind();
  Tensors tensors = SharedSetting::tensors(attention);
  ok(attention.run(tensors, nullptr));
  CHECK(merge_of(launches().back()).rows == 6 * 4);
  tensors.own.q.bytes = tensors.own.o.bytes = 3 * 4 * 64 * 2;
  ok(attention.run(tensors, nullptr));
  CHECK(merge_of(launches().back()).rows == 3 * 4);
  tensors.own.o.bytes += 4 * 64 * 2;
  CHECK(attention.run(tensors, nullptr).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("each tensor of a run over shared prefixes is refused by name, and nothing is launched") {
  const SharedSetting setting;
  if (setting.stub.missing()) return;
  const SharedPrefixAttention attention = setting.bind();
  const auto refused = [&](const std::string& words, const std::function<void(Tensors&)>& spoil) {
    Tensors tensors = SharedSetting::tensors(attention);
    spoil(tensors);
    const auto ran = attention.run(tensors, nullptr);
    REQUIRE_FALSE(ran);
    CHECK(ran.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(ran.error().message.find(words) != std::string::npos, ran.error().message);
    CHECK_FALSE(attention.check(tensors));
  };
  refused("q has no address", [](Tensors& t) { t.own.q.address = 0; });
  refused("o has", [](Tensors& t) { --t.own.o.bytes; });
  refused("scratch has", [](Tensors& t) { --t.own.scratch.bytes; });
  refused("over the prefix: attention: page_table", [](Tensors& t) { t.prefix_page_table.bytes = 124; });
  refused("over the prefix: attention: kv_lengths", [](Tensors& t) { t.prefix_lengths = {}; });
  refused("over the prefix: attention: q_offsets", [](Tensors& t) { t.group_offsets.bytes = 8; });
  refused("attention: page_table", [](Tensors& t) { t.own.page_table = {}; });
  CHECK(launches().empty());
}

TEST_CASE("one workspace holds the scratch memory of all kernels and the results of both parts") {
  const SharedSetting setting;
  if (setting.stub.missing()) return;
  const SharedPrefixAttention attention = setting.bind();
  const AttentionWorkspace workspace = ok(attention.make_workspace());
  Tensors tensors = SharedSetting::tensors(attention);
  workspace.attach(tensors.own);
  CHECK(tensors.own.scratch.bytes == attention.workspace().scratch_bytes);
  CHECK(tensors.own.counters.bytes == attention.workspace().counter_bytes);
  ok(attention.run(tensors, nullptr));
  CHECK(attention.problem() == setting.problem);
}

}  // namespace
}  // namespace cubinet
