// SPDX-License-Identifier: Apache-2.0
#include "published/following_steps.hpp"

#include "published_launches.hpp"

#include <cubinet/kernel_templates/attention_lse_parameters.h>
#include <cubinet/kernel_templates/attention_reduction_parameters.h>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

template <class Parameters>
Parameters parameters_of(const PlanStep& step, const AttentionTensors& tensors) {
  REQUIRE(step.arguments->size() == sizeof(Parameters));
  std::vector<std::byte> argument(sizeof(Parameters));
  step.arguments->prepare(argument);
  step.arguments->write(tensors, argument);
  Parameters parameters;
  std::memcpy(&parameters, argument.data(), sizeof(parameters));
  return parameters;
}

void check_template(const PlanStep& step) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto& spec = std::get<KernelSpec>(step.kernel);
  const auto found = catalog->find(spec.name);
  REQUIRE(found);
  const auto resolved = (*found)->resolve(spec);
  REQUIRE_MESSAGE(resolved, (resolved ? "" : resolved.error().to_line()));
  const auto entries = (*found)->entry_points(*resolved);
  REQUIRE(entries);
  CHECK(entries->front().name == step.entry_point);
  CHECK(entries->front().threads == step.threads);
  CHECK(entries->front().parameter_bytes == step.arguments->size());
}

TEST_CASE("a kernel that brings its splits together itself is followed by nothing") {
  CHECK(following_steps(test::shared_launch(test::generation(2, 4, 16384, 16, 8))).empty());
}

TEST_CASE("a separate reduction reads the partial results where the kernel leaves them") {
  AttentionProblem problem = test::generation(8, 1, 4096, 128, 128, 576, 512);
  problem.lse = true;
  const auto shared = test::shared_launch(problem);
  const PublishedLaunch& launch = *shared;
  const auto steps = following_steps(shared);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].grid == launch.launch.reduction->grid);
  check_template(steps[0]);
  AttentionTensors tensors;
  tensors.scratch.address = 0x100000;
  tensors.lse.address = 0x200000;
  tensors.q_offsets.address = tensors.sinks.address = 0x300000;
  const auto reduction = parameters_of<kernel_templates::AttentionReductionParameters>(steps[0], tensors);
  CHECK(reduction.partial_stats == 0x100000 + launch.workspace.partial_stats_offset);
  CHECK(reduction.partial_o == 0x100000 + launch.workspace.partial_output_offset);
  CHECK(reduction.softmax_stats == 0x100000);
  CHECK(reduction.q_offsets == 0);
  CHECK(reduction.sinks == 0);
  CHECK(reduction.max_splits == 9);
  check_template(steps[1]);
  const auto lse = parameters_of<kernel_templates::AttentionLseParameters>(steps[1], tensors);
  CHECK(lse.softmax_stats == 0x100000);
  CHECK(lse.lse == 0x200000);
  CHECK(lse.rows == 8 * 128);
  CHECK(steps[1].grid[0] * 512 >= 8 * 128);
}

}  // namespace
}  // namespace cubinet
