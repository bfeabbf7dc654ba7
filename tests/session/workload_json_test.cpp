// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/session/workload_json.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace cubinet;
using test::ok;

namespace {

WorkloadEntry round_trip(const WorkloadEntry& entry) {
  return ok(entry_of(ok(parse_json(line_text(entry_json(entry))))));
}

}  // namespace

TEST_CASE("a specification of any maker with values of every type has the same identity when read") {
  for (const KernelMaker maker : {KernelMaker::kernel_template, KernelMaker::publisher, KernelMaker::function,
                                  KernelMaker::source, KernelMaker::tool}) {
    KernelSpec spec{"a kernel", {}, maker};
    spec.set("flag", true).set("integer", INT64_MIN).set("text", "1").set("float", 0.1F);
    spec.set("third", std::nextafter(1.0F / 3, 1.0F)).set("double", 0.1).set("whole", 2.0).set("zero", -0.0);
    spec.set("integers", std::vector<std::int64_t>{1, -2}).set("none", std::vector<std::int64_t>{});
    spec.set("floats", std::vector<float>{0.1F, 2}).set("doubles", std::vector<double>{1, 1e-300});
    spec.set("empty floats", std::vector<float>{});
    spec.options = {{"D:N", "4"}, {"std", "c++20"}};
    const WorkloadEntry read = round_trip({spec, {WorkloadDevice{{9, 0}}}, 3});
    CHECK(identify(std::get<KernelSpec>(read.work)) == identify(spec));
    CHECK(read.first_use == 3);
  }
}

TEST_CASE("an attention problem and its options are equal when read") {
  WorkloadAttention attention;
  AttentionProblem& problem = attention.problem;
  problem = {.batch = 3, .q_len = 4, .kv_len = 999, .heads_q = 16, .heads_kv = 2};
  problem.mask = AttentionMask::custom;
  problem.kv_order = KvOrder::hnd;
  problem.window = 77;
  problem.sinks = problem.ragged_q = problem.lse = true;
  problem.softmax_scale = 0.3;
  problem.soft_cap = 30;
  problem.append.emplace().rope_dim = 64;
  problem.append->k_scale = 0.5;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  PlanOptions& options = attention.options;
  options.backend = "templates";
  options.splits = 7;
  options.may_compile = options.uses_tuning = false;
  options.targets.forbidden = {{9, 0, TargetKind::specific}};
  options.targets.pinned = SmTarget{9, 0, TargetKind::baseline};
  options.kernel = KernelSpec{"attention_decode", {}};
  const WorkloadDevice device{{9, 0}, 132, 1000, "NVIDIA \"H\""};
  const WorkloadEntry read = round_trip({attention, {device}, 0});
  const auto& same = std::get<WorkloadAttention>(read.work);
  CHECK(same.problem == problem);
  CHECK(same.options.backend == "templates");
  CHECK(same.options.splits == 7);
  CHECK_FALSE(same.options.may_compile);
  CHECK_FALSE(same.options.uses_tuning);
  CHECK(same.options.targets == options.targets);
  CHECK(same.options.kernel == options.kernel);
  CHECK(*read.devices.begin() == device);
}

TEST_CASE("invariant numerics are a member of a problem, and fast ones are left out") {
  WorkloadAttention attention;
  CHECK_FALSE(entry_json({attention, {WorkloadDevice{{9, 0}}}, 0})["attention"].contains("numerics"));
  attention.problem.numerics = AttentionNumerics::invariant;
  const WorkloadEntry entry{attention, {WorkloadDevice{{9, 0}}}, 0};
  CHECK(entry_json(entry)["attention"]["numerics"] == "invariant");
  CHECK(std::get<WorkloadAttention>(round_trip(entry).work).problem == attention.problem);
}

TEST_CASE("scales of KV heads are a member of a problem that has some") {
  WorkloadAttention attention;
  attention.problem.data_type_k = attention.problem.data_type_v = DataType::e4m3;
  CHECK_FALSE(entry_json({attention, {WorkloadDevice{{9, 0}}}, 0})["attention"].contains("kv_scales"));
  attention.problem.kv_scales = KvScales::sequence;
  const WorkloadEntry entry{attention, {WorkloadDevice{{9, 0}}}, 0};
  CHECK(entry_json(entry)["attention"]["kv_scales"] == "sequence");
  CHECK(std::get<WorkloadAttention>(round_trip(entry).work).problem == attention.problem);
}

TEST_CASE("a number that its type cannot hold is refused, and one that it rounds is read") {
  const auto read = [](const nlohmann::json& value) {
    nlohmann::json line = entry_json({KernelSpec{"scale", {}}, {WorkloadDevice{{9, 0}}}, 0});
    line["kernel"]["parameters"]["x"] = value;
    return entry_of(ok(parse_json(line_text(line))));
  };
  for (const char* wrong : {R"({"float": 1e39})", R"({"float": -1e300})", R"({"floats": [0, 1e39]})"}) {
    const auto entry = read(nlohmann::json::parse(wrong));
    REQUIRE_FALSE(entry);
    CHECK(entry.error().message.find("exceeds the range of its type") != std::string::npos);
  }
  for (const char* rounded : {R"({"float": 3.4e38})", R"({"float": 1e-300})", R"({"double": 1e300})"})
    ok(read(nlohmann::json::parse(rounded)));
}

TEST_CASE("a problem that cannot exist, a number without a type and a missing field are refused") {
  WorkloadAttention attention;
  const auto refused = [](nlohmann::json line) {
    const auto read = entry_of(ok(parse_json(line_text(line))));
    REQUIRE_FALSE(read);
    return read.error().message;
  };
  const nlohmann::json line = entry_json({attention, {WorkloadDevice{{9, 0}}}, 0});
  nlohmann::json wrong = line;
  wrong["attention"]["heads_kv"] = 3;
  CHECK(refused(wrong).find("heads") != std::string::npos);
  wrong = line;
  wrong["attention"].erase("batch");
  CHECK(refused(wrong).find("batch") != std::string::npos);
  wrong = line;
  wrong["attention"]["mask"] = "venetian";
  CHECK(refused(wrong).find("mask") != std::string::npos);
  wrong = line;
  wrong["attention"]["batch"] = std::uint64_t{1} << 32;
  CHECK(refused(wrong).find("batch") != std::string::npos);
  wrong = line;
  wrong["devices"] = nlohmann::json::array();
  CHECK(refused(wrong).find("devices") != std::string::npos);
  wrong = entry_json({KernelSpec{"k", {}}, {WorkloadDevice{{9, 0}}}, 0});
  wrong["kernel"]["parameters"]["x"] = 0.5;
  CHECK(refused(wrong).find("type") != std::string::npos);
  CHECK_FALSE(recording_of(ok(parse_json(R"({"recording":"XYZ"})"))));
}
