// SPDX-License-Identifier: Apache-2.0
// Tests the results of linked programs: kernels that launch kernels, and calls from one source into
// another. Needs a GPU.
#include "runtime_fixture.hpp"
#include "support/skip.hpp"

#include <cubinet/loader/driver.hpp>
#include <cubinet/loader/memory.hpp>

#include <numeric>
#include <span>

namespace {

using namespace cubinet;
using namespace cubinet::test;

std::shared_ptr<Runtime> runtime_on_device(const std::filesystem::path& home) {
  const auto driver = Driver::open({});
  if (!driver || (*driver)->devices().empty()) {
    skip("there is no device");
    return nullptr;
  }
  RuntimeOptions options;
  options.stores = {open_home(home)};
  options.compiler = compiler_search();
  return make_runtime(std::move(options));
}

// Returns the kernel's results for 0, 1, 2 … 31 in its one block. Returns an empty vector and skips
// the test if the program cannot be linked.
std::vector<int> launched(Runtime& runtime, const SourceProgram& program, const char* kernel) {
  const auto prepared = runtime.resolve(program);
  REQUIRE_MESSAGE(prepared.has_value(), (prepared ? "" : prepared.error().to_line()));
  const auto function = runtime.function(**prepared, 0, kernel);
  if (!function && function.error().code == ErrorCode::unavailable) {
    skip(function.error().message);
    return {};
  }
  REQUIRE_MESSAGE(function.has_value(), (function ? "" : function.error().to_line()));
  const auto device = runtime.device(0);
  REQUIRE(device);
  const auto current = (*device)->make_current();
  REQUIRE(current);
  std::vector<int> values(32);
  std::iota(values.begin(), values.end(), 0);
  auto buffer = DeviceBuffer::copy_of(*device, values);
  REQUIRE(buffer);
  LaunchConfig config;
  config.block = {32, 1, 1};
  const auto done = function->launch(config, buffer->as<int>());
  REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().to_line()));
  REQUIRE(buffer->copy_to(values));
  return values;
}

}  // namespace

TEST_CASE("a kernel launches a kernel") {
  const TempDir folder;
  const auto runtime = runtime_on_device(folder / "home");
  if (runtime == nullptr) return;
  SourceProgram program;
  program.name = "launcher";
  program.text = R"cu(__global__ void child(int* out, int more) { out[threadIdx.x] += more; }
extern "C" __global__ void parent(int* out) { if (threadIdx.x == 0) child<<<1, 32>>>(out, 100); }
)cu";
  program.libraries = {"cudadevrt"};
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    program.flags = {flag};
    const std::vector<int> values = launched(*runtime, program, "parent");
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == static_cast<int>(i) + 100);
  }
}

TEST_CASE("a kernel calls a function of another source") {
  const TempDir folder;
  const auto runtime = runtime_on_device(folder / "home");
  if (runtime == nullptr) return;
  SourceProgram program;
  program.name = "caller";
  program.text = R"cu(extern __device__ int twice(int);
static __device__ int helper(int x) { return x + 1; }
extern "C" __global__ void k(int* out) { out[threadIdx.x] = twice(helper(out[threadIdx.x])); }
)cu";
  program.sources.emplace_back();
  program.sources[0].name = "callee";
  program.sources[0].text = R"cu(static __device__ int helper(int x) { return 2 * x; }
__device__ int twice(int x) { return helper(x); }
)cu";
  for (const char* flag : {"-rdc=true", "-dlto"}) {
    CAPTURE(flag);
    program.flags = {flag};
    const std::vector<int> values = launched(*runtime, program, "k");
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == 2 * (static_cast<int>(i) + 1));
  }
}
