// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include "arguments.hpp"
#include "server_arguments.hpp"
#include "template_files.hpp"

#include <cubinet/jit/compiler.hpp>

#include <nlohmann/json.hpp>

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

}  // namespace

Result<fs::path> Context::home() const {
  if (!options_.home.empty()) return absolute(options_.home);
  if (environment_.cubinet_home) return absolute(*environment_.cubinet_home);
  // The XDG base directory specification has relative values ignored.
  if (environment_.xdg_cache_home && environment_.xdg_cache_home->front() == '/') {
    return fs::path(*environment_.xdg_cache_home) / "cubinet";
  }
  if (environment_.home) return absolute(*environment_.home + "/.cache/cubinet");
  return Error{ErrorCode::unavailable, "no home: neither CUBINET_HOME, XDG_CACHE_HOME nor HOME is set",
               "name a folder with --home"};
}

std::string Context::index_folder() const {
  // The specification has it on this machine, the user's alone, and relative values ignored.
  const bool named = environment_.xdg_runtime_dir && environment_.xdg_runtime_dir->front() == '/';
  return named ? *environment_.xdg_runtime_dir + "/cubinet" : "";
}

std::string Context::home_origin() const {
  if (!options_.home.empty()) return "--home";
  if (environment_.cubinet_home) return "CUBINET_HOME";
  if (environment_.xdg_cache_home && environment_.xdg_cache_home->front() == '/') return "XDG_CACHE_HOME";
  return environment_.home ? "HOME" : "";
}

std::string Context::given_places() const {
  std::string line;
  if (!options_.home.empty()) {
    const auto folder = home();
    line += " --home " + shell_quoted(folder ? folder->string() : options_.home);
  }
  if (!options_.nvrtc.empty()) line += " --nvrtc " + shell_quoted(options_.nvrtc);
  if (!options_.policy.empty()) line += " --policy " + shell_quoted(options_.policy);
  return line;
}

unsigned Context::jobs() const {
  return options_.jobs == 0 ? default_jobs() : options_.jobs;
}

ProtectedFiles Context::protected_files(std::vector<std::string> inputs, const Places& places) const {
  std::copy_if(places.bundles.begin(), places.bundles.end(), std::back_inserter(inputs),
               [](const std::string& place) { return !names_server(place); });
  ProtectedFiles kept{std::move(inputs), {}};
  if (auto folder = home()) kept.home = *std::move(folder);
  return kept;
}

CompilerSearch Context::compiler_search() const {
  CompilerSearch search;
  if (!options_.nvrtc.empty()) search.library = options_.nvrtc;
  if (const auto folder = home()) search.bundled_headers = (*folder / "headers").string();
  if (environment_.cuda_home) search.toolkit_roots.push_back(*environment_.cuda_home);
  if (environment_.cuda_path && environment_.cuda_path != environment_.cuda_home) {
    search.toolkit_roots.push_back(*environment_.cuda_path);
  }
  if (environment_.cuda_wheels) {
    std::string_view rest = *environment_.cuda_wheels;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) search.wheel_roots.emplace_back(std::string(rest.substr(0, colon)));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  return search;
}

Result<TemplateCatalog> Context::catalog(const std::vector<std::string>& template_files) const {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, TemplateCatalog::builtin());
  for (const std::string& name : template_files) {
    CUBINET_TRY_ASSIGN(const auto found, find_templates(*files_, name));
    for (const TemplateFile& file : found) {
      CUBINET_TRY_ASSIGN(auto kernel_template, file.read(*files_));
      CUBINET_TRY(catalog.add(std::move(kernel_template)));
    }
  }
  return catalog;
}

Result<std::shared_ptr<Home>> Context::open_registry(HomeOptions::Access access) const {
  HomeOptions options;
  CUBINET_TRY_ASSIGN(options.path, home());
  options.index_folder = index_folder();
  options.files = files_;
  options.log = console_.log_sink();
  options.access = access;
  return Home::open(options);
}

Result<std::shared_ptr<Bundle>> Context::open_bundle(const std::string& path) const {
  const auto folder = home();
  // Absolute, so that no file is called as a server is, and with its links.
  std::error_code failure;
  const fs::path place = fs::absolute(path, failure);
  if (failure) return io_error("cannot tell the working directory", failure.value());
  CUBINET_TRY_ASSIGN(auto policy, find_trust_policy(place.string(), folder ? folder->string() : "",
                                                    options_.policy, files_));
  return Bundle::open(path, files_, console_.log_sink(), std::move(policy));
}

std::string Context::policy_file() const {
  if (!options_.policy.empty()) return options_.policy;
  const auto folder = home();
  return folder ? (*folder / "policy.json").string() : "";
}

std::shared_ptr<Home> Context::home_to_read() const {
  auto opened = open_registry(HomeOptions::Access::read_only);
  if (opened) return *std::move(opened);
  const auto folder = home();
  std::error_code unknown;
  const bool never_made = folder && !fs::exists(*folder, unknown) && !unknown;
  console_.message(never_made ? LogLevel::info : LogLevel::warning,
                   "the home is not looked into: " + opened.error().to_line());
  return nullptr;
}

// A home that cannot be written is still read; one that cannot be trusted is not used at all.
std::shared_ptr<Home> Context::home_to_keep() const {
  auto opened = open_registry(HomeOptions::Access::read_write);
  if (opened) return *std::move(opened);
  const Error reason = opened.error();
  if (reason.code != ErrorCode::untrusted) {
    if (auto readable = open_registry(HomeOptions::Access::read_only)) {
      console_.message(LogLevel::warning,
                       "the home is read only, new kernels are kept in memory: " + reason.to_line());
      return *std::move(readable);
    }
  }
  console_.message(LogLevel::warning,
                   "the home is not used, kernels are kept in memory: " + reason.to_line());
  return nullptr;
}

Result<std::vector<std::shared_ptr<Store>>> Context::stores(const Places& places,
                                                            HomeOptions::Access access) const {
  std::vector<std::shared_ptr<Store>> stores;
  std::error_code unknown;
  const auto folder = this->home();
  const bool asks_servers = std::any_of(places.bundles.begin(), places.bundles.end(), names_server);
  const bool keeps =
      access == HomeOptions::Access::read_write || (asks_servers && folder && fs::exists(*folder, unknown));
  const auto home = keeps ? home_to_keep() : home_to_read();
  if (home != nullptr) stores.push_back(home);
  for (const std::string& place : places.bundles) {
    if (names_server(place)) {
      CUBINET_TRY_ASSIGN(stores.emplace_back(), open_server(*this, places.server, place, home));
    } else {
      CUBINET_TRY_ASSIGN(stores.emplace_back(), open_bundle(place));
    }
  }
  if (!places.cache_key.empty() && places.cache.empty())
    return Error{ErrorCode::invalid_argument, "--cache-key signs what is written to a --cache",
                 "name the cache too"};
  if (!places.cache.empty()) {
    CUBINET_TRY_ASSIGN(stores.emplace_back(), open_cache(*this, places, home));
  }
  return stores;
}

RuntimeOptions Context::runtime_options(std::vector<std::shared_ptr<Store>> stores, TemplateCatalog templates,
                                        CompileOptions compile_options, const TargetPolicy& targets) const {
  RuntimeOptions options;
  options.stores = std::move(stores);
  options.targets = targets;
  options.templates = std::move(templates);
  options.compiler = compiler_search();
  options.compile_options = std::move(compile_options);
  options.log = console_.log_sink();
  return options;
}

Result<std::shared_ptr<Runtime>> Context::runtime(TemplateCatalog templates, CompileOptions compile_options,
                                                  Callback<void(const KernelEvent&)> observer,
                                                  const Places& places, const TargetPolicy& targets) const {
  CUBINET_TRY_ASSIGN(auto found, stores(places, HomeOptions::Access::read_write));
  RuntimeOptions options =
      runtime_options(std::move(found), std::move(templates), std::move(compile_options), targets);
  options.observer = std::move(observer);
  return Runtime::create(std::move(options));
}

Result<std::shared_ptr<Runtime>> Context::runtime_to_ask(std::vector<std::shared_ptr<Store>> stores,
                                                         TemplateCatalog templates,
                                                         const TargetPolicy& targets,
                                                         CompileOptions compile_options) const {
  return Runtime::create(
      runtime_options(std::move(stores), std::move(templates), std::move(compile_options), targets));
}

ExitStatus Context::fail(const Error& error, std::optional<ExitStatus> status) const {
  if (console_.json()) {
    console_.document(error_document(error));
  } else {
    console_.error(error);
  }
  return status.value_or(exit_status_of(error.code));
}

Result<bool> is_kept(const Runtime& runtime, const FoundCubin& found) {
  if (found.source == KernelSource::registry) return true;
  for (const auto& store : runtime.stores()) {
    if (store->description().kind != StoreKind::home || !store->description().writable) continue;
    const auto home = std::dynamic_pointer_cast<WritableStore>(store);
    if (home == nullptr) continue;
    CUBINET_TRY(home->publish(found.cubin));  // one that is there and whole is left as it is
    return true;
  }
  return false;
}

nlohmann::json error_document(const Error& error) {
  nlohmann::json described = {
      {"code", to_string(error.code)}, {"message", error.message}, {"remedy", error.remedy}};
  if (!error.detail.empty()) described["detail"] = error.detail;
  return {{"error", std::move(described)}};
}

}  // namespace cubinet::cli
