// SPDX-License-Identifier: Apache-2.0
// Attention through the C library, against the stub driver and, if there is a GPU, unchanged
// against the real driver.
#include "api/device_fixture.hpp"
#include "c_fixture.hpp"
#include "handles.hpp"
#include "support/allocation_count.hpp"

#include <cubinet/loader/memory.hpp>

#include <algorithm>
#include <vector>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// One sequence of one head, so that buffers are small.
cubinet_attention_problem small() {
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  problem.kv_len = 64;
  return problem;
}

cubinet_tensor whole(const DeviceBuffer& buffer) {
  return {buffer.address(), buffer.size(), {0, 0, 0}, 0, 0};
}

struct Bound {
  TempDir folder;
  CConfig config = test_config(folder, kScaleTemplate);
  CRuntime runtime = make_runtime(config);
  CAttention attention;
  CWorkspace workspace;
  std::vector<DeviceBuffer> buffers;
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;

  Bound() {
    const cubinet_attention_problem problem = small();
    cubinet_attention* bound = nullptr;
    Failure failure;
    const auto status = cubinet_attention_bind(runtime.get(), &problem, nullptr, 0, &bound, failure.out());
    REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
    attention.reset(bound);
    cubinet_workspace* memory = nullptr;
    REQUIRE(cubinet_workspace_create(bound, &memory, nullptr) == CUBINET_OK);
    workspace.reset(memory);
    tensors.q = allocate(std::vector<std::uint16_t>(128));
    tensors.k = allocate(std::vector<std::uint16_t>(64 * 128));
    tensors.v = allocate(std::vector<std::uint16_t>(64 * 128, 0x3f80));
    tensors.o = allocate(std::vector<std::uint16_t>(128));
    tensors.page_table = allocate(std::vector<std::int32_t>{0});
    tensors.kv_lengths = allocate(std::vector<std::int32_t>{64});
  }

  template <class T>
  cubinet_tensor allocate(const std::vector<T>& values) {
    auto buffer = DeviceBuffer::copy_of(*runtime->session->device(0), values);
    REQUIRE(buffer);
    buffers.push_back(*std::move(buffer));
    return whole(buffers.back());
  }
  cubinet_status run(Failure& failure) {
    return cubinet_attention_run(attention.get(), &tensors, workspace.get(), nullptr, failure.out());
  }
};

}  // namespace

TEST_CASE("attention is planned for a named device without a driver") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_attention_problem problem = small();
  cubinet_text* json = nullptr;
  Failure failure;
  const auto plan = [&](const char* device) {
    return cubinet_attention_plan(runtime.get(), &problem, nullptr, cubinet_str(device), 0, &json,
                                  failure.out());
  };
  REQUIRE_MESSAGE(plan("9.0") == CUBINET_OK, failure.message());
  const CText kept(json);
  CHECK(text(cubinet_text_get(kept.get())).find("\"backend\": \"templates\"") != std::string::npos);
  CHECK(plan("sm_1") == CUBINET_INVALID_ARGUMENT);
  problem.head_dim_qk = 7;
  CHECK(plan("9.0") != CUBINET_OK);
}

TEST_CASE("attention is bound, described, checked and run") {
  Bound bound;
  cubinet_attention_info info = CUBINET_ATTENTION_INFO_INIT;
  REQUIRE(cubinet_attention_get_info(bound.attention.get(), &info, nullptr) == CUBINET_OK);
  CHECK(text(info.backend) == "templates");
  CHECK(text(info.kernel).substr(0, 9) == "attention");
  CHECK(info.steps >= 1);
  CHECK(info.workspace_alignment == 256);
  Failure failure;
  CHECK_MESSAGE(cubinet_attention_check(bound.attention.get(), &bound.tensors, bound.workspace.get(),
                                        failure.out()) == CUBINET_OK,
                failure.message());
  CHECK_MESSAGE(bound.run(failure) == CUBINET_OK, failure.message());
  const CAttention second(cubinet_attention_retain(bound.attention.get()));
  bound.attention.reset(cubinet_attention_retain(second.get()));
  CHECK(bound.run(failure) == CUBINET_OK);
  std::vector<std::uint16_t> output(128);
  REQUIRE(bound.buffers[3].copy_to(output));
  // V is 1 everywhere. The stub executes nothing.
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) CHECK(output == std::vector<std::uint16_t>(128, 0x3f80));
}

TEST_CASE("a run allocates nothing") {
  const Stub stub;
  if (stub.missing()) return;
  Bound bound;
  cubinet_error* error = nullptr;
  REQUIRE(cubinet_attention_run(bound.attention.get(), &bound.tensors, bound.workspace.get(), nullptr,
                                &error) == CUBINET_OK);
  stub.fail("cuLaunchKernelEx", 1, 0);  // the stub keeps no record of the next launch
  const unsigned before = allocations();
  const cubinet_status status =
      cubinet_attention_run(bound.attention.get(), &bound.tensors, bound.workspace.get(), nullptr, &error);
  const unsigned after = allocations();
  CHECK(status == CUBINET_OK);
  CHECK(after == before);
}

TEST_CASE("a check names a tensor in host memory") {
  Bound bound;
  Failure failure;
  static std::uint16_t host[128] = {};
  bound.tensors.q.address = reinterpret_cast<std::uint64_t>(&host[0]) & ~std::uint64_t{15};
  CHECK(cubinet_attention_check(bound.attention.get(), &bound.tensors, bound.workspace.get(),
                                failure.out()) != CUBINET_OK);
  CHECK_MESSAGE(failure.message().find("attention: q must be on") != std::string::npos, failure.message());
}

TEST_CASE("a wrong tensor is named before anything is launched") {
  Bound bound;
  Failure failure;
  // Each change is undone before the next.
  struct Change {
    const char* named;
    void (*make)(cubinet_attention_tensors&);
  };
  constexpr Change kChanges[] = {
      {"attention: k is at", [](cubinet_attention_tensors& tensors) { tensors.k.address += 1; }},
      {"attention: q has 2 bytes", [](cubinet_attention_tensors& tensors) { tensors.q.bytes = 2; }},
      {"attention: v has no address", [](cubinet_attention_tensors& tensors) { tensors.v.address = 0; }},
      {"attention: page_table has 2 bytes",
       [](cubinet_attention_tensors& tensors) { tensors.page_table.bytes = 2; }},
      {"attention: page_table has a stride",
       [](cubinet_attention_tensors& tensors) { tensors.page_table.strides[0] = -1; }},
      {"attention: k has the strides",
       [](cubinet_attention_tensors& tensors) {
         for (std::int64_t& stride : tensors.k.strides)
           stride = 8;
       }},
      {"`kv_lengths.type` is fp32",
       [](cubinet_attention_tensors& tensors) { tensors.kv_lengths.type = CUBINET_TYPE_FP32; }},
      {"`o` is 1, and is reserved", [](cubinet_attention_tensors& tensors) { tensors.o.reserved = 1; }},
  };
  const cubinet_attention_tensors right = bound.tensors;
  for (const Change& change : kChanges) {
    bound.tensors = right;
    change.make(bound.tensors);
    CHECK(bound.run(failure) == CUBINET_INVALID_ARGUMENT);
    CHECK_MESSAGE(failure.message().find(change.named) != std::string::npos, failure.message());
  }
  bound.tensors = right;
  bound.tensors.struct_size = 0;
  CHECK(bound.run(failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_attention_run(bound.attention.get(), nullptr, nullptr, nullptr, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_attention_run(nullptr, &bound.tensors, nullptr, nullptr, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
}

namespace {

// Two sequences in two groups, over the pages of one pool.
struct SharedBound : Bound {
  SharedBound() {
    cubinet_attention_problem problem = small();
    problem.batch = 2;
    problem.prefix_groups = 2;
    problem.prefix_len = 100;
    cubinet_attention* bound = nullptr;
    Failure failure;
    const auto status = cubinet_attention_bind(runtime.get(), &problem, nullptr, 0, &bound, failure.out());
    REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
    attention.reset(bound);
    cubinet_workspace* memory = nullptr;
    REQUIRE(cubinet_workspace_create(bound, &memory, nullptr) == CUBINET_OK);
    workspace.reset(memory);
    tensors.q = allocate(std::vector<std::uint16_t>(2 * 128));
    tensors.o = allocate(std::vector<std::uint16_t>(2 * 128));
    tensors.page_table = allocate(std::vector<std::int32_t>{0, 0});
    tensors.kv_lengths = allocate(std::vector<std::int32_t>{64, 0});
    tensors.prefix_page_table = allocate(std::vector<std::int32_t>{0, 0, 0, 0});
    tensors.prefix_lengths = allocate(std::vector<std::int32_t>{100, 3});
    tensors.group_offsets = allocate(std::vector<std::int32_t>{0, 1, 2});
  }
};

}  // namespace

TEST_CASE("attention over shared prefixes is bound, described, checked and run by the same functions") {
  SharedBound bound;
  cubinet_attention_info info = CUBINET_ATTENTION_INFO_INIT;
  REQUIRE(cubinet_attention_get_info(bound.attention.get(), &info, nullptr) == CUBINET_OK);
  CHECK(text(info.kernel).substr(0, 9) == "attention");
  CHECK(info.steps >= 3);
  CHECK(info.scratch_bytes >= 2 * (128 * 2 + 2 * 4));
  Failure failure;
  CHECK_MESSAGE(cubinet_attention_check(bound.attention.get(), &bound.tensors, bound.workspace.get(),
                                        failure.out()) == CUBINET_OK,
                failure.message());
  CHECK_MESSAGE(bound.run(failure) == CUBINET_OK, failure.message());
  std::vector<std::uint16_t> output(2 * 128);
  REQUIRE(bound.runtime->session->device(0));
  REQUIRE(bound.buffers[7].copy_to(output));
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr)
    CHECK(output == std::vector<std::uint16_t>(2 * 128, 0x3f80));
  bound.tensors.prefix_lengths.bytes = 4;
  CHECK(bound.run(failure) == CUBINET_INVALID_ARGUMENT);
  CHECK_MESSAGE(failure.message().find("over the prefix") == 0, failure.message());
}

TEST_CASE("a run over shared prefixes allocates nothing") {
  const Stub stub;
  if (stub.missing()) return;
  SharedBound bound;
  Failure failure;
  // The stub keeps a list of launches, which grows at some runs.
  unsigned fewest = 1000;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const unsigned before = allocations();
    const cubinet_status status = bound.run(failure);
    fewest = std::min(fewest, allocations() - before);
    CHECK(status == CUBINET_OK);
  }
  CHECK(fewest == 0);
}

TEST_CASE("a plan over shared prefixes has the plans of both attentions and the kernel of the merge") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_attention_problem problem = small();
  problem.batch = 64;
  problem.prefix_groups = 1;
  problem.prefix_len = 32768;
  cubinet_text* json = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(cubinet_attention_plan(runtime.get(), &problem, nullptr, cubinet_str("9.0"), 0, &json,
                                         failure.out()) == CUBINET_OK,
                  failure.message());
  const CText kept(json);
  const std::string plan = text(cubinet_text_get(kept.get()));
  for (const char* part : {"\"own\": {", "\"prefix\": {", "\"merge\": \"attention_merge("})
    CHECK_MESSAGE(plan.find(part) != std::string::npos, plan);
  problem.prefix_len = 0;
  CHECK(cubinet_attention_plan(runtime.get(), &problem, nullptr, cubinet_str("9.0"), 0, &json,
                               failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK_MESSAGE(failure.message().find("`problem.prefix_len` is 0") == 0, failure.message());
}
