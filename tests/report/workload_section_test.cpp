// SPDX-License-Identifier: Apache-2.0
#include "hostile.hpp"
#include "support/ok.hpp"

#include <cubinet/report/store_sections.hpp>
#include <cubinet/report/workload_section.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

WorkloadEntry entry_of_kernel(const std::string& name, std::uint64_t first_use) {
  KernelSpec spec;
  spec.name = name;
  spec.set("mode", "fast");
  return {spec, {WorkloadDevice{{9, 0}}}, first_use};
}

// Returns the section of a workload over a store with these kernels, without a compiler.
std::string section_of(const Workload& workload, const std::vector<std::string>& stored) {
  SessionOptions session;
  session.compiler.library = "/absent.so";
  const std::shared_ptr<WritableStore> store = make_memory_store();
  for (const std::string& name : stored)
    ok(store->publish(make_cubin(std::get<KernelSpec>(entry_of_kernel(name, 0).work))));
  const auto runtime = ok(runtime_over(session, {store}));
  return workload_section("<w>.workload", workload, *runtime, {}, "the <store>").content.markup();
}

}  // namespace

TEST_CASE("the first screen says which entries the stores serve and which not") {
  Workload workload;
  workload.add(entry_of_kernel("stored", 0));
  workload.add(entry_of_kernel("missing", 1));
  const std::string section = section_of(workload, {"stored"});
  CHECK(contains(section, "<dt>Served</dt><dd>50 %</dd><dd class=\"note\">1 of 2 entries</dd>"));
  CHECK(contains(section, "<dt>Not served</dt><dd>1</dd>"));
  CHECK(contains(section, "1 of 2 entries can neither be compiled nor served by the &lt;store&gt;."));
  CHECK(contains(section, ">served<"));
  CHECK(contains(section, ">not served<"));
}

TEST_CASE("a workload that is served is said to be, and an empty one has no entries") {
  Workload workload;
  CHECK(contains(section_of(workload, {}), "The workload has no entries."));
  workload.add(entry_of_kernel("stored", 0));
  CHECK(contains(section_of(workload, {"stored"}),
                 "Every entry is served without compiling, by the &lt;store&gt;."));
}

TEST_CASE("a problem that only a compilation would serve says so, with the device that recorded it") {
  Workload workload;
  WorkloadAttention attention{{.batch = 8, .kv_len = 4096, .heads_q = 64, .heads_kv = 8}};
  workload.add({attention, {WorkloadDevice{{9, 0}, 132, 232448, "NVIDIA H200"}}, 0});
  const std::string section = section_of(workload, {});
  CHECK(contains(section, "1 attention problem"));
  CHECK(contains(section, "NVIDIA H200, 9.0, 132 SMs"));
  CHECK(contains(section, "pages of 64"));
  CHECK(contains(section, ">not served<"));
}

TEST_CASE("counters of recordings and lines that were left out are shown") {
  Workload workload = ok(Workload::parse("{\"cubinet_workload\":1,\"lines\":1}\n{\"unknown\":1}\n"));
  workload.add("00112233445566778899aabbccddeeff", {90, 33, 12, 0, 4});
  const std::string section = section_of(workload, {});
  CHECK(contains(section, "33 loads, 12 compiled"));
  CHECK(contains(section, "00112233445566778899aabbccddeeff"));
  CHECK(contains(section, "Left out: "));
}

TEST_CASE("hostile names of a workload are harmless, after its text was read again") {
  Workload workload;
  std::uint64_t order = 0;
  for (const std::string& name : hostile_names()) {
    WorkloadEntry entry = entry_of_kernel(name, order++);
    entry.devices = {WorkloadDevice{{9, 0}, 132, 0, name.substr(0, 200)}};
    workload.add(entry);
  }
  const Workload read = ok(Workload::parse(workload.to_text()));
  REQUIRE(read.size() > 10);
  const std::string section = section_of(read, {"<script>document.title='ran'</script>"});
  CHECK(is_harmless(section));
  CHECK(contains(section, "&lt;script&gt;document.title=&#39;ran&#39;&lt;/script&gt;"));
}
