// SPDX-License-Identifier: Apache-2.0
#include "c_terms.hpp"
#include "handles.hpp"
#include "structures.hpp"

#include <cubinet/session/environment.hpp>
#include <cubinet/session/log_json.hpp>
#include <cubinet/spec/compiler_options.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

namespace cubinet::c_api {
namespace {

Error wrong_value(std::string_view name, std::string_view value, std::string_view allowed) {
  return {ErrorCode::invalid_argument, fmt::format("the option `{}` has the value '{}'", name, value),
          fmt::format("set it to {}", allowed)};
}

Result<bool> choice_of(std::string_view name, std::string_view value, std::string_view yes,
                       std::string_view no) {
  if (value == yes) return true;
  if (value == no) return false;
  return wrong_value(name, value, fmt::format("\"{}\" or \"{}\"", yes, no));
}

// A home that the caller names is required. One that the environment names by default is not.
Result<void> set_home(SessionOptions& options, std::string value) {
  options.home = std::move(value);
  options.home_required = true;
  return {};
}

Result<void> set_home_access(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(const bool writes, choice_of("home_access", value, "read_write", "read_only"));
  options.home_access = writes ? HomeOptions::Access::read_write : HomeOptions::Access::read_only;
  return {};
}

Result<void> set_home_required(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(options.home_required, choice_of("home_required", value, "true", "false"));
  return {};
}

Result<void> add_mirror(SessionOptions& options, std::string value) {
  if (options.bundles.empty()) {
    return Error{ErrorCode::invalid_argument, "the option `mirror` precedes every `bundle`",
                 "add the server as `bundle` first"};
  }
  options.bundles.back().mirrors.push_back(std::move(value));
  return {};
}

Result<void> set_compile(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(options.compile, parse_compile_policy("compile", value));
  return {};
}

Result<void> set_target(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(options.targets.pinned, SmTarget::parse(value));
  return {};
}

Result<void> forbid_target(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(const SmTarget target, SmTarget::parse(value));
  options.targets.forbidden.push_back(target);
  return {};
}

Result<void> add_compiler_flag(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(const CompilerOptions flags, parse_compiler_flags(std::array{std::move(value)}));
  for (const auto& [name, flag] : flags)
    options.compile_options.flags[name] = flag;
  return {};
}

Result<void> set_module_limit(SessionOptions& options, std::string value) {
  const char* const end = value.data() + value.size();
  std::uint64_t bytes = 0;
  const auto [rest, status] = std::from_chars(value.data(), end, bytes);
  if (status != std::errc() || rest != end)
    return wrong_value("module_limit", value.substr(0, 80), "a number of bytes; 0: no limit");
  options.module_limit.bytes = bytes;
  return {};
}

Result<void> set_module_limit_excess(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(const bool is_error, choice_of("module_limit_excess", value, "error", "warning"));
  options.module_limit.excess = is_error ? ModuleLimit::Excess::error : ModuleLimit::Excess::warning;
  return {};
}

Result<void> set_journal(SessionOptions& options, std::string value) {
  CUBINET_TRY_ASSIGN(options.journal, choice_of("journal", value, "true", "false"));
  return {};
}

// An option of cubinet_config_set.
struct Option {
  std::string_view name;
  Result<void> (*set)(SessionOptions& options, std::string value);
};

// Returns a setter that assigns a text or appends it to a list.
template <auto Member>
Result<void> keep(SessionOptions& options, std::string value) {
  if constexpr (requires { (options.*Member).push_back(std::move(value)); } &&
                !std::is_same_v<std::decay_t<decltype(options.*Member)>, std::string>) {
    (options.*Member).push_back(std::move(value));
  } else {
    options.*Member = std::move(value);
  }
  return {};
}

constexpr Option kOptions[] = {
    {"home", set_home},
    {"home_access", set_home_access},
    {"home_required", set_home_required},
    {"site_home", keep<&SessionOptions::site_homes>},
    {"bundle",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.bundles.push_back({std::move(value)});
       return {};
     }},
    {"builtin_bundle", keep<&SessionOptions::builtin_bundle>},
    {"mirror", add_mirror},
    {"cache",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.caches.push_back({std::move(value)});
       return {};
     }},
    {"policy_file", keep<&SessionOptions::policy_file>},
    {"compile", set_compile},
    {"target", set_target},
    {"forbidden_target", forbid_target},
    {"nvrtc",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.compiler.library = std::move(value);
       return {};
     }},
    {"toolkit",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.compiler.toolkit_roots.push_back(std::move(value));
       return {};
     }},
    {"cuda_wheels",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.compiler.wheel_roots.push_back(std::move(value));
       return {};
     }},
    {"include_directory",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.compile_options.include_directories.push_back(std::move(value));
       return {};
     }},
    {"library_directory",
     [](SessionOptions& options, std::string value) -> Result<void> {
       options.compile_options.library_directories.push_back(std::move(value));
       return {};
     }},
    {"compiler_flag", add_compiler_flag},
    {"template_file", keep<&SessionOptions::template_files>},
    {"driver_library", keep<&SessionOptions::driver_library>},
    {"module_limit", set_module_limit},
    {"module_limit_excess", set_module_limit_excess},
    {"record_folder", keep<&SessionOptions::record_folder>},
    {"journal", set_journal},
};

Result<void> set_option(SessionOptions& options, std::string_view name, std::string value) {
  std::string known;
  for (const Option& option : kOptions) {
    if (option.name == name) return option.set(options, std::move(value));
    known += (known.empty() ? "" : ", ") + std::string(option.name);
  }
  return Error{ErrorCode::invalid_argument, fmt::format("there is no option `{}`", name.substr(0, 80)),
               "the options are " + known};
}

// Returns unsupported for a caller that was compiled for another major version.
Result<void> check_version(std::uint32_t version) {
  if (version >> 16 == CUBINET_ABI_VERSION >> 16) return {};
  return Error{
      ErrorCode::unsupported,
      fmt::format("the program was compiled for version {} of cubinet.h, and the library has version {}",
                  version >> 16, CUBINET_ABI_VERSION >> 16),
      "pass CUBINET_ABI_VERSION, and compile with the header of this library"};
}

Result<void> create(std::uint32_t abi_version, SessionOptions options, cubinet_config** config) {
  CUBINET_TRY(check_version(abi_version));
  CUBINET_TRY(check_pointer(config, "config"));
  *config = new cubinet_config{std::move(options)};
  return {};
}

// A callback of the caller. The last copy of what holds it drops it.
template <class Callback>
class Received {
 public:
  explicit Received(const Callback& callback) : callback_(callback) {}
  ~Received() {
    if (is_owner_ && callback_.drop != nullptr) callback_.drop(callback_.user);
  }
  // Makes this object drop the callback. Called when nothing can fail any more.
  void take_ownership() { is_owner_ = true; }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;

  const Callback& get() const { return callback_; }

 private:
  Callback callback_;
  bool is_owner_ = false;
};

void pass_on(const cubinet_log_callback& callback, const LogRecord& record) {
  const auto level = static_cast<std::int32_t>(record.level);
  const std::string message = in_c_terms(std::string(record.message));
  if (callback.record == nullptr) return callback.call(callback.user, level, to_c(message));
  callback.record(callback.user, level, to_c(message), to_c(log_fields(record)));
}

}  // namespace
}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_config_create(uint32_t abi_version, cubinet_config** config, cubinet_error** error) {
  return run_call(error, [&] { return create(abi_version, SessionOptions(), config); });
}

cubinet_status cubinet_config_from_environment(uint32_t abi_version, const char* const* variables,
                                               cubinet_config** config, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(variables, "variables"));
    CUBINET_TRY_ASSIGN(SessionOptions options, session_options_from(EnvironmentVariables(variables)));
    return create(abi_version, std::move(options), config);
  });
}

cubinet_status cubinet_config_set(cubinet_config* config, cubinet_string name, cubinet_string value,
                                  cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    CUBINET_TRY_ASSIGN(const std::string option, text_of(name, "name"));
    CUBINET_TRY_ASSIGN(std::string text, text_of(value, "value"));
    return set_option(config->options, option, std::move(text));
  });
}

cubinet_status cubinet_config_set_log(cubinet_config* config, const cubinet_log_callback* callback,
                                      cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    const cubinet_log_callback none = CUBINET_LOG_CALLBACK_INIT;
    CUBINET_TRY_ASSIGN(const cubinet_log_callback given, read_structure(callback, none, "callback"));
    if (given.call == nullptr && given.record == nullptr)
      return Error{ErrorCode::invalid_argument, "`callback.call` and `callback.record` are NULL",
                   "set one of them to a function"};
    const auto received = std::make_shared<Received<cubinet_log_callback>>(given);
    config->options.log = [received](const LogRecord& record) { pass_on(received->get(), record); };
    received->take_ownership();
    return {};
  });
}

cubinet_status cubinet_config_set_ranges(cubinet_config* config, const cubinet_range_callback* callback,
                                         cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(config, "config"));
    const cubinet_range_callback none = CUBINET_RANGE_CALLBACK_INIT;
    CUBINET_TRY_ASSIGN(const cubinet_range_callback given, read_structure(callback, none, "callback"));
    if (given.begin == nullptr || given.end == nullptr)
      return Error{ErrorCode::invalid_argument, "`callback.begin` or `callback.end` is NULL",
                   "set both to functions"};
    const auto received = std::make_shared<Received<cubinet_range_callback>>(given);
    config->options.ranges = {
        .begin = [received](const char* name) { received->get().begin(received->get().user, name); },
        .end = [received] { received->get().end(received->get().user); }};
    received->take_ownership();
    return {};
  });
}

void cubinet_config_release(cubinet_config* config) {
  delete config;
}
