// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A bundle that a session searches for kernels.
struct BundlePlace {
  std::string place;  // a file, or a server's reference as in ServerOptions::reference (it contains "://")
  std::vector<std::string> mirrors = {};  // of a server, contacted next
};

// A build cache that several nodes share (open_cache).
struct BuildCache {
  std::string reference;                 // a URL of https:// or s3://
  std::string secret_key_file = {};      // signs what is compiled here and uploads it; empty: read only
  std::string secret_key_password = {};  // of that file; empty: none
};

// The configuration of a Session: where kernels are searched and kept, who is trusted, how missing
// kernels are compiled. A plain value. The library never reads the environment: front ends pass
// theirs to session_options_from() (environment.hpp), which defines what each variable means.
struct SessionOptions {
  // The folder of kept builds, searched first; builds are kept in it. Empty: builds stay in memory.
  std::string home = {};
  // read_only: the home is searched and never created or written, except by content that servers
  // send.
  HomeOptions::Access home_access = HomeOptions::Access::read_write;
  // If true, Session::open fails when the home cannot be opened. If false, it logs a warning and
  // continues with what is left: a home that cannot be written is read, one that cannot be trusted
  // is not used.
  bool home_required = true;
  std::string index_folder = {};  // HomeOptions::index_folder

  std::vector<std::string> site_homes = {};  // homes that others maintain: read only, searched after the home
  std::vector<BundlePlace> bundles = {};     // searched next, in this order
  std::vector<BuildCache> caches = {};       // asked for one exact build just before it is compiled
  ServerAccess access = {};                  // of every server of `bundles` and `caches`
  // The policy file that says whose signatures count (docs/formats/policy.md). Empty: policy.json
  // in the home.
  std::string policy_file = {};

  CompilePolicy compile = CompilePolicy::on_miss;
  TargetPolicy targets = {};
  CompilerSearch compiler = {};
  CompileOptions compile_options = {};
  // Template sources, declarations or folders of them, which join the built-in templates.
  std::vector<std::string> template_files = {};

  std::optional<std::string> driver_library = {};    // RuntimeOptions::driver_library
  LogSink log = {};                                  // may be called from any thread
  Callback<void(const KernelEvent&)> observer = {};  // RuntimeOptions::observer
};

}  // namespace cubinet
