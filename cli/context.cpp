// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include "arguments.hpp"
#include "nvtx_ranges.hpp"
#include "server_arguments.hpp"

#include <cubinet/session/compilation.hpp>
#include <cubinet/session/password.hpp>
#include <cubinet/session/template_files.hpp>

#include <algorithm>

namespace cubinet::cli {
namespace {

namespace fs = std::filesystem;

Result<fs::path> absolute(const std::string& path) {
  std::error_code failure;
  fs::path result = fs::absolute(path, failure);
  if (failure) return io_error("cannot tell the working directory", failure.value());
  return result.lexically_normal();
}

// Returns `path` itself if it cannot be made absolute; opening it then fails.
std::string absolute_or_given(const std::string& path) {
  const auto result = absolute(path);
  return result ? result->string() : path;
}

}  // namespace

Result<void> Context::check_environment() const {
  if (!environment_options_) return environment_options_.error();
  return {};
}

Result<LogFormat> Context::log_format() const {
  if (!options_.log_format.empty()) return parse_log_format("--log-format", options_.log_format);
  return log_format_from(environment_);
}

Result<fs::path> Context::home() const {
  if (!options_.home.empty()) return absolute(options_.home);
  const EnvironmentHome named = home_from(environment_);
  if (!named.folder.empty()) return absolute(named.folder);
  return Error{ErrorCode::unavailable, "no home: neither CUBINET_HOME, XDG_CACHE_HOME nor HOME is set",
               "name a folder with --home"};
}

std::string Context::home_origin() const {
  return options_.home.empty() ? home_from(environment_).variable : "--home";
}

SessionOptions Context::session_options() const {
  SessionOptions options = environment_options_ ? *environment_options_ : SessionOptions();
  const auto folder = home();
  options.home = folder ? folder->string() : std::string();
  if (!options_.site_homes.empty()) options.site_homes = options_.site_homes;
  for (std::string& site_home : options.site_homes)
    site_home = absolute_or_given(site_home);
  options.policy_file = options_.policy;
  if (!options_.nvrtc.empty()) options.compiler.library = options_.nvrtc;
  options.log = console_.log_sink();
  options.ranges = nvtx_ranges();
  return options;
}

Result<SessionOptions> Context::session_options(const ServerArguments& servers) const {
  SessionOptions options = session_options();
  CUBINET_TRY_ASSIGN(options.access, server_access(*this, servers));
  return options;
}

Result<SessionOptions> Context::session_options(const Places& places) const {
  CUBINET_TRY_ASSIGN(SessionOptions options, session_options(places.server));
  for (const std::string& place : places.bundles)
    options.bundles.push_back({place});
  if (!places.cache_key.empty() && places.cache.empty())
    return Error{ErrorCode::invalid_argument, "--cache-key signs what is written to a --cache",
                 "name the cache too"};
  if (places.cache.empty()) return options;
  CachePlace& cache = options.caches.emplace_back(CachePlace{places.cache, places.cache_key});
  CUBINET_TRY_ASSIGN(const auto password, read_password(*files_, places.cache_key_password));
  if (password) cache.secret_key_password = password->text();
  return options;
}

std::string Context::given_places() const {
  std::string line;
  if (!options_.home.empty()) line += " --home " + shell_quoted(absolute_or_given(options_.home));
  for (const std::string& site_home : options_.site_homes)
    line += " --site-home " + shell_quoted(absolute_or_given(site_home));
  if (!options_.nvrtc.empty()) line += " --nvrtc " + shell_quoted(options_.nvrtc);
  if (!options_.policy.empty()) line += " --policy " + shell_quoted(options_.policy);
  return line;
}

unsigned Context::jobs() const {
  return options_.jobs == 0 ? available_jobs() : options_.jobs;
}

ProtectedFiles Context::protected_files(std::vector<std::string> inputs, const Places& places) const {
  std::copy_if(places.bundles.begin(), places.bundles.end(), std::back_inserter(inputs),
               [](const std::string& place) { return !names_server(place); });
  const SessionOptions options = session_options();
  ProtectedFiles kept{std::move(inputs), {}};
  kept.homes.assign(options.site_homes.begin(), options.site_homes.end());
  if (!options.home.empty()) kept.homes.emplace_back(options.home);
  return kept;
}

Result<TemplateCatalog> Context::catalog(const std::vector<std::string>& template_files) const {
  const SessionOptions options = session_options();
  return load_catalog(*files_, template_files, options.home, options.log);
}

Result<std::shared_ptr<Home>> Context::open_registry(HomeOptions::Access access) const {
  CUBINET_TRY(home());
  return open_home(session_options(), access);
}

Result<std::shared_ptr<Home>> Context::open_existing_registry() const {
  CUBINET_TRY_ASSIGN(const fs::path folder, home());
  CUBINET_TRY_ASSIGN(const auto status, files_->status(folder));
  if (!status) return std::shared_ptr<Home>();
  return open_registry(HomeOptions::Access::read_only);
}

Result<std::string> Context::place_of(const Home* home) const {
  if (home != nullptr) return home->description().place;
  CUBINET_TRY_ASSIGN(const fs::path folder, this->home());
  return folder.string();
}

Result<std::shared_ptr<Bundle>> Context::open_bundle(const std::string& path) const {
  return open_bundle_file(session_options(), path);
}

Result<std::shared_ptr<Session>> Context::session(const Places& places, HomeOptions::Access access) const {
  CUBINET_TRY_ASSIGN(SessionOptions options, session_options(places));
  options.home_access = access;
  warn_without_home();
  return Session::open(std::move(options));
}

std::string Context::policy_file() const {
  if (!options_.policy.empty()) return options_.policy;
  const auto folder = home();
  return folder ? (*folder / "policy.json").string() : "";
}

void Context::warn_without_home() const {
  if (const auto folder = home(); !folder)
    console_.message(LogLevel::warning,
                     "no home is used, kernels are kept in memory: " + folder.error().to_line());
}

Result<OpenedStores> Context::stores(const Places& places, HomeOptions::Access access) const {
  CUBINET_TRY_ASSIGN(SessionOptions options, session_options(places));
  options.home_access = access;
  warn_without_home();
  return open_stores(options);
}

Result<std::shared_ptr<Runtime>> Context::runtime(TemplateCatalog templates, CompileOptions compile_options,
                                                  Callback<void(const KernelEvent&)> observer,
                                                  const Places& places, const TargetPolicy& targets) const {
  CUBINET_TRY_ASSIGN(auto found, stores(places, HomeOptions::Access::read_write));
  SessionOptions options = session_options();
  options.targets = targets;
  options.compile_options = std::move(compile_options);
  options.observer = std::move(observer);
  return make_runtime(options, std::move(found), std::move(templates));
}

Result<std::shared_ptr<Runtime>> Context::runtime_to_ask(OpenedStores stores, TemplateCatalog templates,
                                                         const TargetPolicy& targets,
                                                         CompileOptions compile_options) const {
  SessionOptions options = session_options();
  options.targets = targets;
  options.compile_options = std::move(compile_options);
  return make_runtime(options, std::move(stores), std::move(templates));
}

ExitStatus Context::fail(const Error& error, std::optional<ExitStatus> status) const {
  if (console_.json()) {
    console_.document(error_document(error));
  } else {
    console_.error(error);
  }
  return status.value_or(exit_status_of(error.code));
}

ExitStatus Context::fail_with(const Error& error, nlohmann::json document) const {
  if (!console_.json()) return fail(error);
  document.update(error_document(error));
  console_.document(document);
  return exit_status_of(error.code);
}

}  // namespace cubinet::cli
