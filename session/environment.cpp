// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/environment.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

// Calls `use` with each part of a list that is separated by ':'; empty parts are skipped.
template <class Use>
void for_each_folder(std::string_view list, const Use& use) {
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0) use(std::string(list.substr(0, colon)));
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
}

S3Access s3_from(const EnvironmentVariables& environment, const std::optional<std::string>& home) {
  S3Access s3;
  s3.access_key = environment.find("AWS_ACCESS_KEY_ID").value_or("");
  s3.secret_key = environment.find("AWS_SECRET_ACCESS_KEY").value_or("");
  s3.session_token = environment.find("AWS_SESSION_TOKEN").value_or("");
  s3.region = environment.find_first({"AWS_REGION", "AWS_DEFAULT_REGION"}).value_or("");
  s3.profile = environment.find("AWS_PROFILE").value_or("");
  const auto file = [&](std::string_view variable, const char* usual) {
    return environment.find(variable).value_or(home ? *home + usual : std::string());
  };
  s3.credentials_file = file("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  s3.config_file = file("AWS_CONFIG_FILE", "/.aws/config");
  return s3;
}

DockerAccess docker_from(const EnvironmentVariables& environment, const std::optional<std::string>& home) {
  DockerAccess docker;
  if (home) docker.configuration_file = *home + "/.docker/config.json";
  if (const auto folder = environment.find("DOCKER_CONFIG"))
    docker.configuration_file = *folder + "/config.json";
  for_each_folder(environment.find("PATH").value_or(""),
                  [&](std::string folder) { docker.helper_folders.push_back(std::move(folder)); });
  docker.helper_environment = environment.lines();
  return docker;
}

}  // namespace

EnvironmentVariables::EnvironmentVariables(const char* const* variables) {
  for (; variables != nullptr && *variables != nullptr; ++variables)
    lines_.emplace_back(*variables);
}

std::optional<std::string> EnvironmentVariables::find(std::string_view name) const {
  for (const std::string& line : lines_) {
    if (line.size() <= name.size() + 1 || line[name.size()] != '=' || !line.starts_with(name)) continue;
    return line.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::string> EnvironmentVariables::find_first(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (auto value = find(name)) return value;
  return std::nullopt;
}

EnvironmentHome home_from(const EnvironmentVariables& environment) {
  if (auto home = environment.find("CUBINET_HOME")) return {*std::move(home), "CUBINET_HOME"};
  const auto cache = environment.find("XDG_CACHE_HOME");
  if (cache && cache->front() == '/') return {*cache + "/cubinet", "XDG_CACHE_HOME"};
  if (const auto home = environment.find("HOME")) return {*home + "/.cache/cubinet", "HOME"};
  return {};
}

Result<CompilePolicy> parse_compile_policy(std::string_view name, std::string_view text) {
  if (text == "on_miss") return CompilePolicy::on_miss;
  if (text == "never") return CompilePolicy::never;
  return Error{ErrorCode::invalid_argument, fmt::format("`{}` has the value '{}'", name, text),
               "set it to \"on_miss\" or \"never\""};
}

Result<LogFormat> parse_log_format(std::string_view name, std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return Error{ErrorCode::invalid_argument, fmt::format("`{}` has the value '{}'", name, text),
               "set it to \"text\" or \"json\""};
}

Result<LogFormat> log_format_from(const EnvironmentVariables& environment) {
  const auto format = environment.find("CUBINET_LOG_FORMAT");
  return format ? parse_log_format("CUBINET_LOG_FORMAT", *format) : LogFormat::text;
}

Result<SessionOptions> session_options_from(const EnvironmentVariables& environment) {
  SessionOptions options;
  options.home = home_from(environment).folder;
  options.home_required = false;
  if (const auto compile = environment.find("CUBINET_COMPILE")) {
    CUBINET_TRY_ASSIGN(options.compile, parse_compile_policy("CUBINET_COMPILE", *compile));
  }
  for_each_folder(environment.find("CUBINET_SITE_HOMES").value_or(""),
                  [&](std::string folder) { options.site_homes.push_back(std::move(folder)); });
  options.builtin_bundle = environment.find("CUBINET_BUILTIN_BUNDLE").value_or("");
  options.record_folder = environment.find("CUBINET_RECORD").value_or("");
  const auto runtime_folder = environment.find("XDG_RUNTIME_DIR");
  if (runtime_folder && runtime_folder->front() == '/') options.index_folder = *runtime_folder + "/cubinet";
  const auto cuda_home = environment.find("CUDA_HOME"), cuda_path = environment.find("CUDA_PATH");
  if (cuda_home) options.compiler.toolkit_roots.push_back(*cuda_home);
  if (cuda_path && cuda_path != cuda_home) options.compiler.toolkit_roots.push_back(*cuda_path);
  for_each_folder(environment.find("CUBINET_CUDA_WHEELS").value_or(""),
                  [&](std::string folder) { options.compiler.wheel_roots.push_back(std::move(folder)); });
  options.access.proxy =
      environment.find_first({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}).value_or("");
  options.access.no_proxy = environment.find_first({"no_proxy", "NO_PROXY"}).value_or("");
  const auto user_home = environment.find("HOME");
  options.access.s3 = s3_from(environment, user_home);
  options.access.docker = docker_from(environment, user_home);
  return options;
}

std::string record_variable(const std::string& folder) {
  return "CUBINET_RECORD=" + folder;
}

std::string triton_cache_variable(const std::string& folder) {
  return "CUBINET_TRITON_CACHE=" + folder;
}

}  // namespace cubinet
