// SPDX-License-Identifier: Apache-2.0
// Launches through the C library, against the stub driver and, if there is a GPU, unchanged against
// the real driver.
#include "api/device_fixture.hpp"
#include "c_fixture.hpp"
#include "handles.hpp"
#include "support/allocation_count.hpp"

#include <cubinet/loader/stream.hpp>

#include <thread>
#include <vector>

using namespace cubinet::test;

namespace {

// A runtime with the kernel scale(factor=3), and the device's context made current.
struct Launcher {
  TempDir folder;
  CConfig config = test_config(folder, kScaleTemplate);
  CRuntime runtime = make_runtime(config);
  CKernel kernel;
  std::shared_ptr<const cubinet::Device> device;
  cubinet::Device::ContextGuard current;

  Launcher() : kernel(scale()), device(open()), current(*device->make_current()) {}

  CKernel scale() const {
    const CSpec spec = make_spec("scale");
    set_integer(spec, "factor", 3);
    return make_kernel(runtime, spec);
  }
  std::shared_ptr<const cubinet::Device> open() const {
    auto opened = runtime->session->device(0);
    REQUIRE_MESSAGE(opened, opened.error().to_line());
    return *opened;
  }
  CFunction function(const char* name = "") const {
    cubinet_function* function = nullptr;
    Failure failure;
    const auto status = cubinet_function_get(kernel.get(), 0, cubinet_str(name), &function, failure.out());
    REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
    return CFunction(function);
  }
};

// The argument of `scale` without elements: the kernel touches no memory.
struct Arguments {
  ScaleParameters parameters;
  const void* pointers[1] = {&parameters};
  std::uint32_t sizes[1] = {sizeof(ScaleParameters)};
};

}  // namespace

TEST_CASE("a function is loaded, described and launched") {
  const Launcher launcher;
  const CFunction function = launcher.function("scale_twice");
  cubinet_function_info info = CUBINET_FUNCTION_INFO_INIT;
  REQUIRE(cubinet_function_get_info(function.get(), &info, nullptr) == CUBINET_OK);
  CHECK(text(info.name) == "scale_twice");
  CHECK(info.block[0] == 64);
  CHECK(info.block[1] == 1);
  CHECK(info.parameter_bytes == 16);
  CHECK(info.handle != nullptr);
  const Arguments arguments;
  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  Failure failure;
  CHECK(cubinet_function_launch(function.get(), &config, arguments.pointers, arguments.sizes, 1,
                                failure.out()) == CUBINET_OK);
  CHECK(cubinet_launch(launcher.kernel.get(), 0, &config, arguments.pointers, arguments.sizes, 1,
                       failure.out()) == CUBINET_OK);
}

TEST_CASE("a wrong launch is an error that names the argument, and launches nothing") {
  const Launcher launcher;
  const CFunction function = launcher.function();
  const Arguments arguments;
  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  Failure failure;
  const auto launch = [&](std::size_t count) {
    return cubinet_function_launch(function.get(), &config, arguments.pointers, arguments.sizes, count,
                                   failure.out());
  };
  CHECK(launch(0) == CUBINET_INVALID_ARGUMENT);
  config.flags = 64;
  CHECK(launch(1) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("config.flags") != std::string::npos);
  config = CUBINET_LAUNCH_CONFIG_INIT;
  config.grid[0] = 0;
  CHECK(launch(1) == CUBINET_INVALID_ARGUMENT);
  config.struct_size = 0;
  CHECK(launch(1) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_function_launch(function.get(), nullptr, arguments.pointers, arguments.sizes, 1,
                                failure.out()) == CUBINET_INVALID_ARGUMENT);
  config = CUBINET_LAUNCH_CONFIG_INIT;
  CHECK(cubinet_function_launch(function.get(), &config, nullptr, arguments.sizes, 1, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_function_launch(nullptr, &config, arguments.pointers, arguments.sizes, 1, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("a launch allocates nothing, by function or by kernel") {
  const Stub stub;
  if (stub.missing()) return;
  const Launcher launcher;
  const CFunction function = launcher.function();
  const Arguments arguments;
  const cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  cubinet_error* error = nullptr;
  const auto by_function = [&] {
    return cubinet_function_launch(function.get(), &config, arguments.pointers, arguments.sizes, 1, &error);
  };
  const auto by_kernel = [&] {
    return cubinet_launch(launcher.kernel.get(), 0, &config, arguments.pointers, arguments.sizes, 1, &error);
  };
  const auto allocated = [&](const auto& launch) {
    REQUIRE(launch() == CUBINET_OK);
    stub.fail("cuLaunchKernelEx", 1, 0);  // the stub keeps no record of the next launch
    const unsigned before = allocations();
    const cubinet_status status = launch();
    const unsigned after = allocations();
    CHECK(status == CUBINET_OK);
    return after - before;
  };
  CHECK(allocated(by_function) == 0);
  CHECK(allocated(by_kernel) == 0);
}

TEST_CASE("an absent device and an absent function are errors, and a function is found by its name") {
  const Launcher launcher;
  cubinet_function* function = nullptr;
  Failure failure;
  CHECK(cubinet_function_get(launcher.kernel.get(), 4000, cubinet_str(""), &function, failure.out()) !=
        CUBINET_OK);
  CHECK(cubinet_function_get(launcher.kernel.get(), 0, cubinet_str("absent"), &function, failure.out()) !=
        CUBINET_OK);
  CHECK(failure.message().find("absent") != std::string::npos);
  CHECK(function == nullptr);
  std::uint64_t address = 0;
  std::size_t size = 0;
  const CFunction kept = launcher.function();
  CHECK(cubinet_function_global(kept.get(), cubinet_str("absent"), &address, &size, failure.out()) !=
        CUBINET_OK);
}

TEST_CASE("forgetting a kernel loads it again, and the older function stays valid") {
  const Launcher launcher;
  const CFunction first = launcher.function();
  std::int32_t released = 0;
  REQUIRE(cubinet_kernel_forget(launcher.kernel.get(), 0, &released, nullptr) == CUBINET_OK);
  CHECK(released == 1);
  const CFunction second = launcher.function();
  const CFunction third(cubinet_function_retain(second.get()));
  const Arguments arguments;
  const cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  for (const CFunction* function : {&first, &second, &third}) {
    CHECK(cubinet_function_launch(function->get(), &config, arguments.pointers, arguments.sizes, 1,
                                  nullptr) == CUBINET_OK);
  }
}

TEST_CASE("forgotten modules stay loaded until a trim, and memory counts them") {
  const Launcher launcher;
  const auto memory = [&] {
    cubinet_memory counted = CUBINET_MEMORY_INIT;
    REQUIRE(cubinet_runtime_memory(launcher.runtime.get(), 0, &counted, nullptr) == CUBINET_OK);
    return counted;
  };
  const auto trim = [&] {
    std::uint64_t modules = 0;
    std::uint64_t bytes = 0;
    REQUIRE(cubinet_runtime_trim(launcher.runtime.get(), UINT64_MAX, 0, &modules, &bytes, nullptr) ==
            CUBINET_OK);
    CHECK((bytes > 0) == (modules > 0));
    return modules;
  };
  CFunction kept = launcher.function();
  CHECK(memory().modules == 1);
  CHECK(memory().bytes > 0);
  CHECK(memory().idle_modules == 0);
  CHECK(trim() == 0);
  kept.reset();
  CHECK(memory().idle_bytes == memory().bytes);
  REQUIRE(cubinet_kernel_forget(launcher.kernel.get(), 0, nullptr, nullptr) == CUBINET_OK);
  CHECK(memory().retired_modules == 1);
  CHECK(memory().retired_bytes == memory().bytes);
  CHECK(trim() == 1);
  CHECK(memory().modules == 0);
  kept = launcher.function();
  std::uint64_t kernels = 0;
  REQUIRE(cubinet_runtime_forget(launcher.runtime.get(), 0, &kernels, nullptr) == CUBINET_OK);
  CHECK(kernels == 1);
  CHECK(memory().modules == 0);
  CHECK(cubinet_runtime_forget(launcher.runtime.get(), -1, &kernels, nullptr) == CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("a kernel that is not loaded is neither compiled nor loaded in a capture") {
  const Launcher launcher;
  const auto stream = cubinet::Stream::create(launcher.device);
  REQUIRE(stream);
  const Arguments arguments;
  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  config.stream = stream->handle();
  Failure failure;
  const auto launch = [&] {
    return cubinet_launch(launcher.kernel.get(), 0, &config, arguments.pointers, arguments.sizes, 1,
                          failure.out());
  };
  cubinet_function* function = nullptr;
  const auto get_loaded = [&] {
    return cubinet_function_get_loaded(launcher.kernel.get(), 0, cubinet_str(""), &function, failure.out());
  };
  const auto captured = [&](const auto& call) {
    cubinet_status status = CUBINET_INTERNAL;
    REQUIRE(cubinet::Graph::capture(*stream, [&]() -> cubinet::Result<void> {
      status = call();
      return {};
    }));
    return status;
  };
  CHECK(captured(launch) == CUBINET_NOT_FOUND);
  CHECK(failure.message().find("scale(factor=3") == 0);
  CHECK(failure.remedy().find("cubinet_function_get") != std::string::npos);
  CHECK(captured(get_loaded) == CUBINET_NOT_FOUND);
  CHECK(failure.message().find("scale(factor=3") == 0);
  CHECK(function == nullptr);
  cubinet_counters counters = CUBINET_COUNTERS_INIT;
  REQUIRE(cubinet_runtime_counters(launcher.runtime.get(), &counters, nullptr) == CUBINET_OK);
  CHECK(counters.compiled == 0);
  CHECK(launch() == CUBINET_OK);
  CHECK(captured(launch) == CUBINET_OK);
  CHECK(captured(get_loaded) == CUBINET_OK);
  cubinet_function_release(function);
}

TEST_CASE("threads may launch with one kernel at once") {
  const Launcher launcher;
  const Arguments arguments;
  std::vector<std::thread> threads;
  std::atomic<int> launched{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const auto current = launcher.device->make_current();
      const cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
      for (int i = 0; i < 50; ++i) {
        launched += cubinet_launch(launcher.kernel.get(), 0, &config, arguments.pointers, arguments.sizes, 1,
                                   nullptr) == CUBINET_OK;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(launched == 200);
}
