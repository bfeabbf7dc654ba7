// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>
#include <vector>

namespace cubinet::test {

// A user's template with two kernels, small enough to compile in a few tens of milliseconds.
inline constexpr const char* kScaleTemplate = R"(// SPDX-License-Identifier: Apache-2.0
/* cubinet-template
{ "name": "scale", "interface": 1, "summary": "y = factor * x", "minimum_target": "sm_80",
  "parameters": [ {"name": "factor", "type": "int", "minimum": 1, "maximum": 1000, "summary": "the factor"},
                  {"name": "unroll", "type": "int", "values": [1, 2, 4], "default": 1, "summary": "tells kernels apart"} ],
  "constraints": [],
  "kernels": [ {"name": "scale", "threads": "128", "dynamic_shared_bytes": "0", "parameter_bytes": 16},
               {"name": "scale_twice", "threads": "64", "dynamic_shared_bytes": "0", "parameter_bytes": 16} ] }
*/
#include <cubinet/parameters.cuh>
struct ScaleParameters { float* data; int count; int pad; };
extern "C" __global__ void scale(const __grid_constant__ ScaleParameters p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.count) p.data[i] *= cubinet::parameters::unroll > 0 ? cubinet::parameters::factor : 0;
}
extern "C" __global__ void scale_twice(const __grid_constant__ ScaleParameters p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.count) p.data[i] *= cubinet::parameters::factor * cubinet::parameters::factor;
}
)";

struct ScaleParameters {
  void* data = nullptr;
  int count = 0;
  int pad = 0;
};

inline TemplateCatalog scale_catalog(std::string source = kScaleTemplate) {
  TemplateCatalog catalog;
  auto parsed = KernelTemplate::parse(std::move(source), "scale.cu");
  REQUIRE(parsed);
  REQUIRE(catalog.add(*parsed));
  return catalog;
}

inline KernelSpec scale_spec(int factor = 3) {
  return KernelSpec{"scale", {}}.set("factor", factor);
}

// Collects what a Runtime tells, from any thread.
struct Journal {
  std::mutex mutex;
  std::vector<KernelEvent> events;
  std::vector<std::string> lines;

  Callback<void(const KernelEvent&)> observer() {
    return [this](const KernelEvent& event) {
      const std::lock_guard lock(mutex);
      events.push_back(event);
    };
  }
  LogSink sink() {
    return [this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      if (record.fields.empty()) lines.emplace_back(record.message);  // requests are among the events
    };
  }
  bool said(std::string_view part) {
    const std::lock_guard lock(mutex);
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

inline std::shared_ptr<Home> open_home(const std::filesystem::path& path, LogSink log = {}) {
  auto home = Home::open({.path = path.string(), .log = std::move(log)});
  REQUIRE_MESSAGE(home, (home ? "" : home.error().to_line()));
  return *std::move(home);
}

inline std::shared_ptr<Bundle> open_bundle(const std::filesystem::path& path) {
  auto bundle = Bundle::open(path.string());
  REQUIRE_MESSAGE(bundle, (bundle ? "" : bundle.error().to_line()));
  return *std::move(bundle);
}

inline RuntimeOptions runtime_options(const std::filesystem::path& home, Journal* journal = nullptr) {
  RuntimeOptions options;
  options.stores = {open_home(home, journal != nullptr ? journal->sink() : LogSink())};
  options.templates = scale_catalog();
  options.compiler = compiler_search();
  if (journal != nullptr) {
    options.observer = journal->observer();
    options.log = journal->sink();
  }
  return options;
}

inline std::shared_ptr<Runtime> make_runtime(RuntimeOptions options) {
  auto runtime = Runtime::create(std::move(options));
  REQUIRE(runtime);
  return *runtime;
}

}  // namespace cubinet::test
