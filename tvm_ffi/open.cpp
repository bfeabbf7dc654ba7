// SPDX-License-Identifier: Apache-2.0
// cubinet_open and cubinet_close: the runtimes that the other functions name by their numbers.
#include "function.hpp"
#include "kept_runtime.hpp"

namespace cubinet::tvm_ffi {
namespace {

using ConfigHandle = std::unique_ptr<cubinet_config, Releaser<cubinet_config, cubinet_config_release>>;
using Options = std::vector<std::pair<std::string, std::string>>;

// Pairs of a name and a value. A name "variable" gives a variable of the environment as NAME=value.
Result<Options> read_options(Arguments& arguments) {
  if (arguments.left() % 2 != 0) {
    return Error{ErrorCode::invalid_argument, "the number of arguments is odd",
                 "pass pairs of an option and its value"};
  }
  Options options;
  while (arguments.left() > 0) {
    CUBINET_TRY_ASSIGN(std::string name, arguments.text("option"));
    CUBINET_TRY_ASSIGN(std::string value, arguments.text("value"));
    options.emplace_back(std::move(name), std::move(value));
  }
  return options;
}

Result<ConfigHandle> make_config(const Options& options) {
  std::vector<const char*> variables;
  for (const auto& [name, value] : options)
    if (name == "variable") variables.push_back(value.c_str());
  variables.push_back(nullptr);
  cubinet_config* made = nullptr;
  CUBINET_TRY(call_c([&](cubinet_error** error) {
    return cubinet_config_from_environment(CUBINET_ABI_VERSION, variables.data(), &made, error);
  }));
  ConfigHandle config(made);
  for (const auto& [name, value] : options) {
    if (name == "variable") continue;
    const cubinet_string option = c_api::to_c(name), text = c_api::to_c(value);
    CUBINET_TRY(call_c([&](cubinet_error** error) { return cubinet_config_set(made, option, text, error); }));
  }
  return config;
}

Result<Value> open_runtime(Arguments& arguments) {
  CUBINET_TRY_ASSIGN(const Options options, read_options(arguments));
  CUBINET_TRY_ASSIGN(const ConfigHandle config, make_config(options));
  cubinet_runtime* made = nullptr;
  CUBINET_TRY(
      call_c([&](cubinet_error** error) { return cubinet_runtime_create(config.get(), &made, error); }));
  Value value{kInteger, 0, {}};
  value.integer = keep(std::make_shared<KeptRuntime>(RuntimeHandle(made)));
  return value;
}

Result<Value> close_runtime(Arguments& arguments) {
  CUBINET_TRY(arguments.check_count("runtime"));
  CUBINET_TRY_ASSIGN(const std::int64_t number, arguments.integer("runtime"));
  CUBINET_TRY(drop(number));
  return Value{};
}

}  // namespace
}  // namespace cubinet::tvm_ffi

using namespace cubinet::tvm_ffi;

// NOLINTBEGIN(bugprone-reserved-identifier): tvm-ffi prescribes the prefix.
extern "C" CUBINET_EXPORT int __tvm_ffi_cubinet_open(void*, const Value* arguments, std::int32_t count,
                                                     Value* result) {
  return run_function("cubinet_open", arguments, count, result, open_runtime);
}

extern "C" CUBINET_EXPORT int __tvm_ffi_cubinet_close(void*, const Value* arguments, std::int32_t count,
                                                      Value* result) {
  return run_function("cubinet_close", arguments, count, result, close_runtime);
}
// NOLINTEND(bugprone-reserved-identifier)
