// SPDX-License-Identifier: Apache-2.0
#include "api/device_fixture.hpp"
#include "c_fixture.hpp"
#include "handles.hpp"

#include <cubinet/loader/memory.hpp>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("two parts are merged, and wrong tensors and types are named") {
  const TempDir folder;
  const CConfig config = test_config(folder, kScaleTemplate);
  const CRuntime runtime = make_runtime(config);
  cubinet_merge_problem problem = CUBINET_MERGE_PROBLEM_INIT;
  cubinet_merge* merge = nullptr;
  Failure failure;
  problem.type = 99;
  CHECK(cubinet_merge_bind(runtime.get(), &problem, 0, &merge, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`problem.type` is 99");
  problem.type = CUBINET_TYPE_BF16;
  const auto status = cubinet_merge_bind(runtime.get(), &problem, 0, &merge, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  const std::unique_ptr<cubinet_merge, Releaser<cubinet_merge, cubinet_merge_release>> kept(merge);

  std::vector<DeviceBuffer> buffers;
  const auto device = *runtime->session->device(0);
  const auto whole = [&](const auto& values) {
    buffers.push_back(*DeviceBuffer::copy_of(device, values));
    return cubinet_tensor{buffers.back().address(), buffers.back().size(), {0, 0, 0}, 0, 0};
  };
  const std::vector<std::uint16_t> ones(128, 0x3f80);
  cubinet_merge_tensors tensors = CUBINET_MERGE_TENSORS_INIT;
  tensors.first_o = whole(ones);
  tensors.first_lse = whole(std::vector<float>{0});
  tensors.second_o = whole(ones);
  tensors.second_lse = whole(std::vector<float>{1});
  tensors.o = whole(std::vector<std::uint16_t>(128));
  CHECK_MESSAGE(cubinet_merge_run(merge, &tensors, 1, nullptr, failure.out()) == CUBINET_OK,
                failure.message());
  std::vector<std::uint16_t> output(128);
  REQUIRE(buffers.back().copy_to(output));
  if (std::getenv("CUBINET_TEST_DRIVER") == nullptr) CHECK(output == ones);
  tensors.first_o.bytes = 2;
  CHECK(cubinet_merge_run(merge, &tensors, 1, nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_merge_run(merge, nullptr, 1, nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
}
