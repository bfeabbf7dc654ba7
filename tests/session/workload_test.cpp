// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/sampled.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/workload.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

using namespace cubinet;
using test::ok;

namespace {

constexpr const char* kGolden =
    R"({"cubinet_workload":1,"lines":4}
{"compiled":2,"failures":0,"hits":90,"loads":3,"misses":0,"recording":"00112233445566778899aabbccddeeff"}
{"devices":[{"capability":"9.0"},{"capability":"10.0"}],"kernel":{"compiler":{"use_fast_math":""},"maker":"template","name":"rms_norm","parameters":{"dtype":"bf16","hidden_size":4096}},"order":0}
{"attention":{"batch":8,"chunk":2147483647,"dtype_k":"bf16","dtype_o":"bf16","dtype_q":"bf16","dtype_v":"bf16","head_dim_qk":128,"head_dim_v":128,"heads_kv":8,"heads_q":64,"kv_len":4096,"kv_order":"nhd","layout":"paged_kv","lse":false,"mask":"causal","output_scale":1.0,"page_size":64,"prefill":false,"q_len":1,"ragged_q":false,"sage_block":[0,0,0,0],"scales_on_device":false,"separate_page_tables":false,"sinks":false,"skips_softmax":false,"sparse":"none","top_k":0,"window":2147483647},"devices":[{"capability":"9.0","name":"NVIDIA H200","shared_bytes":232448,"sm_count":132}],"options":{"backend":"auto","may_compile":true,"starts_early":true,"uses_tuning":true},"order":1}
{"devices":[{"capability":"9.0"}],"kernel":{"maker":"source","name":"axpy","parameters":{"kernel 0":"axpy<float>","text":"6b23c0d5f35d1b11f9b683f0b0a617355deb11277d91ae091d399c655b87940d"}},"order":2}
)";

WorkloadEntry kernel_entry(std::int64_t hidden_size, std::uint64_t first_use,
                           ComputeCapability capability = {9, 0}) {
  KernelSpec spec{"rms_norm", {}};
  spec.set("hidden_size", hidden_size);
  return {spec, {WorkloadDevice{capability}}, first_use};
}

Workload golden() {
  Workload workload;
  KernelSpec norm{"rms_norm", {}};
  norm.set("hidden_size", 4096).set("dtype", "bf16");
  norm.options["use_fast_math"] = "";
  KernelSpec axpy{"axpy", {}, KernelMaker::source};
  axpy.set("text", "6b23c0d5f35d1b11f9b683f0b0a617355deb11277d91ae091d399c655b87940d");
  axpy.set("kernel 0", "axpy<float>");
  WorkloadAttention attention{{.batch = 8, .kv_len = 4096, .heads_q = 64, .heads_kv = 8}};
  attention.options.starts_early = true;
  workload.add({axpy, {WorkloadDevice{{9, 0}}}, 2});
  workload.add({attention, {WorkloadDevice{{9, 0}, 132, 232448, "NVIDIA H200"}}, 1});
  workload.add({norm, {WorkloadDevice{{10, 0}}, WorkloadDevice{{9, 0}}}, 0});
  workload.add("00112233445566778899aabbccddeeff", {90, 3, 2, 0, 0});
  return workload;
}

std::string text_of_kernels(std::initializer_list<WorkloadEntry> entries) {
  Workload workload;
  for (const WorkloadEntry& entry : entries)
    workload.add(entry);
  return workload.to_text();
}

}  // namespace

TEST_CASE("the text of a workload is sorted, and these bytes") {
  CHECK(golden().to_text() == kGolden);
  const Workload read = ok(Workload::parse(kGolden));
  CHECK(read.rejected().empty());
  CHECK(read.to_text() == kGolden);
  REQUIRE(read.size() == 3);
  CHECK(std::get<KernelSpec>(read.entries()[0].work).options.contains("use_fast_math"));
  CHECK(std::get<WorkloadAttention>(read.entries()[1].work).options.starts_early);
  CHECK(read.entries()[1].devices.begin()->sm_count == 132);
  CHECK(read.entries()[2].to_string() == "axpy");
}

TEST_CASE("merging is commutative, associative and idempotent") {
  Workload a = golden();
  Workload b;
  b.add(kernel_entry(512, 0));
  b.add(kernel_entry(4096, 7, {12, 0}));
  b.add("00112233445566778899aabbccddeeff", {100, 2, 2, 1, 0});
  b.add("ffffffffffffffffffffffffffffffff", {1, 1, 1, 1, 1});
  Workload c;
  c.add(kernel_entry(512, 3, {8, 0}));
  c.add(kernel_entry(64, 5));
  const auto merged = [](Workload first, const std::vector<const Workload*>& others) {
    for (const Workload* other : others)
      first.merge(*other);
    return first.to_text();
  };
  const std::string all = merged(a, {&b, &c});
  CHECK(merged(c, {&a, &b}) == all);
  CHECK(merged(b, {&c, &a, &b, &c, &a}) == all);
  Workload bc = b;
  bc.merge(c);
  CHECK(merged(a, {&bc}) == all);
  const Workload read = ok(Workload::parse(all));
  CHECK(read.recordings().at("00112233445566778899aabbccddeeff") == WorkloadRecording{100, 3, 2, 1, 0});
  const auto entries = read.entries();
  const auto small = std::find_if(entries.begin(), entries.end(), [](const WorkloadEntry& entry) {
    return entry.to_string() == "rms_norm(hidden_size=512)";
  });
  REQUIRE(small != entries.end());
  CHECK(small->first_use == 0);
  CHECK(small->devices.size() == 2);
}

TEST_CASE("a workload cut at any byte keeps the lines before, and says what is missing" *
          doctest::test_suite("loop")) {
  const std::string text = kGolden;
  const std::size_t header = text.find('\n');
  for (const std::size_t length : test::sampled(text.size() - 1, 8)) {
    CAPTURE(length);
    const auto cut = Workload::parse(text.substr(0, length));
    if (length < header) {
      REQUIRE_FALSE(cut);
      CHECK(cut.error().code == ErrorCode::invalid_argument);
      continue;
    }
    REQUIRE(cut);
    const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(length), '\n');
    const auto kept = cut->size() + cut->recordings().size();
    // A line without its newline counts if it is whole.
    CHECK((kept == static_cast<std::size_t>(lines - 1) ||
           (text[length] == '\n' && lines == static_cast<long>(kept))));
    if (kept < 4) {
      CHECK_FALSE(cut->rejected().empty());
    }
    CHECK(ok(Workload::parse(cut->to_text())).to_text() == cut->to_text());
  }
}

TEST_CASE("a changed byte is rejected with its line or gives another workload that can be written" *
          doctest::test_suite("loop")) {
  for (const std::size_t at : test::sampled(std::string_view(kGolden).size(), 32)) {
    for (const char wrong : {'"', '0', '}', '\n', '\0', '\xff'}) {
      std::string text = kGolden;
      text[at] = wrong;
      const auto read = Workload::parse(text);
      if (!read) continue;
      CHECK(ok(Workload::parse(read->to_text())).to_text() == read->to_text());
    }
  }
}

TEST_CASE("a newer workload and other texts are refused whole") {
  const auto newer = Workload::parse("{\"cubinet_workload\":2,\"lines\":0}\n", "w");
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == ErrorCode::unsupported);
  CHECK(newer.error().message.find("version 2") != std::string::npos);
  for (const char* text : {"", "{}", "[]", "{\"cubinet_workload\":0,\"lines\":0}", "{\"cubinet_workload\":1}",
                           "{\"cubinet_workload\":1,\"lines\":-1}"})
    CHECK(Workload::parse(text).error().code == ErrorCode::invalid_argument);
  CHECK(Workload::read("/absent/w").error().code == ErrorCode::not_found);
}

TEST_CASE("lines that are not understood are reported by number, and the rest is kept") {
  const std::string good = text_of_kernels({kernel_entry(64, 0)});
  const std::string line = good.substr(good.find('\n') + 1);
  std::string unknown = line;
  unknown.insert(1, "\"surprise\":1,");
  std::string maker = line;
  maker.replace(maker.find("template"), 8, "magician");
  const std::string text =
      "{\"cubinet_workload\":1,\"lines\":5}\nnonsense\n" + unknown + maker + "{}\n" + line;
  const Workload read = ok(Workload::parse(text, "w"));
  CHECK(read.size() == 1);
  REQUIRE(read.rejected().size() == 4);
  CHECK(read.rejected()[0].message.starts_with("w, line 2: "));
  CHECK(read.rejected()[1].message.find("surprise") != std::string::npos);
  CHECK(read.rejected()[2].message.find("maker") != std::string::npos);
  CHECK(read.rejected()[3].message.starts_with("w, line 5: "));
}

TEST_CASE("of a million lines the first hundred thousand are kept, and the report stays short") {
  const std::string good = text_of_kernels({kernel_entry(64, 0)});
  const std::string line = good.substr(good.find('\n') + 1);
  std::string text = "{\"cubinet_workload\":1,\"lines\":1000000}\n" + line;
  for (int i = 1; i < 1'000'000; ++i)
    text += "{}\n";
  const test::TempDir folder;
  test::write_file(folder / "w", as_bytes(text));
  const Workload read = ok(Workload::read((folder / "w").string()));
  CHECK(read.size() == 1);
  CHECK(read.rejected().size() == 100);
  CHECK(read.rejected().back().message.find("further lines") != std::string::npos);
}

TEST_CASE("of a file above 64 MiB the rest is reported") {
  const std::string good = text_of_kernels({kernel_entry(64, 0)});
  const std::string line = good.substr(good.find('\n') + 1);
  const std::string filler = "{\"recording\":\"" + std::string(std::size_t{1} << 20, 'x') + "\"}\n";
  std::string text = "{\"cubinet_workload\":1,\"lines\":66}\n" + line;
  for (int i = 0; i < 65; ++i)
    text += filler;
  const test::TempDir folder;
  test::write_file(folder / "w", as_bytes(text));
  const Workload read = ok(Workload::read((folder / "w").string()));
  CHECK(read.size() == 1);
  CHECK(read.rejected().back().message.find("64 MiB") != std::string::npos);
}

TEST_CASE("problems are added to a file behind its entries, and a damaged file is kept") {
  const test::TempDir folder;
  const std::string path = (folder / "w").string();
  const WorkloadDevice device{{9, 0}, 132};
  for (const std::uint32_t batch : {8U, 1U, 8U})
    ok(add_to_workload(path, {{.batch = batch, .heads_q = 8, .heads_kv = 8}}, device));
  const auto entries = ok(Workload::read(path)).entries();
  REQUIRE(entries.size() == 2);
  CHECK(std::get<WorkloadAttention>(entries[0].work).problem.batch == 8);
  CHECK(entries[1].first_use == 1);
  // Several at once keep their order.
  const WorkloadAttention third{{.batch = 3, .heads_q = 8, .heads_kv = 8}};
  ok(add_to_workload(path, {{third, {device}}, {KernelSpec{"merge", {}}, {WorkloadDevice{{9, 0}}}}}));
  CHECK(ok(Workload::read(path)).entries()[2].first_use == 2);
  CHECK(std::get<KernelSpec>(ok(Workload::read(path)).entries()[3].work).name == "merge");
  // The last position has no next one.
  Workload last = ok(Workload::read(path));
  last.add({KernelSpec{"scale", {}}, {WorkloadDevice{{9, 0}}}, INT64_MAX});
  ok(last.write(path));
  ok(add_to_workload(path, {{.batch = 2, .heads_q = 8, .heads_kv = 8}}, device));
  CHECK(ok(Workload::read(path)).rejected().empty());
  CHECK(ok(Workload::read(path)).size() == 6);
  const std::string damaged = ok(Workload::read(path)).to_text() + "nonsense\n";
  test::write_file(path, as_bytes(damaged));
  CHECK_FALSE(add_to_workload(path, {}, device));
  CHECK(ok(Workload::read(path)).rejected().size() == 1);
}

TEST_CASE("the lengths that were known at planning time are not kept") {
  WorkloadAttention attention{{.batch = 2, .kv_len = 9, .heads_q = 8, .heads_kv = 8}};
  Workload plain;
  plain.add({attention, {WorkloadDevice{{9, 0}, 132}}, 0});
  attention.problem.kv_lengths = {3, 9};
  Workload known = plain;
  known.add({attention, {WorkloadDevice{{9, 0}, 132}}, 0});
  CHECK(known.size() == 1);
  Workload alone;
  alone.add({attention, {WorkloadDevice{{9, 0}, 132}}, 0});
  CHECK(std::get<WorkloadAttention>(alone.entries()[0].work).problem.kv_lengths.empty());
  CHECK(alone.to_text() == plain.to_text());
}

TEST_CASE("a written workload is read back, and a folder cannot be written") {
  const test::TempDir folder;
  ok(golden().write((folder / "w").string()));
  CHECK(ok(Workload::read((folder / "w").string())).to_text() == kGolden);
  CHECK_FALSE(golden().write((folder / "absent" / "w").string()));
}

TEST_CASE("a workload above the limit of lines is not written") {
  const test::TempDir temp;
  const std::string path = (temp.path() / "w").string();
  Workload workload;
  for (std::size_t i = 0; i < kMaximumWorkloadLines; ++i)
    workload.add(fmt::format("{:032x}", i), {});
  ok(workload.write(path));
  const std::uintmax_t bytes = std::filesystem::file_size(path);
  workload.add(kernel_entry(64, 0));
  const auto written = workload.write(path);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::invalid_argument);
  CHECK(written.error().message.find("100001 lines") != std::string::npos);
  CHECK(std::filesystem::file_size(path) == bytes);
}
