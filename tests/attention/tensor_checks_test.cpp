// SPDX-License-Identifier: Apache-2.0
#include "tensor_checks.hpp"

#include "backend_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace cubinet {
namespace {

const AttentionProblem kProblem = test::generation(2, 1, 1024, 16, 4);
WorkspaceSizes workspace() {
  WorkspaceSizes sizes;
  sizes.counter_bytes = 512;
  sizes.scratch_bytes = 4096;
  return sizes;
}

// Just large enough.
AttentionTensors fitting() {
  AttentionTensors tensors;
  tensors.q = {0x1000, 2 * 16 * 128 * 2, {}};
  tensors.k = {0x2000, 64 * 4 * 128 * 2, {}};
  tensors.v = {0x3000, 64 * 4 * 128 * 2, {}};
  tensors.o = {0x4000, 2 * 16 * 128 * 2, {}};
  tensors.lse = {0x5000, 2 * 16 * 4, {}};
  tensors.page_table = {0x6000, 2 * 16 * 4, {}};
  tensors.kv_lengths = {0x7000, 2 * 4, {}};
  tensors.scratch = {0x8000, 4096, {}};
  tensors.counters = {0x9000, 512, {}};
  return tensors;
}

Result<void> check(const AttentionTensors& tensors) {
  return TensorChecks(kProblem, workspace(), {}).check(tensors);
}

struct CheckedMember {
  const char* name;
  DeviceTensor AttentionTensors::*tensor;
  std::uint64_t alignment;
};
constexpr CheckedMember kMembers[] = {{"q", &AttentionTensors::q, 16},
                                      {"k", &AttentionTensors::k, 16},
                                      {"v", &AttentionTensors::v, 16},
                                      {"o", &AttentionTensors::o, 16},
                                      {"lse", &AttentionTensors::lse, 4},
                                      {"page_table", &AttentionTensors::page_table, 4},
                                      {"kv_lengths", &AttentionTensors::kv_lengths, 4},
                                      {"scratch", &AttentionTensors::scratch, 256},
                                      {"counters", &AttentionTensors::counters, 256}};

void check_refused(const AttentionTensors& tensors, const std::string& name) {
  const auto checked = check(tensors);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(checked.error().message.find(" " + name + " ") != std::string::npos, checked.error().message);
}

TEST_CASE("tensors that are just large enough fit") {
  CHECK(check(fitting()));
}

TEST_CASE("a tensor that is missing, too small or at a wrong address is refused by name") {
  for (const CheckedMember& member : kMembers) {
    CAPTURE(member.name);
    AttentionTensors tensors = fitting();
    (tensors.*member.tensor).address += member.alignment / 2;
    check_refused(tensors, member.name);
    (tensors.*member.tensor).address += member.alignment / 2;
    CHECK(check(tensors));
    (tensors.*member.tensor).bytes -= 1;
    check_refused(tensors, member.name);
    (tensors.*member.tensor).address = 0;
    if (std::string(member.name) == "lse") {
      CHECK(check(tensors));  // it is not wanted
    } else {
      check_refused(tensors, member.name);
    }
  }
}

TEST_CASE("a workspace is asked for where one is needed and nowhere else") {
  AttentionTensors tensors = fitting();
  tensors.scratch = tensors.counters = {};
  CHECK(TensorChecks(kProblem, {}, {}).check(tensors));
  check_refused(tensors, "scratch");
}

TEST_CASE("a custom mask has words for each query token") {
  AttentionProblem problem = kProblem;
  problem.q_len = 33;
  problem.mask = AttentionMask::custom;
  AttentionTensors tensors = fitting();
  tensors.q.bytes *= 33;
  tensors.o.bytes *= 33;
  tensors.lse = {};
  tensors.mask = {0xa000, 2 * 33 * 2 * 4, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  tensors.mask.bytes -= 1;
  const auto checked = TensorChecks(problem, workspace(), {}).check(tensors);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.find(" mask ") != std::string::npos);
}

TEST_CASE("strides are multiples of 16 bytes above 0, and count for the size") {
  AttentionTensors tensors = fitting();
  tensors.q.strides = {16 * 128, 16 * 128, 128};
  CHECK(check(tensors));
  for (const std::int64_t stride : {std::int64_t{-128}, std::int64_t{0}, std::int64_t{132}}) {
    tensors.q.strides[2] = stride;
    check_refused(tensors, "q");
  }
  tensors.q.strides = {2 * 16 * 128, 16 * 128, 128};
  check_refused(tensors, "q");
  tensors.q.bytes += 16 * 128 * 2;
  CHECK(check(tensors));
  // Head by head, which is as large as token by token.
  tensors.k.strides = {64 * 4 * 128, 128, 64 * 128};
  CHECK(check(tensors));
}

TEST_CASE("strides of rows of 72 bytes are multiples of 8 bytes, and a row is one of them") {
  AttentionProblem problem = kProblem;
  problem.prefill = true;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.head_dim_qk = problem.head_dim_v = 72;
  AttentionTensors tensors = fitting();
  tensors.k.strides = {64 * 4 * 72, 4 * 72, 72};
  const TensorChecks checks(problem, workspace(), {});
  CHECK(checks.check(tensors));
  for (const std::int64_t stride : {76, 84, 78}) {
    tensors.k.strides[2] = stride;
    const auto refused = checks.check(tensors);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("multiples of 8 bytes") != std::string::npos);
  }
}

TEST_CASE("rows of the output and of the cache do not overlap, whatever the order of the dimensions") {
  for (DeviceTensor AttentionTensors::*written :
       {&AttentionTensors::k, &AttentionTensors::v, &AttentionTensors::o}) {
    const char* const name = written == &AttentionTensors::k   ? "k"
                             : written == &AttentionTensors::v ? "v"
                                                               : "o";
    CAPTURE(name);
    AttentionTensors tensors = fitting();
    (tensors.*written).bytes = 1U << 24U;
    for (const std::array<std::int64_t, 3>& strides :
         {std::array<std::int64_t, 3>{64 * 128, 64 * 128, 120},
          std::array<std::int64_t, 3>{64 * 2048, 2048, 8}, std::array<std::int64_t, 3>{1024, 1024, 1024}}) {
      (tensors.*written).strides = strides;
      check_refused(tensors, name);
    }
    (tensors.*written).strides = {64 * 4096, 4096, 256};  // K and V side by side
    CHECK(check(tensors));
    (tensors.*written).bytes = (written == &AttentionTensors::o ? 16 : 4) * 1024 * 128 * 2;
    (tensors.*written).strides = {64 * 128, 128, 1024 * 128};  // heads outermost, each a pool of slots
    CHECK(check(tensors));
  }
}

TEST_CASE("pages and tokens that are counted on the device do not overlap others in the memory given") {
  for (DeviceTensor AttentionTensors::*pool : {&AttentionTensors::k, &AttentionTensors::v}) {
    const char* const name = pool == &AttentionTensors::k ? "k" : "v";
    CAPTURE(name);
    AttentionTensors tensors = fitting();
    (tensors.*pool).bytes = 1U << 20U;
    for (const std::int64_t page : {128, 512, 1024, 64 * 512 - 8}) {
      (tensors.*pool).strides = {page, 512, 128};
      check_refused(tensors, name);
    }
    (tensors.*pool).strides = {64 * 512, 512, 128};
    CHECK(check(tensors));
    // The tokens of four pages are interleaved. A fifth page would begin at a token of the first.
    (tensors.*pool).strides = {512, 4 * 512, 128};
    (tensors.*pool).bytes = 4 * 64 * 512 * 2;
    CHECK(check(tensors));
    (tensors.*pool).bytes += 512 * 2;
    check_refused(tensors, name);
  }
  AttentionProblem problem = kProblem;
  problem.q_len = 3;
  problem.ragged_q = true;
  AttentionTensors tensors = fitting();
  tensors.q.bytes = tensors.o.bytes = 5 * 16 * 256;
  tensors.lse = {};
  const auto refusal = [&] {
    const auto checked = TensorChecks(problem, workspace(), {}).check(tensors);
    return checked ? std::string() : checked.error().message;
  };
  CHECK(refusal().empty());
  tensors.o.strides = {0, 128, 128};
  CHECK(test::holds(refusal(), "o has the strides 0, 128, 128"));
  tensors.o.strides = {0, 128, 5 * 128};  // head by head
  CHECK(refusal().empty());
  tensors.o.strides = {0, 128, 4 * 128};
  CHECK(test::holds(refusal(), "o has the strides"));
}

TEST_CASE("O has the tokens of Q, and V those of K, if only the device knows their number") {
  AttentionProblem problem = test::context(2, 300, 1024, 16, 4);
  problem.layout = QkvLayout::separate_qkv;
  problem.ragged_q = true;
  AttentionTensors tensors = fitting();
  tensors.lse = tensors.page_table = {};
  tensors.q = tensors.o = {0x10000, 5 * 16 * 256, {}};
  tensors.k = tensors.v = {0x20000, 7 * 4 * 256, {}};
  const auto refusal = [&] {
    const auto checked = TensorChecks(problem, workspace(), {}).check(tensors);
    return checked ? std::string() : checked.error().message;
  };
  CHECK(refusal().empty());
  tensors.o.bytes -= 16 * 256;
  CHECK(test::holds(refusal(), "o has memory for 4 tokens, but q for 5"));
  tensors.o.bytes += 16 * 256;
  tensors.v.bytes -= 4 * 256;
  CHECK(test::holds(refusal(), "v has memory for 6 tokens, but k for 7"));
  // Q and V are views of one projection; the memory behind their last tokens is not theirs.
  tensors.q.strides = {0, 24 * 128, 128};
  tensors.q.bytes = (4 * 24 + 16) * 256;
  tensors.v.strides = {0, 24 * 128, 128};
  tensors.v.bytes = (6 * 24 + 4) * 256;
  CHECK(refusal().empty());
  // Memory for more tokens than the problem has is not compared.
  tensors.q = {0x10000, 2 * 300 * 16 * 256, {}};
  tensors.o = {0x400000, 601 * 16 * 256, {}};
  CHECK(refusal().empty());
}

TEST_CASE("offsets have no strides") {
  AttentionPlan::TensorRules rules;
  rules.reads_offsets = rules.reads_kv_offsets = true;
  AttentionTensors tensors = fitting();
  tensors.q_offsets = {0xa000, 64, {}};
  tensors.kv_offsets = {0xb000, 64, {}};
  CHECK(TensorChecks(kProblem, workspace(), rules).check(tensors));
  for (DeviceTensor AttentionTensors::*offsets :
       {&AttentionTensors::q_offsets, &AttentionTensors::kv_offsets}) {
    AttentionTensors strided = tensors;
    (strided.*offsets).strides = {2, 0, 0};
    const auto checked = TensorChecks(kProblem, workspace(), rules).check(strided);
    REQUIRE_FALSE(checked);
    CHECK(test::holds(checked.error().message, "offsets has strides"));
  }
}

TEST_CASE("a row of the page table holds at least a sequence, and lengths have no strides") {
  AttentionTensors tensors = fitting();
  tensors.page_table.strides = {15, 0, 0};
  check_refused(tensors, "page_table");
  tensors.page_table.strides = {20, 0, 0};
  check_refused(tensors, "page_table");
  tensors.page_table.bytes = (20 + 16) * 4;
  CHECK(check(tensors));
  tensors.kv_lengths.strides = {2, 0, 0};
  check_refused(tensors, "kv_lengths");
}

TEST_CASE("what a kernel counts in 31 bits is refused above it, where the rules say so") {
  AttentionPlan::TensorRules rules;
  rules.counts_in_31_bits = true;
  const auto refusal = [&](const AttentionTensors& tensors) {
    const auto checked = TensorChecks(kProblem, workspace(), rules).check(tensors);
    return checked ? std::string() : checked.error().message;
  };
  AttentionTensors tensors = fitting();
  CHECK(refusal(tensors) == "");
  const std::uint64_t most = std::uint64_t{1} << 31U;
  tensors.page_table = {0x6000, most * 8, {static_cast<std::int64_t>(most - 1), 0, 0}};
  CHECK(refusal(tensors) == "");
  tensors.page_table.strides[0] += 1;
  CHECK(test::holds(refusal(tensors), "page_table has a stride of 2147483648 entries, but"));
  CHECK(check(tensors));
  tensors = fitting();
  const std::uint64_t page = 64 * 4 * 128 * 2;
  tensors.k.bytes = page * (most / 2 - 1);
  CHECK(refusal(tensors) == "");
  tensors.k.bytes += page;
  CHECK(test::holds(refusal(tensors), "k has 70368744177664 bytes, which are 1073741824 pages, but"));
  CHECK(check(tensors));
  tensors.k.strides = {2 * 64 * 4 * 128, 4 * 128, 128};
  CHECK(refusal(tensors) == "");
  tensors.q.bytes = UINT64_MAX / 2;
  CHECK(test::holds(refusal(tensors), "q has 9223372036854775807 bytes"));
}

TEST_CASE("an append asks for its rows, and for positions, angles and scales where it reads them") {
  AttentionProblem problem = kProblem;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.append.emplace();
  AttentionTensors tensors = fitting();
  const auto lacks = [&](const char* name) {
    const auto checked = TensorChecks(problem, workspace(), {}).check(tensors);
    REQUIRE_FALSE(checked);
    CHECK_MESSAGE(checked.error().message.find(std::string(" ") + name + " ") != std::string::npos,
                  checked.error().message);
  };
  lacks("new_k");
  tensors.new_k = {0xa000, 2 * 4 * 128 * 2, {}};
  lacks("new_v");
  tensors.new_v = {0xb000, 2 * 4 * 128 * 2, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  problem.append->rope_dim = 128;
  lacks("new_q");
  tensors.new_q = tensors.q;
  lacks("cos_sin");
  tensors.cos_sin = {0xc000, 1024 * 128 * 4, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  tensors.cos_sin.bytes -= 1;
  lacks("cos_sin");
  problem.append->positions = true;
  lacks("positions");
  tensors.positions = {0xd000, 2 * 4, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  problem.scales_on_device = true;
  tensors.softmax_scale = tensors.output_scale = {0xe000, 4, {}};
  lacks("k_scale");
  tensors.k_scale = {0xe004, 4, {}};
  lacks("v_scale");
  tensors.v_scale = {0xe008, 4, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  // In place nothing may change its size.
  tensors.new_q.strides = {16 * 128, 16 * 128, 128};
  lacks("new_q");
  tensors.new_q = {0xf000, 2 * 16 * 128 * 2, {}};
  problem.data_type_q = DataType::e4m3;
  lacks("q_scale");
  tensors.q_scale = {0xe00c, 4, {}};
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
}

TEST_CASE("an append without attention asks for nothing that only attention reads") {
  AttentionProblem problem = kProblem;
  problem.append.emplace().attends = false;
  AttentionTensors tensors = fitting();
  tensors.q = tensors.o = tensors.lse = tensors.scratch = tensors.counters = {};
  tensors.new_k = {0xa000, 2 * 4 * 128 * 2, {}};
  tensors.new_v = {0xb000, 2 * 4 * 128 * 2, {}};
  CHECK(TensorChecks(problem, {}, {}).check(tensors));
}

TEST_CASE("all tensors have a name") {
  const AttentionTensors tensors = fitting();
  const auto named = named_tensors(tensors);
  std::set<const DeviceTensor*> distinct;
  for (const NamedTensor& each : named)
    distinct.insert(each.tensor);
  CHECK(distinct.size() * sizeof(DeviceTensor) == sizeof(AttentionTensors));
  for (const CheckedMember& member : kMembers) {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](const NamedTensor& each) { return each.name == member.name; });
    REQUIRE(found != named.end());
    CHECK(found->tensor == &(tensors.*member.tensor));
  }
}

TEST_CASE("scales of KV heads have a row for all sequences or for each, and no two rows overlap") {
  AttentionProblem problem = kProblem;  // two sequences, four KV heads
  problem.kv_scales = KvScales::head;
  const auto refused = [&](const AttentionTensors& tensors) {
    const auto checked = TensorChecks(problem, workspace(), {}).check(tensors);
    return checked ? std::string() : checked.error().message;
  };
  AttentionTensors tensors = fitting();
  CHECK(test::holds(refused(tensors), " k_head_scales "));
  tensors.k_head_scales = {0xa000, 4 * 4, {}};
  CHECK(test::holds(refused(tensors), " v_head_scales "));
  tensors.v_head_scales = {0xa010, 4 * 4, {}};
  CHECK(refused(tensors).empty());
  tensors.v_head_scales.strides[0] = 4;
  CHECK(test::holds(refused(tensors), " v_head_scales "));
  tensors.v_head_scales = {0xa012, 4 * 4, {}};
  CHECK(test::holds(refused(tensors), " v_head_scales "));
  tensors.v_head_scales = {0xa010, 4 * 4, {}};
  problem.kv_scales = KvScales::sequence;
  CHECK(test::holds(refused(tensors), " k_head_scales "));
  tensors.k_head_scales.bytes = tensors.v_head_scales.bytes = 2 * 4 * 4;
  CHECK(refused(tensors).empty());
  tensors.k_head_scales.strides[0] = 6;
  CHECK(test::holds(refused(tensors), " k_head_scales "));
  tensors.k_head_scales.bytes = (6 + 4) * 4;
  CHECK(refused(tensors).empty());
  for (const std::int64_t stride : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 62}) {
    tensors.k_head_scales.strides[0] = stride;
    CHECK(test::holds(refused(tensors), " k_head_scales "));
  }
  problem.kv_scales = KvScales::none;
  CHECK(test::holds(refused(tensors), " k_head_scales is given, but the plan's problem has none"));
  tensors.k_head_scales = {};
  CHECK(test::holds(refused(tensors), " v_head_scales is given"));
  tensors.v_head_scales = {};
  CHECK(refused(tensors).empty());
  problem.kv_scales = KvScales::sequence;
  // An append needs them as well.
  problem.append.emplace().attends = false;
  tensors = fitting();
  tensors.new_k = {0xb000, 2 * 4 * 128 * 2, {}};
  tensors.new_v = {0xc000, 2 * 4 * 128 * 2, {}};
  CHECK(test::holds(refused(tensors), " k_head_scales "));
}

TEST_CASE("what only some problems have is asked for by them alone") {
  AttentionProblem problem = kProblem;
  AttentionPlan::TensorRules rules;
  const auto refused = [&](const AttentionTensors& tensors) {
    const auto checked = TensorChecks(problem, workspace(), rules).check(tensors);
    return checked ? std::string() : checked.error().message;
  };
  AttentionTensors tensors = fitting();
  problem.sinks = true;
  CHECK(test::holds(refused(tensors), " sinks "));
  tensors.sinks = {0xa000, 16 * 4, {}};
  CHECK(refused(tensors).empty());
  problem.scales_on_device = true;
  CHECK(test::holds(refused(tensors), " softmax_scale "));
  tensors.softmax_scale = {0xb000, 4, {}};
  CHECK(test::holds(refused(tensors), " output_scale "));
  tensors.output_scale = {0xb004, 4, {}};
  rules.reads_offsets = true;
  CHECK(test::holds(refused(tensors), " q_offsets "));
  tensors.q_offsets = {0xc000, 3 * 4, {}};
  CHECK(refused(tensors).empty());
  rules.reads_kv_offsets = true;
  CHECK(test::holds(refused(tensors), " kv_offsets "));
  tensors.kv_offsets = {0xd000, 3 * 4, {}};
  problem.separate_page_tables = true;
  CHECK(test::holds(refused(tensors), " page_table "));
  tensors.page_table.bytes *= 2;
  CHECK(refused(tensors).empty());
  rules.contiguous_o = true;
  tensors.o.strides = {16 * 128, 16 * 128, 128};
  CHECK(test::holds(refused(tensors), " o "));
  tensors.o.strides = {};
  rules.lse_as_planned = true;
  CHECK(test::holds(refused(tensors), "AttentionProblem::lse"));
  problem.lse = true;
  CHECK(refused(tensors).empty());
}

TEST_CASE(
    "the LSE of ragged queries has rows for the tokens there are, or as many as the kernel of the plan "
    "writes") {
  AttentionProblem problem = test::generation(2, 3, 1024, 16, 4);
  problem.ragged_q = true;
  AttentionTensors tensors = fitting();
  tensors.q_offsets = {0xa000, 3 * 4, {}};
  tensors.q.bytes *= 3;
  tensors.o.bytes *= 3;
  tensors.lse.bytes = 6 * 16 * 4;
  CHECK(TensorChecks(problem, workspace(), {}).check(tensors));
  tensors.lse.bytes -= 4;
  CHECK_FALSE(TensorChecks(problem, workspace(), {}).check(tensors));
  AttentionPlan::TensorRules rules;
  rules.lse_as_planned = problem.lse = true;
  tensors.q.bytes = tensors.o.bytes = 5 * 16 * 256;
  tensors.lse.bytes = 2 * 3 * 16 * 4;
  CHECK(TensorChecks(problem, workspace(), rules).check(tensors));
  tensors.lse.bytes -= 4;
  CHECK_FALSE(TensorChecks(problem, workspace(), rules).check(tensors));
}

TEST_CASE("sequences that follow each other may be shorter than their bounds") {
  AttentionProblem problem = test::context(2, 300, 1024, 16, 4);
  problem.layout = QkvLayout::separate_qkv;
  problem.ragged_q = true;
  AttentionPlan::TensorRules rules;
  rules.reads_offsets = rules.reads_kv_offsets = true;
  AttentionTensors tensors;
  tensors.q = {0x1000, 5 * 16 * 256, {}};
  tensors.k = {0x10000, 7 * 4 * 256, {}};
  tensors.v = {0x20000, 7 * 4 * 256, {}};
  tensors.o = {0x30000, 5 * 16 * 256, {}};
  tensors.lse = {0x40000, 5 * 16 * 4, {}};
  tensors.kv_lengths = {0x50000, 2 * 4, {}};
  tensors.q_offsets = {0x60000, 3 * 4, {}};
  tensors.kv_offsets = {0x70000, 3 * 4, {}};
  CHECK(TensorChecks(problem, {}, rules).check(tensors));
  tensors.lse.bytes -= 4;
  CHECK_FALSE(TensorChecks(problem, {}, rules).check(tensors));
  tensors.lse = {};
  tensors.k.bytes = 4 * 256 - 1;
  CHECK_FALSE(TensorChecks(problem, {}, rules).check(tensors));
  problem.layout = QkvLayout::contiguous_kv;
  tensors.k.bytes = tensors.v.bytes = 2 * 1024 * 4 * 256;
  CHECK(TensorChecks(problem, {}, rules).check(tensors));
  tensors.v.bytes -= 1;
  CHECK_FALSE(TensorChecks(problem, {}, rules).check(tensors));
}

TEST_CASE("tokens that are read two at a time lie one behind the other, and the strides wanted are named") {
  AttentionProblem problem = test::generation(2, 1, 1024, 16, 4, 64, 64);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.kv_order = KvOrder::hnd;
  AttentionPlan::TensorRules rules;
  rules.kv_tokens_per_row = 2;
  for (DeviceTensor AttentionTensors::*pool : {&AttentionTensors::k, &AttentionTensors::v}) {
    AttentionTensors tensors = fitting();
    const auto checked = [&] { return TensorChecks(problem, workspace(), rules).check(tensors); };
    CHECK(checked());
    (tensors.*pool).strides = {4 * 64 * 64, 4 * 64, 64};  // token by token
    rules.kv_tokens_per_row = 1;
    CHECK(checked());
    rules.kv_tokens_per_row = 2;
    const auto refused = checked();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    CHECK(test::holds(refused.error().message,
                      pool == &AttentionTensors::k ? "attention: k " : "attention: v "));
    CHECK(test::holds(refused.error().message, "256 elements from token to token"));
    CHECK(test::holds(refused.error().message, "(strides 16384, 64, 4096)"));
    (tensors.*pool).strides = {4 * 64 * 64 + 4096, 64, 64 * 64};  // head by head, pages apart
    (tensors.*pool).bytes *= 2;
    CHECK(checked());
  }
}

TEST_CASE("strides whose extent would wrap are refused, not taken for small ones") {
  for (const unsigned bit : {56U, 60U, 61U, 62U}) {
    AttentionTensors tensors = fitting();
    tensors.q.strides = {std::int64_t{1} << bit, 16 * 128, 128};
    check_refused(tensors, "q");
    tensors = fitting();
    tensors.page_table.strides = {std::int64_t{1} << bit, 0, 0};
    check_refused(tensors, "page_table");
  }
}

TEST_CASE("of latent attention v is k, to its strides") {
  const AttentionProblem latent = test::generation(2, 1, 1024, 16, 16, 576, 512);
  AttentionTensors tensors = fitting();
  tensors.q.bytes = tensors.o.bytes = 2 * 16 * 576 * 2;
  tensors.k = tensors.v = {0x20000, 64 * 576 * 2, {}};
  const TensorChecks checks(latent, workspace(), {});
  CHECK(checks.check(tensors));
  tensors.v.address += 512;
  CHECK(test::holds(checks.check(tensors).error().message, "v is not k"));
  tensors.v = tensors.k;
  tensors.v.strides = {64 * 576, 576, 576};
  CHECK(test::holds(checks.check(tensors).error().message, "v is not k"));
}

}  // namespace
}  // namespace cubinet
