// SPDX-License-Identifier: Apache-2.0
// The division that kernels do is compiled from the header that the host compiles: both have to
// agree. Needs a GPU and NVRTC.
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cubinet {
namespace {

using test::ok;

using kernel_templates::FastDivisor;

constexpr const char* kDivideTemplate = R"(// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{ "name": "divide", "interface": 1, "summary": "quotients", "minimum_target": "sm_80", "parameters": [],
  "constraints": [],
  "kernels": [ {"name": "divide", "threads": "128", "dynamic_shared_bytes": "0", "parameter_bytes": 32} ] }
*/
#include <cubinet/kernel_templates/fast_divisor.h>
struct DivideParameters {
  const cubinet::kernel_templates::FastDivisor* divisors;
  const int* numerators;
  int* results;
  int count;
  int pad;
};
extern "C" __global__ void divide(const __grid_constant__ DivideParameters p) {
  for (int i = threadIdx.x; i < p.count; i += 128) {
    const int at = blockIdx.x * p.count + i;
    p.results[2 * at] = p.divisors[blockIdx.x].quotient(p.numerators[at]);
    p.results[2 * at + 1] = p.divisors[blockIdx.x].remainder(p.numerators[at]);
  }
}
)";

struct DivideParameters {
  std::uint64_t divisors = 0;
  std::uint64_t numerators = 0;
  std::uint64_t results = 0;
  int count = 0;
  int pad = 0;
};

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

std::vector<std::int64_t> divisors() {
  std::vector<std::int64_t> values;
  for (std::int64_t divisor = 1; divisor <= 4096; ++divisor)
    values.push_back(divisor);
  for (int bit = 12; bit < 31; ++bit) {
    for (std::int64_t near = -1; near <= 1; ++near)
      values.push_back((std::int64_t{1} << bit) + near);
  }
  for (std::int64_t near = 0; near < 16; ++near)
    values.push_back(kLargest - near);
  return values;
}

// On both sides of the first and the last multiples, where a multiplier that is off by one shows.
std::vector<std::int32_t> numerators(std::int64_t divisor) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < 16; ++i) {
    for (const std::int64_t multiple : {i * divisor, (kLargest / divisor - i) * divisor}) {
      for (std::int64_t near = -1; near <= 1; ++near)
        values.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(multiple + near, 0, kLargest)));
    }
  }
  return values;
}

TEST_CASE("kernels divide as the host does for many divisors at boundary numerators") {
  TemplateCatalog catalog;
  REQUIRE(catalog.add(ok(KernelTemplate::parse(kDivideTemplate, "divide.cu"))));
  RuntimeOptions options;
  options.templates = catalog;
  const auto runtime = ok(Runtime::create(std::move(options)));
  const auto opened = runtime->device(0);
  if (!opened) return test::skip(opened.error().to_line());
  const auto& device = *opened;

  std::vector<FastDivisor> fast;
  std::vector<std::int32_t> all;
  for (const std::int64_t divisor : divisors()) {
    fast.push_back(ok(kernel_templates::make_fast_divisor(divisor)));
    const std::vector<std::int32_t> some = numerators(divisor);
    all.insert(all.end(), some.begin(), some.end());
  }
  const std::size_t count = all.size() / fast.size();
  const DeviceBuffer device_divisors = ok(DeviceBuffer::copy_of(device, fast));
  const DeviceBuffer device_numerators = ok(DeviceBuffer::copy_of(device, all));
  std::vector<std::int32_t> results(2 * all.size(), -1);
  const DeviceBuffer device_results = ok(DeviceBuffer::copy_of(device, results));

  const Function function = ok(runtime->function(KernelSpec{"divide", {}}, 0, "divide"));
  const auto current = ok(device->make_current());
  const Stream stream = ok(Stream::create(device));
  LaunchConfig config;
  config.grid = {static_cast<std::uint32_t>(fast.size()), 1, 1};
  config.stream = stream.handle();
  const DivideParameters parameters{device_divisors.address(), device_numerators.address(),
                                    device_results.address(), static_cast<int>(count), 0};
  REQUIRE(function.launch(config, parameters));
  REQUIRE(stream.synchronize());
  REQUIRE(device_results.copy_to(results));

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int32_t divisor = fast[i / count].divisor;
    if (results[2 * i] != all[i] / divisor || results[2 * i + 1] != all[i] % divisor) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace cubinet
