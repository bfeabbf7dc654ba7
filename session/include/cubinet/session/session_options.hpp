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
  std::string place;                      // a file, or a ServerOptions::reference, which contains "://"
  std::vector<std::string> mirrors = {};  // of a server, contacted next
};

// A build cache that several nodes share (open_cache).
struct CachePlace {
  std::string reference;                 // a URL of https:// or s3://
  std::string secret_key_file = {};      // signs builds made here for upload; empty: read only
  std::string secret_key_password = {};  // of that file; empty: none
};

// The configuration of a Session: where kernels are searched and kept, who is trusted, and how
// missing kernels are compiled. A plain value. The library never reads the environment. Front ends
// pass theirs to session_options_from() (environment.hpp), which defines each variable.
struct SessionOptions {
  // The folder of kept builds. It is searched first, and new builds are kept in it. Empty: builds
  // stay in memory.
  std::string home = {};
  // read_only: the home is searched but not created or written. Only content that servers send is
  // still written to it.
  HomeOptions::Access home_access = HomeOptions::Access::read_write;
  // If true, Session::open fails when the home cannot be opened. If false, it logs a warning and
  // continues: a home that cannot be written is only read, and an untrusted home is not used.
  bool home_required = true;
  std::string index_folder = {};  // HomeOptions::index_folder

  std::vector<std::string> site_homes = {};  // homes of others: read only, searched after the home
  // The file of the bundle that was built with this library, whose place is `builtin:`
  // (kBuiltinPlace). It is searched after the homes and needs no signature: the library holds the
  // digest of its root, and Session::open refuses another file (untrusted). It is left out if the
  // policy refuses the place `builtin:`. Empty: not searched. A library that was built without a
  // bundle refuses every file (invalid_argument).
  std::string builtin_bundle = {};
  std::vector<BundlePlace> bundles = {};  // searched next, in this order
  std::vector<CachePlace> caches = {};    // queried for one exact build before compiling it
  ServerAccess access = {};               // of every server of `bundles` and `caches`
  // The policy file that says whose signatures count (docs/formats/policy.md). Empty: policy.json
  // in the home.
  std::string policy_file = {};

  CompilePolicy compile = CompilePolicy::on_miss;
  TargetPolicy targets = {};
  CompilerSearch compiler = {};
  CompileOptions compile_options = {};
  // Template sources, declarations or folders of these. They are added to the built-in templates.
  std::vector<std::string> template_files = {};

  ModuleLimit module_limit = {};                     // RuntimeOptions::module_limit
  std::optional<std::string> driver_library = {};    // RuntimeOptions::driver_library
  LogSink log = {};                                  // may be called from any thread
  Callback<void(const KernelEvent&)> observer = {};  // RuntimeOptions::observer
  RangeHook ranges = {};                             // RuntimeOptions::ranges
  bool record = false;                               // if true, Session::start_recording() is called
  // The folder of a file to which the Session appends what it records, line by line, so that a
  // process that is killed leaves its recording, too. Such a file is a workload of a name of its
  // own. Session::start_recording() is called. A file that cannot be written is a warning. Empty:
  // none.
  std::string record_folder = {};
  // If true, a compilation for a request is noted in the journal of a home that can be written
  // (session/journal.hpp).
  bool journal = true;
};

}  // namespace cubinet
