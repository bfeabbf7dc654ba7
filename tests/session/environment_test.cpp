// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/environment.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

SessionOptions options_of(std::vector<std::string> lines) {
  auto options = session_options_from(EnvironmentVariables(std::move(lines)));
  REQUIRE(options);
  return *std::move(options);
}

}  // namespace

TEST_CASE("a variable that is set to nothing counts as unset, and the first of several that is set wins") {
  const char* const lines[] = {"A=", "AB=x", "B=y=z", nullptr};
  const EnvironmentVariables environment(lines);
  CHECK_FALSE(environment.find("A"));
  CHECK(environment.find("AB") == "x");
  CHECK(environment.find("B") == "y=z");
  CHECK_FALSE(environment.find(""));
  CHECK(environment.find_first({"A", "B", "AB"}) == "y=z");
  CHECK(environment.lines().size() == 3);
}

TEST_CASE("the home is the one that its variable names, else it is in the cache folder of the user") {
  const auto home = [](std::vector<std::string> lines) {
    return home_from(EnvironmentVariables(std::move(lines)));
  };
  CHECK(home({"CUBINET_HOME=/a", "HOME=/u"}).folder == "/a");
  CHECK(home({"CUBINET_HOME=/a", "HOME=/u"}).variable == "CUBINET_HOME");
  CHECK(home({"XDG_CACHE_HOME=/c", "HOME=/u"}).folder == "/c/cubinet");
  CHECK(home({"XDG_CACHE_HOME=c", "HOME=/u"}).folder == "/u/.cache/cubinet");
  CHECK(home({}).folder.empty());
}

TEST_CASE("site homes come from their variable, in its order") {
  const auto site_homes = [](std::vector<std::string> lines) {
    return options_of(std::move(lines)).site_homes;
  };
  CHECK(site_homes({"CUBINET_SITE_HOMES=/a::/b:"}) == std::vector<std::string>{"/a", "/b"});
  CHECK(site_homes({"CUBINET_SITE_HOMES="}).empty());
  CHECK(site_homes({}).empty());
}

TEST_CASE("the bundle of the library comes from its variable") {
  const auto builtin = [](std::vector<std::string> lines) {
    return options_of(std::move(lines)).builtin_bundle;
  };
  CHECK(builtin({"CUBINET_BUILTIN_BUNDLE=/b"}) == "/b");
  CHECK(builtin({"CUBINET_BUILTIN_BUNDLE="}).empty());
  CHECK(builtin({}).empty());
}

TEST_CASE("a variable forbids compiling, and a value that it does not take is an error that names it") {
  CHECK(options_of({"CUBINET_COMPILE=never"}).compile == CompilePolicy::never);
  CHECK(options_of({"CUBINET_COMPILE=on_miss"}).compile == CompilePolicy::on_miss);
  CHECK(options_of({"CUBINET_COMPILE="}).compile == CompilePolicy::on_miss);
  const auto wrong = session_options_from(EnvironmentVariables({"CUBINET_COMPILE=Never"}));
  REQUIRE(!wrong);
  CHECK(wrong.error().code == ErrorCode::invalid_argument);
  CHECK(wrong.error().message == "`CUBINET_COMPILE` has the value 'Never'");
}

TEST_CASE("the folder to record into comes from its variable, and is given to another process by it") {
  CHECK(options_of({record_variable("/r")}).record_folder == "/r");
  CHECK(options_of({}).record_folder.empty());
  CHECK(triton_cache_variable("/t") == "CUBINET_TRITON_CACHE=/t");
}

TEST_CASE("a home that the environment names is not required") {
  CHECK_FALSE(options_of({"CUBINET_HOME=/a"}).home_required);
}

TEST_CASE("an environment without variables leaves every option at its default") {
  const SessionOptions options = options_of({});
  CHECK(options.home.empty());
  CHECK(options.compile == CompilePolicy::on_miss);
  CHECK(options.index_folder.empty());
  CHECK(options.compiler.toolkit_roots.empty());
  CHECK(options.access.proxy.empty());
  CHECK(options.access.s3.credentials_file.empty());
  CHECK(options.access.docker.configuration_file.empty());
}

TEST_CASE("toolkits, wheels, the proxy and the index folder come from their variables") {
  const SessionOptions options =
      options_of({"CUDA_HOME=/a", "CUDA_PATH=/b", "CUBINET_CUDA_WHEELS=/w::/x", "HTTPS_PROXY=upper",
                  "https_proxy=lower", "no_proxy=internal", "XDG_RUNTIME_DIR=/run/user/1"});
  CHECK(options.compiler.toolkit_roots == std::vector<std::string>{"/a", "/b"});
  CHECK(options.compiler.wheel_roots == std::vector<std::string>{"/w", "/x"});
  CHECK(options.access.proxy == "lower");
  CHECK(options.access.no_proxy == "internal");
  CHECK(options.index_folder == "/run/user/1/cubinet");
  const auto once = options_of({"CUDA_HOME=/a", "CUDA_PATH=/a"});
  CHECK(once.compiler.toolkit_roots.size() == 1);
}

TEST_CASE("the credentials of S3 and of docker are found where their own tools keep them") {
  const SessionOptions usual = options_of({"HOME=/u", "PATH=/bin:/usr/bin"});
  CHECK(usual.access.s3.credentials_file == "/u/.aws/credentials");
  CHECK(usual.access.s3.config_file == "/u/.aws/config");
  CHECK(usual.access.docker.configuration_file == "/u/.docker/config.json");
  CHECK(usual.access.docker.helper_folders == std::vector<std::string>{"/bin", "/usr/bin"});
  CHECK(usual.access.docker.helper_environment.size() == 2);
  const SessionOptions named =
      options_of({"HOME=/u", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_DEFAULT_REGION=r",
                  "AWS_PROFILE=p", "AWS_CONFIG_FILE=/c", "DOCKER_CONFIG=/d"});
  CHECK(named.access.s3.access_key == "k");
  CHECK(named.access.s3.secret_key == "s");
  CHECK(named.access.s3.region == "r");
  CHECK(named.access.s3.profile == "p");
  CHECK(named.access.s3.config_file == "/c");
  CHECK(named.access.docker.configuration_file == "/d/config.json");
}

TEST_CASE("the format of the log is text unless its variable says JSON") {
  const auto format = [](std::vector<std::string> lines) {
    return log_format_from(EnvironmentVariables(std::move(lines)));
  };
  CHECK(*format({}) == LogFormat::text);
  CHECK(*format({"CUBINET_LOG_FORMAT="}) == LogFormat::text);
  CHECK(*format({"CUBINET_LOG_FORMAT=text"}) == LogFormat::text);
  CHECK(*format({"CUBINET_LOG_FORMAT=json"}) == LogFormat::json);
  const auto wrong = format({"CUBINET_LOG_FORMAT=xml"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == ErrorCode::invalid_argument);
}
