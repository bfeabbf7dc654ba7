// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/server_policy.hpp>
#include <cubinet/trust/server_place.hpp>

#include <algorithm>
#include <filesystem>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

HomeOptions home_options(const SessionOptions& options, const std::string& folder,
                         HomeOptions::Access access) {
  HomeOptions home;
  home.path = folder;
  home.access = access;
  home.index_folder = options.index_folder;
  home.log = options.log;
  return home;
}

bool exists(const std::string& folder) {
  std::error_code unknown;
  return !folder.empty() && fs::exists(folder, unknown);
}

// Opens the home for reading. A home that does not exist yet counts as empty.
std::shared_ptr<Home> home_to_read(const SessionOptions& options) {
  auto opened = open_home(options, HomeOptions::Access::read_only);
  if (opened) return *std::move(opened);
  std::error_code unknown;
  const bool never_made = !options.home.empty() && !fs::exists(options.home, unknown) && !unknown;
  log(options.log, never_made ? LogLevel::info : LogLevel::warning,
      "the home is not searched: " + opened.error().to_line());
  return nullptr;
}

// Opens the home for writing. If it can only be read, the Runtime warns when it cannot keep a
// kernel.
std::shared_ptr<Home> home_to_keep(const SessionOptions& options) {
  auto opened = open_home(options, HomeOptions::Access::read_write);
  if (opened) return *std::move(opened);
  log(options.log, LogLevel::warning,
      "the home is not used, kernels are kept in memory: " + opened.error().to_line());
  return nullptr;
}

// Returns whether the home is written. Content that servers send is kept in a home that exists,
// even if the session itself only reads.
bool writes_home(const SessionOptions& options) {
  if (options.home_access == HomeOptions::Access::read_write) return true;
  const bool asks_servers = std::any_of(options.bundles.begin(), options.bundles.end(),
                                        [](const BundlePlace& each) { return names_server(each.place); });
  return asks_servers && exists(options.home);
}

Result<std::shared_ptr<Home>> open_first_home(const SessionOptions& options) {
  if (options.home.empty()) return std::shared_ptr<Home>();
  if (options.home_required) return open_home(options, options.home_access);
  return writes_home(options) ? home_to_keep(options) : home_to_read(options);
}

ServerOptions server_options(const SessionOptions& options, const std::string& reference,
                             std::shared_ptr<Home> home) {
  ServerOptions server;
  server.reference = reference;
  server.home = std::move(home);
  server.access = options.access;
  server.log = options.log;
  return server;
}

Result<std::shared_ptr<Store>> open_server_place(const SessionOptions& options, const BundlePlace& place,
                                                 const std::shared_ptr<Home>& home) {
  ServerOptions server = server_options(options, place.place, home);
  server.mirrors = place.mirrors;
  CUBINET_TRY_ASSIGN(server.policy, policy_of_place(options, place.place));
  return open_server(server);
}

Result<std::shared_ptr<Store>> open_file_place(const SessionOptions& options, const BundlePlace& place,
                                               const std::shared_ptr<Home>& /*home*/) {
  CUBINET_TRY_ASSIGN(std::shared_ptr<Store> bundle, open_bundle_file(options, place.place));
  return bundle;
}

// A kind of store that a place of SessionOptions::bundles may name.
struct PlaceKind {
  bool (*is_named_by)(std::string_view place);
  Result<std::shared_ptr<Store>> (*open)(const SessionOptions& options, const BundlePlace& place,
                                         const std::shared_ptr<Home>& home);
};

// The first kind that a place names opens it. A file's name may be any text, so it is the last.
constexpr PlaceKind kPlaceKinds[] = {{names_server, open_server_place},
                                     {[](std::string_view) { return true; }, open_file_place}};

Result<std::shared_ptr<Store>> open_place(const SessionOptions& options, const BundlePlace& place,
                                          const std::shared_ptr<Home>& home) {
  const auto* const kind = std::find_if(std::begin(kPlaceKinds), std::end(kPlaceKinds),
                                        [&](const PlaceKind& each) { return each.is_named_by(place.place); });
  return kind->open(options, place, home);
}

Result<std::shared_ptr<BuildCache>> open_build_cache(const SessionOptions& options, const CachePlace& cache,
                                                     const std::shared_ptr<Home>& home) {
  ServerOptions server = server_options(options, cache.reference, home);
  CUBINET_TRY_ASSIGN(server.policy, policy_of_place(options, cache.reference));
  return open_cache(server, cache.secret_key_file, cache.secret_key_password);
}

}  // namespace

bool names_server(std::string_view place) {
  if (is_url(place)) return true;
  if (exists(std::string(place))) return false;
  const auto reference = ServerReference::parse(place);
  std::error_code unknown;
  return reference && (!reference->channel.empty() || reference->digest) &&
         fs::is_directory(reference->path, unknown);
}

Result<std::shared_ptr<Home>> open_home(const SessionOptions& options, HomeOptions::Access access) {
  if (options.home.empty())
    return Error{ErrorCode::unavailable, "no folder is named for the home", "set `SessionOptions::home`"};
  return Home::open(home_options(options, options.home, access));
}

Result<std::shared_ptr<Home>> open_site_home(const SessionOptions& options, const std::string& folder) {
  auto opened = Home::open(home_options(options, folder, HomeOptions::Access::read_only));
  if (opened) return opened;
  Error error = std::move(opened).error();
  error.message = "a site home cannot be used: " + error.message;
  error.remedy = "name a home that can be read with `SessionOptions::site_homes`";
  return error;
}

Result<std::shared_ptr<Bundle>> open_bundle_file(const SessionOptions& options, const std::string& path) {
  // The policy is asked for the absolute path, so that a file is never taken for a server.
  CUBINET_TRY_ASSIGN(const fs::path place, absolute_path(path));
  CUBINET_TRY_ASSIGN(auto policy,
                     find_trust_policy(place.string(), options.home, options.policy_file, nullptr));
  return Bundle::open(path, posix_file_system(), options.log, std::move(policy));
}

Result<OpenedStores> open_stores(const SessionOptions& options,
                                 const std::optional<Sha256Digest>& builtin_root) {
  OpenedStores opened;
  CUBINET_TRY_ASSIGN(opened.home, open_first_home(options));
  if (opened.home != nullptr) opened.stores.push_back(opened.home);
  for (const std::string& site_home : options.site_homes) {
    CUBINET_TRY_ASSIGN(opened.stores.emplace_back(), open_site_home(options, site_home));
  }
  // Among equal builds the earlier store is read, and this file is on the machine. Bundles that the
  // user names precede it by a higher version.
  if (!options.builtin_bundle.empty()) {
    CUBINET_TRY_ASSIGN(auto builtin, open_builtin_bundle(options, builtin_root));
    if (builtin != nullptr) opened.stores.push_back(std::move(builtin));
  }
  for (const BundlePlace& place : options.bundles) {
    CUBINET_TRY_ASSIGN(opened.stores.emplace_back(), open_place(options, place, opened.home));
  }
  for (const CachePlace& cache : options.caches) {
    CUBINET_TRY_ASSIGN(opened.caches.emplace_back(), open_build_cache(options, cache, opened.home));
  }
  return opened;
}

CompilerSearch compiler_search(const SessionOptions& options) {
  CompilerSearch search = options.compiler;
  if (!search.bundled_headers && !options.home.empty())
    search.bundled_headers = (fs::path(options.home) / "headers").string();
  return search;
}

Result<std::shared_ptr<Runtime>> make_runtime(const SessionOptions& options, OpenedStores opened,
                                              TemplateCatalog catalog) {
  RuntimeOptions runtime;
  runtime.stores = std::move(opened.stores);
  runtime.caches = std::move(opened.caches);
  runtime.templates = std::move(catalog);
  runtime.compile = options.compile;
  runtime.module_limit = options.module_limit;
  runtime.targets = options.targets;
  runtime.compiler = compiler_search(options);
  runtime.compile_options = options.compile_options;
  runtime.driver_library = options.driver_library;
  runtime.log = options.log;
  runtime.observer = options.observer;
  runtime.ranges = options.ranges;
  runtime.explains_compilations = options.journal;
  return Runtime::create(std::move(runtime));
}

}  // namespace cubinet
