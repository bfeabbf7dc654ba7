// SPDX-License-Identifier: Apache-2.0
// Tests that kernels of images without unused variables read what the host writes. Needs a GPU.
#include "jit/many_constants.hpp"
#include "runtime_fixture.hpp"
#include "support/skip.hpp"

#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/memory.hpp>

#include <vector>

namespace {

using namespace cubinet;
using namespace cubinet::test;

// Returns what a kernel of one thread writes into its array of four numbers.
std::vector<int> written_by(Function& function, const std::shared_ptr<const Device>& device) {
  std::vector<int> values(4, -1);
  auto buffer = DeviceBuffer::copy_of(device, values);
  REQUIRE(buffer);
  LaunchConfig config;
  config.block = {1, 1, 1};
  const auto done = function.launch(config, buffer->as<int>());
  REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().to_line()));
  REQUIRE(buffer->copy_to(values));
  return values;
}

void write_variable(Function& function, const char* name, int value) {
  auto variable = function.global(name);
  REQUIRE_MESSAGE(variable.has_value(), (variable ? "" : variable.error().to_line()));
  CHECK(variable->size() == sizeof(value));
  const std::vector<int> values = {value};
  REQUIRE(variable->copy_from(values, nullptr));
}

}  // namespace

TEST_CASE("a kernel of a small image reads the variables that the host writes") {
  const TempDir folder;
  const auto driver = Driver::open({});
  if (!driver || (*driver)->devices().empty()) return skip("there is no device");
  RuntimeOptions options;
  options.stores = {open_home(folder / "home")};
  options.compiler = compiler_search();
  const auto runtime = make_runtime(std::move(options));
  SourceProgram program;
  program.name = "written";
  program.text = many_constants() + R"cu(__constant__ int shown = 1;
__constant__ int also_shown = 2;
__device__ int variable = 3;
static __device__ int hidden = 4;
extern "C" __global__ void k(int* x) { x[0] = shown; x[1] = also_shown; x[2] = variable; x[3] = hidden; }
)cu";
  const auto prepared = runtime->resolve(program);
  REQUIRE(prepared);
  auto function = runtime->function(**prepared, 0, "k");
  REQUIRE_MESSAGE(function.has_value(), (function ? "" : function.error().to_line()));
  const auto device = runtime->device(0);
  REQUIRE(device);
  const auto current = (*device)->make_current();
  REQUIRE(current);
  CHECK(written_by(*function, *device) == std::vector<int>{1, 2, 3, 4});
  write_variable(*function, "shown", 11);
  write_variable(*function, "also_shown", 12);
  write_variable(*function, "variable", 13);
  write_variable(*function, "hidden", 14);
  CHECK(written_by(*function, *device) == std::vector<int>{11, 12, 13, 14});
}
