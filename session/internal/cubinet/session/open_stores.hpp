// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/builtin_bundle.hpp>
#include <cubinet/session/session_options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns whether a place of SessionOptions::bundles is a server's reference and not a file.
bool names_server(std::string_view place);

// Opens the home with this access. Unlike open_stores, it fails if there is no home:
// invalid_argument if SessionOptions::home is empty, else the errors of Home::open.
Result<std::shared_ptr<Home>> open_home(const SessionOptions& options, HomeOptions::Access access);

// Opens one of SessionOptions::site_homes for reading.
Result<std::shared_ptr<Home>> open_site_home(const SessionOptions& options, const std::string& folder);

// Opens a bundle file under the policy that the options have for it.
Result<std::shared_ptr<Bundle>> open_bundle_file(const SessionOptions& options, const std::string& path);

// The stores of a session in the order in which they are searched, and the caches.
struct OpenedStores {
  std::vector<std::shared_ptr<Store>> stores = {};
  std::vector<std::shared_ptr<BuildCache>> caches = {};
  std::shared_ptr<Home> home = nullptr;  // one of `stores`; nullptr: none is used
};
// Opens all stores that the options name. Servers and caches are contacted at their first look-up.
// `builtin_root` is the digest that the builtin bundle must have.
Result<OpenedStores> open_stores(const SessionOptions& options,
                                 const std::optional<Sha256Digest>& builtin_root = builtin_bundle_root());

// Returns the search for NVRTC that the options specify. Bundled headers are unpacked in the home's
// folder unless the options name another.
CompilerSearch compiler_search(const SessionOptions& options);

// Returns a Runtime over these stores and caches with the compiler, policies, log and observer of
// the options.
Result<std::shared_ptr<Runtime>> make_runtime(const SessionOptions& options, OpenedStores opened,
                                              TemplateCatalog catalog);

}  // namespace cubinet
