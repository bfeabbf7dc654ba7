// SPDX-License-Identifier: Apache-2.0
#include "c_fixture.hpp"
#include "handles.hpp"

#include <vector>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("each option reaches the options of the session, and lists keep their order") {
  const CConfig config = make_config();
  const std::pair<const char*, const char*> options[] = {
      {"home", "/h"},
      {"home_access", "read_only"},
      {"home_required", "false"},
      {"site_home", "/s1"},
      {"site_home", "/s2"},
      {"builtin_bundle", "/builtin.bundle"},
      {"bundle", "/x.bundle"},
      {"bundle", "https://host/kernels#stable"},
      {"mirror", "https://mirror/kernels"},
      {"cache", "https://host/cache"},
      {"policy_file", "/p.json"},
      {"compile", "never"},
      {"target", "sm_90a"},
      {"forbidden_target", "sm_90"},
      {"nvrtc", "/libnvrtc.so"},
      {"toolkit", "/cuda"},
      {"cuda_wheels", "/wheels"},
      {"include_directory", "/include"},
      {"library_directory", "/lib"},
      {"compiler_flag", "-DN=4"},
      {"compiler_flag", "--std=c++20"},
      {"template_file", "/t.cu"},
      {"driver_library", "/libcuda.so"},
      {"module_limit", "1000000"},
      {"module_limit_excess", "warning"},
      {"record_folder", "/recordings"},
  };
  for (const auto& [name, value] : options)
    set(config, name, value);
  const SessionOptions& set_options = config->options;
  CHECK(set_options.home == "/h");
  CHECK(set_options.home_access == HomeOptions::Access::read_only);
  CHECK_FALSE(set_options.home_required);
  CHECK(set_options.site_homes == std::vector<std::string>{"/s1", "/s2"});
  CHECK(set_options.builtin_bundle == "/builtin.bundle");
  REQUIRE(set_options.bundles.size() == 2);
  CHECK(set_options.bundles[0].place == "/x.bundle");
  CHECK(set_options.bundles[1].mirrors == std::vector<std::string>{"https://mirror/kernels"});
  REQUIRE(set_options.caches.size() == 1);
  CHECK(set_options.caches[0].reference == "https://host/cache");
  CHECK(set_options.policy_file == "/p.json");
  CHECK(set_options.compile == CompilePolicy::never);
  CHECK(set_options.targets.pinned == SmTarget{9, 0, TargetKind::specific});
  CHECK(set_options.targets.forbidden == std::vector<SmTarget>{{9, 0, TargetKind::baseline}});
  CHECK(set_options.compiler.library == "/libnvrtc.so");
  CHECK(set_options.compiler.toolkit_roots == std::vector<std::string>{"/cuda"});
  CHECK(set_options.compiler.wheel_roots == std::vector<std::string>{"/wheels"});
  CHECK(set_options.compile_options.include_directories == std::vector<std::string>{"/include"});
  CHECK(set_options.compile_options.library_directories == std::vector<std::string>{"/lib"});
  CHECK(set_options.compile_options.flags == CompilerOptions{{"D:N", "4"}, {"std", "c++20"}});
  CHECK(set_options.template_files == std::vector<std::string>{"/t.cu"});
  CHECK(set_options.driver_library == "/libcuda.so");
  CHECK(set_options.module_limit.bytes == 1000000);
  CHECK(set_options.module_limit.excess == ModuleLimit::Excess::warning);
  CHECK(set_options.record_folder == "/recordings");
}

TEST_CASE("a home that is set is required, and one of the environment is not") {
  const char* const variables[] = {"CUBINET_HOME=/h", "CUBINET_COMPILE=never", nullptr};
  cubinet_config* made = nullptr;
  REQUIRE(cubinet_config_from_environment(CUBINET_ABI_VERSION, variables, &made, nullptr) == CUBINET_OK);
  const CConfig config(made);
  CHECK(config->options.home == "/h");
  CHECK_FALSE(config->options.home_required);
  CHECK(config->options.compile == CompilePolicy::never);
  set(config, "home", "/g");
  CHECK(config->options.home_required);
  const char* const wrong[] = {"CUBINET_COMPILE=no", nullptr};
  Failure failure;
  CHECK(cubinet_config_from_environment(CUBINET_ABI_VERSION, wrong, &made, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`CUBINET_COMPILE` has the value 'no'");
}

TEST_CASE("an unknown option and a wrong value are refused with what is allowed") {
  const CConfig config = make_config();
  Failure failure;
  const auto refused = [&](const char* name, const char* value) {
    REQUIRE(cubinet_config_set(config.get(), cubinet_str(name), cubinet_str(value), failure.out()) ==
            CUBINET_INVALID_ARGUMENT);
    return failure.message() + "; " + failure.remedy();
  };
  CHECK(refused("hom", "/h").find("there is no option `hom`; the options are home,") != std::string::npos);
  CHECK(refused("home_access", "no").find("\"read_write\" or \"read_only\"") != std::string::npos);
  CHECK(refused("compile", "always").find("\"on_miss\" or \"never\"") != std::string::npos);
  for (const char* bytes : {"", "-1", "1e9", "12 ", "99999999999999999999"})
    CHECK(refused("module_limit", bytes).find("a number of bytes") != std::string::npos);
  CHECK(refused("module_limit_excess", "no").find("\"error\" or \"warning\"") != std::string::npos);
  CHECK(refused("target", "sm_1").find("sm_1") != std::string::npos);
  CHECK(refused("mirror", "https://m").find("precedes every `bundle`") != std::string::npos);
  CHECK_FALSE(refused("compiler_flag", "text").empty());
  CHECK(cubinet_config_set(nullptr, cubinet_str("home"), cubinet_str("/h"), failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("variables of the environment mean what they mean to the command") {
  const char* const variables[] = {"CUBINET_HOME=/h", "CUBINET_SITE_HOMES=/a:/b", "CUDA_HOME=/cuda", nullptr};
  cubinet_config* made = nullptr;
  Failure failure;
  REQUIRE(cubinet_config_from_environment(CUBINET_ABI_VERSION, variables, &made, failure.out()) ==
          CUBINET_OK);
  const CConfig config(made);
  CHECK(config->options.home == "/h");
  CHECK(config->options.site_homes == std::vector<std::string>{"/a", "/b"});
  CHECK(config->options.compiler.toolkit_roots == std::vector<std::string>{"/cuda"});
  CHECK(cubinet_config_from_environment(CUBINET_ABI_VERSION, nullptr, &made, failure.out()) ==
        CUBINET_INVALID_ARGUMENT);
}

TEST_CASE("a receiver of log lines is called and dropped once, when nothing uses it any more") {
  struct Received {
    std::vector<std::string> lines;
    int drops = 0;
  } received;
  cubinet_log_callback callback = CUBINET_LOG_CALLBACK_INIT;
  callback.user = &received;
  callback.call = [](void* user, std::int32_t level, cubinet_string message) {
    CHECK(level == CUBINET_LOG_WARNING);
    static_cast<Received*>(user)->lines.push_back(text(message));
  };
  callback.drop = [](void* user) { ++static_cast<Received*>(user)->drops; };
  CConfig config = make_config();
  REQUIRE(cubinet_config_set_log(config.get(), &callback, nullptr) == CUBINET_OK);
  {
    const SessionOptions copy = config->options;
    config.reset();
    log(copy.log, LogLevel::warning, "a line");
    CHECK(received.drops == 0);
  }
  CHECK(received.drops == 1);
  CHECK(received.lines == std::vector<std::string>{"a line"});
}

TEST_CASE("log lines name the functions and options of the header") {
  std::vector<std::string> lines;
  cubinet_log_callback callback = CUBINET_LOG_CALLBACK_INIT;
  callback.user = &lines;
  callback.call = [](void* user, std::int32_t, cubinet_string message) {
    static_cast<std::vector<std::string>*>(user)->push_back(text(message));
  };
  for (const bool has_record : {false, true}) {
    if (has_record)
      callback.record = [](void* user, std::int32_t, cubinet_string message, cubinet_string) {
        static_cast<std::vector<std::string>*>(user)->push_back(text(message));
      };
    const CConfig config = make_config();
    REQUIRE(cubinet_config_set_log(config.get(), &callback, nullptr) == CUBINET_OK);
    log(config->options.log, LogLevel::warning,
        "beyond `RuntimeOptions::module_limit`; call `Runtime::trim()` before `Runtime::freeze()`");
  }
  const std::string expected =
      "beyond `module_limit`; call `cubinet_runtime_trim` before `cubinet_runtime_freeze`";
  CHECK(lines == std::vector<std::string>{expected, expected});
}

TEST_CASE("a receiver without a function is refused and not dropped") {
  const CConfig config = make_config();
  int drops = 0;
  cubinet_log_callback callback = CUBINET_LOG_CALLBACK_INIT;
  callback.user = &drops;
  callback.drop = [](void* user) { ++*static_cast<int*>(user); };
  Failure failure;
  CHECK(cubinet_config_set_log(config.get(), &callback, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`callback.call` and `callback.record` are NULL");
  CHECK(drops == 0);
}
