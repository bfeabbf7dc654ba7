// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// What lies on a server, a bundle or a cache, and how it is asked for. Nothing here is read from the
// environment.
struct ServerOptions {
  // "https://host/folder#channel", "s3://bucket/prefix#channel", "oci://host/name:channel", or with
  // "@sha256:" and the digest of a manifest in the channel's place; "file:///folder#channel".
  std::string reference;
  std::vector<std::string> mirrors = {};  // asked next, in this order; without a channel
  // Where what arrives is kept, so that of all processes of a node one fetches it; nullptr: nothing is.
  std::shared_ptr<Home> home = nullptr;
  std::optional<TrustPolicy> policy = {};  // of find_trust_policy(); nullopt: whoever made it is trusted
  bool offline = false;                    // what is kept answers, and no server is asked
  // Servers, as host or host:port, that may be asked without TLS.
  std::vector<std::string> plain_http = {};
  // PEM: authorities that count instead of the system's, and what is shown to a server that wants it.
  std::string authorities_file = {};
  std::string client_certificate = {};
  std::string client_key = {};
  std::string proxy = {};  // [scheme://]host:port
  // Of https and oci: a user with a password, or a token alone.
  std::string user = {};
  std::string password = {};
  std::string token = {};
  LogSink log = {};
};

// A store that asks nothing before its first question, and from then on fetches what is asked for: its root
// and pages once, of its kernels those that are loaded. A server that gives no answer costs a bounded time,
// is passed over for a minute and asked again (docs/distribution.md). For RuntimeOptions::stores, behind the
// home. invalid_argument for a reference that names no bundle.
Result<std::shared_ptr<Store>> open_server(const ServerOptions& options);

// A cache of builds that nodes compile for each other, in the layout of bazel-remote: its reference is a
// URL of https:// or s3://, its home notes what it was good for. Asked just before something is compiled, for
// that very build, which is then kept in the Runtime's home. With the file of a secret key (minisign's, and
// its password where it has one, which takes seconds and up to 1 GiB to be tried) what is compiled here is
// signed and written there behind the request; its destruction waits for that for 10 s at most. untrusted
// without a policy: it names the writers whose builds are taken. For RuntimeOptions::stores, behind the home.
Result<std::shared_ptr<Store>> open_cache(const ServerOptions& options,
                                          const std::string& secret_key_file = {},
                                          const std::string& secret_key_password = {});

}  // namespace cubinet
