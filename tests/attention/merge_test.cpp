// SPDX-License-Identifier: Apache-2.0
#include "bound_fixture.hpp"
#include "support/allocation_count.hpp"

#include <cubinet/attention/merge.hpp>
#include <cubinet/kernel_templates/attention_merge_parameters.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace cubinet {
namespace {

using namespace test;
using kernel_templates::AttentionMergeParameters;

// Two parts of 5 tokens, 4 heads and 64 columns of bf16. Addresses that nothing looks behind.
AttentionMerge::Tensors merge_tensors() {
  const std::uint64_t bytes = 5 * 4 * 64 * 2;
  const std::uint64_t sums = 5 * 4 * 4;
  return {{{0x10000, bytes, {}}, {0x20000, sums, {}}},
          {{0x30000, bytes, {}}, {0x40000, sums, {}}},
          {{0x50000, bytes, {}}, {0x60000, sums, {}}}};
}

struct MergeSetting {
  Stub stub;
  TempDir home;
  std::shared_ptr<Runtime> runtime;
  AttentionMerge::Problem problem;

  MergeSetting() {
    RuntimeOptions options = device_options(home / "h");
    options.templates = {};
    runtime = make_runtime(std::move(options));
    problem.heads = 4;
    problem.head_dim = 64;
  }
  AttentionMerge bind() const { return ok(AttentionMerge::bind(*runtime, problem, 0)); }
};

AttentionMergeParameters merge_argument(const cubinet_stub_launch_record& launch) {
  AttentionMergeParameters argument{};
  REQUIRE(launch.argument_bytes == sizeof(argument));
  std::memcpy(&argument, launch.arguments, sizeof(argument));
  return argument;
}

TEST_CASE("a merge launches one kernel of as many threads as its rows need") {
  MergeSetting setting;
  if (setting.stub.missing()) return;
  setting.problem.output_scale = 0.5;
  const AttentionMerge merge = setting.bind();
  AttentionMerge::Tensors tensors = merge_tensors();
  tensors.second.o = {0x30000, 1U << 16U, {8000, 800, 80}};
  ok(merge.run(tensors, 5, nullptr));
  const auto made = launches();
  REQUIRE(made.size() == 1);
  CHECK(std::string(made[0].kernel) == "attention_merge");
  CHECK(made[0].grid[0] == 1);  // 20 rows of 8 lanes
  CHECK(made[0].block[0] == 256);
  CHECK(made[0].programmatic == 0);
  const AttentionMergeParameters argument = merge_argument(made[0]);
  CHECK(argument.first.o == 0x10000);
  CHECK(argument.first.token_stride == 4 * 64);
  CHECK(argument.first.head_stride == 64);
  CHECK(argument.second.lse == 0x40000);
  CHECK(argument.second.token_stride == 800);
  CHECK(argument.second.head_stride == 80);
  CHECK(argument.merged.o == 0x50000);
  CHECK(argument.rows == 20);
  CHECK(argument.row_vectors == 8);
  CHECK(argument.lanes_log2 == 3);
  CHECK(argument.output_scale == 0.5f);

  ok(merge.run(tensors, 0, nullptr));
  CHECK(launches().size() == 1);
  tensors.merged = tensors.first;
  tensors.merged.lse = {};
  ok(merge.run(tensors, 5, nullptr));
  CHECK(merge_argument(launches().at(1)).merged.lse == 0);
}

TEST_CASE("rows of every head dim are shared by a power of two of lanes, a warp at most") {
  MergeSetting setting;
  if (setting.stub.missing()) return;
  for (const auto& [head_dim, lanes_log2] :
       std::vector<std::pair<std::uint32_t, int>>{{8, 0}, {64, 3}, {72, 4}, {128, 4}, {256, 5}, {512, 5}}) {
    setting.problem.head_dim = head_dim;
    AttentionMerge::Tensors tensors = merge_tensors();
    for (AttentionMerge::Part* part : {&tensors.first, &tensors.second, &tensors.merged})
      part->o.bytes = 1U << 20U;
    ok(setting.bind().run(tensors, 5, nullptr));
    const AttentionMergeParameters argument = merge_argument(launches().back());
    CHECK(argument.row_vectors == static_cast<int>(head_dim / 8));
    CHECK(argument.lanes_log2 == lanes_log2);
  }
}

TEST_CASE("a merge that may start early says so") {
  MergeSetting setting;
  if (setting.stub.missing()) return;
  setting.problem.starts_early = true;
  ok(setting.bind().run(merge_tensors(), 5, nullptr));
  CHECK(launches().at(0).programmatic == 1);
}

TEST_CASE("each tensor of a merge is refused by name where it does not fit, and nothing is launched") {
  const MergeSetting setting;
  if (setting.stub.missing()) return;
  const AttentionMerge merge = setting.bind();
  const auto refused = [&](const std::string& name,
                           const std::function<void(AttentionMerge::Tensors&)>& spoil) {
    AttentionMerge::Tensors tensors = merge_tensors();
    spoil(tensors);
    const auto ran = merge.run(tensors, 5, nullptr);
    REQUIRE_FALSE(ran);
    CHECK(ran.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(ran.error().message.find(name) != std::string::npos, ran.error().message);
  };
  using T = AttentionMerge::Tensors;
  refused("first.o", [](T& t) { t.first.o.address = 0; });
  refused("first.o", [](T& t) { t.first.o.address += 8; });
  refused("second.o", [](T& t) { --t.second.o.bytes; });
  refused("second.o", [](T& t) { t.second.o.strides = {1, 256, 60}; });
  refused("merged.o", [](T& t) { t.merged.o.strides = {256 * 5, 256, 32}; });
  refused("first.lse", [](T& t) { t.first.lse.address = 0; });
  refused("second.lse", [](T& t) { t.second.lse.bytes = 79; });
  refused("second.lse", [](T& t) { t.second.lse.strides = {1, 1, 1}; });
  refused("merged.lse", [](T& t) { t.merged.lse.address += 2; });
  refused("merged.o", [](T& t) {
    t.merged.o.address = t.second.o.address;
    t.second.o.strides = {8000, 800, 80};
    t.second.o.bytes = 1U << 16U;
  });
  CHECK(launches().empty());
  T many = merge_tensors();
  const auto ran = merge.run(many, 1U << 27U, nullptr);
  REQUIRE_FALSE(ran);
  CHECK(ran.error().message.find("fewer tokens") != std::string::npos);
}

TEST_CASE("what is merged shares memory with a part only where it is that part") {
  const MergeSetting setting;
  if (setting.stub.missing()) return;
  const AttentionMerge merge = setting.bind();
  using T = AttentionMerge::Tensors;
  const auto runs = [&](const std::function<void(T&)>& change) {
    T tensors = merge_tensors();
    change(tensors);
    const auto ran = merge.run(tensors, 5, nullptr);
    if (!ran) CHECK(ran.error().code == ErrorCode::invalid_argument);
    return ran.has_value();
  };
  CHECK(runs([](T& t) { t.merged = t.second; }));
  CHECK(runs([](T& t) { t.merged.o = t.first.o; }));
  CHECK(runs([](T& t) { t.merged.lse = t.first.lse; }));
  CHECK_FALSE(runs([](T& t) { t.merged.o.address = t.first.o.address + 128; }));
  CHECK_FALSE(runs([](T& t) { t.merged.o.address = t.first.o.address - 128; }));
  CHECK_FALSE(runs([](T& t) { t.merged.o.address = t.first.lse.address; }));
  CHECK_FALSE(runs([](T& t) { t.merged.lse.address = t.second.o.address + 64; }));
  CHECK_FALSE(runs([](T& t) { t.merged.lse.address = t.merged.o.address; }));
  CHECK_FALSE(runs([](T& t) { t.merged.lse.address = t.first.lse.address + 4; }));
  CHECK_FALSE(runs([](T& t) { t.merged.o.address = UINT64_MAX - 1023; }));
  // Parts of one tensor: between the first's rows, behind its heads.
  const auto side_by_side = [](T& t, std::uint64_t apart) {
    for (DeviceTensor* o : {&t.first.o, &t.merged.o})
      *o = {0x10000, 1U << 16U, {1, 512, 64}};
    t.merged.o.address += apart;
    t.first.lse.address += 0x100000;
    t.second.o.address += 0x100000;
    t.second.lse.address += 0x100000;
    t.merged.lse.address += 0x100000;
  };
  CHECK(runs([&](T& t) { side_by_side(t, 512); }));
  CHECK_FALSE(runs([&](T& t) { side_by_side(t, 256); }));
}

TEST_CASE("a stride that no row takes is not looked at") {
  const MergeSetting setting;
  if (setting.stub.missing()) return;
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1}, INT64_MIN}) {
    AttentionMerge::Tensors tensors = merge_tensors();
    tensors.first.o.strides = tensors.merged.o.strides = {stride, 256, 64};
    ok(setting.bind().run(tensors, 5, nullptr));
  }
}

TEST_CASE("a merge of another type than a part has memory of its own") {
  MergeSetting setting;
  if (setting.stub.missing()) return;
  setting.problem.data_type_o = DataType::e4m3;
  AttentionMerge::Tensors tensors = merge_tensors();
  ok(setting.bind().run(tensors, 5, nullptr));
  tensors.merged.o.address = tensors.first.o.address;
  CHECK(setting.bind().run(tensors, 5, nullptr).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a problem of a merge is refused by its field") {
  const MergeSetting setting;
  if (setting.stub.missing()) return;
  const auto refused = [&](const char* field, const std::function<void(AttentionMerge::Problem&)>& spoil) {
    AttentionMerge::Problem problem = setting.problem;
    spoil(problem);
    const auto bound = AttentionMerge::bind(*setting.runtime, problem, 0);
    REQUIRE_FALSE(bound);
    CHECK(bound.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(bound.error().message.find(field) != std::string::npos, bound.error().message);
  };
  using P = AttentionMerge::Problem;
  refused("heads", [](P& p) { p.heads = 0; });
  refused("head_dim", [](P& p) { p.head_dim = 100; });
  refused("head_dim", [](P& p) { p.head_dim = 0; });
  refused("output_scale", [](P& p) { p.output_scale = 0; });
  refused("output_scale", [](P& p) { p.output_scale = std::nan(""); });
  refused("output_scale", [](P& p) { p.output_scale = 1e300; });
  refused("output_scale` is 1e-50", [](P& p) { p.output_scale = 1e-50; });
  refused("data_type` is e4m3", [](P& p) { p.data_type = DataType::e4m3; });
  refused("data_type` is 200", [](P& p) { p.data_type = static_cast<DataType>(200); });
  refused("data_type_o` is e5m2", [](P& p) { p.data_type_o = DataType::e5m2; });
  refused("data_type_o` is 200", [](P& p) { p.data_type_o = static_cast<DataType>(200); });
}

TEST_CASE("a run of a merge allocates nothing") {
  const MergeSetting setting;
  if (setting.stub.missing()) return;
  const AttentionMerge merge = setting.bind();
  const AttentionMerge::Tensors tensors = merge_tensors();
  ok(merge.run(tensors, 5, nullptr));
  setting.stub.fail("cuLaunchKernelEx", 1, 0);  // succeeds without keeping a list of launches
  const unsigned before = allocations();
  const bool launched = merge.run(tensors, 5, nullptr).has_value();
  const unsigned after = allocations();
  CHECK(launched);
  CHECK(after == before);
}

}  // namespace
}  // namespace cubinet
