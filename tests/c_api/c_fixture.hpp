// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/compiler_search.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubinet.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace cubinet::test {

inline std::string text(cubinet_string string) {
  return string.size == 0 ? std::string() : std::string(string.data, string.size);
}

inline cubinet_string c_string(std::string_view text) {
  return {text.data(), text.size()};
}

// Owns a handle of the C library.
template <class Handle, void (*Release)(Handle*)>
struct Releaser {
  void operator()(Handle* handle) const { Release(handle); }
};
using CConfig = std::unique_ptr<cubinet_config, Releaser<cubinet_config, cubinet_config_release>>;
using CRuntime = std::unique_ptr<cubinet_runtime, Releaser<cubinet_runtime, cubinet_runtime_release>>;
using CSpec = std::unique_ptr<cubinet_spec, Releaser<cubinet_spec, cubinet_spec_release>>;
using CKernel = std::unique_ptr<cubinet_kernel, Releaser<cubinet_kernel, cubinet_kernel_release>>;
using CFunction = std::unique_ptr<cubinet_function, Releaser<cubinet_function, cubinet_function_release>>;
using CAttention = std::unique_ptr<cubinet_attention, Releaser<cubinet_attention, cubinet_attention_release>>;
using CWorkspace = std::unique_ptr<cubinet_workspace, Releaser<cubinet_workspace, cubinet_workspace_release>>;
using CText = std::unique_ptr<cubinet_text, Releaser<cubinet_text, cubinet_text_release>>;

// The error argument of a call.
class Failure {
 public:
  Failure() = default;
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  ~Failure() { cubinet_error_release(error_); }

  cubinet_error** out() {
    cubinet_error_release(error_);
    error_ = nullptr;
    return &error_;
  }
  cubinet_error_info info() const {
    cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
    REQUIRE(cubinet_error_get(error_, &info) == CUBINET_OK);
    return info;
  }
  std::string message() const { return error_ == nullptr ? "" : text(info().message); }
  std::string remedy() const { return error_ == nullptr ? "" : text(info().remedy); }
  bool none() const { return error_ == nullptr; }

 private:
  cubinet_error* error_ = nullptr;
};

inline CConfig make_config() {
  cubinet_config* config = nullptr;
  REQUIRE(cubinet_config_create(CUBINET_ABI_VERSION, &config, nullptr) == CUBINET_OK);
  return CConfig(config);
}

inline void set(const CConfig& config, std::string_view name, std::string_view value) {
  Failure failure;
  const auto status = cubinet_config_set(config.get(), c_string(name), c_string(value), failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
}

// Returns a configuration with the tests' compiler and driver, and a template `scale` with the
// integer parameter `factor`.
inline CConfig test_config(const TempDir& folder, const char* source) {
  CConfig config = make_config();
  write_file(folder / "scale.cu", as_bytes(source));
  set(config, "template_file", (folder / "scale.cu").string());
  set(config, "home", (folder / "home").string());
  set(config, "toolkit", cuda_root());
  if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) set(config, "driver_library", library);
  return config;
}

inline CRuntime make_runtime(const CConfig& config) {
  cubinet_runtime* runtime = nullptr;
  Failure failure;
  const auto status = cubinet_runtime_create(config.get(), &runtime, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  return CRuntime(runtime);
}

inline CSpec make_spec(std::string_view name) {
  cubinet_spec* spec = nullptr;
  REQUIRE(cubinet_spec_create(c_string(name), &spec, nullptr) == CUBINET_OK);
  return CSpec(spec);
}

inline void set_integer(const CSpec& spec, std::string_view parameter, std::int64_t integer) {
  cubinet_value value = CUBINET_VALUE_INIT;
  value.type = CUBINET_VALUE_INTEGER;
  value.integer = integer;
  REQUIRE(cubinet_spec_set(spec.get(), c_string(parameter), &value, nullptr) == CUBINET_OK);
}

inline CKernel make_kernel(const CRuntime& runtime, const CSpec& spec) {
  cubinet_kernel* kernel = nullptr;
  Failure failure;
  const auto status = cubinet_kernel_from_spec(runtime.get(), spec.get(), &kernel, failure.out());
  REQUIRE_MESSAGE(status == CUBINET_OK, failure.message());
  return CKernel(kernel);
}

}  // namespace cubinet::test
