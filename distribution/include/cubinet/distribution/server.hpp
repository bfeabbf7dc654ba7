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

// The credentials for S3 servers. A profile of AWS's own files is used unless access_key is set. A plain
// value.
struct S3Access {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
  std::string region = {};  // empty: the profile's, or us-east-1
  // The endpoint of a store that is not Amazon's: https://host[:port]. Buckets are then paths of it.
  std::string endpoint = {};
  std::string credentials_file = {};  // usually ~/.aws/credentials; empty: none
  std::string config_file = {};       // usually ~/.aws/config; empty: none
  std::string profile = {};           // empty: default
};

// The registry credentials that docker and similar tools keep. A plain value.
struct DockerAccess {
  std::string configuration_file = {};               // usually ~/.docker/config.json; empty: none
  std::vector<std::string> helper_folders = {};      // searched for docker-credential-<name>, as PATH is
  std::vector<std::string> helper_environment = {};  // NAME=value, the environment of such a helper
};

// The transport and credential settings of every request to a server. A plain value: the library never reads
// them from the environment (SessionOptions::from_environment does that for its caller).
struct ServerAccess {
  bool offline = false;  // if true, only kept content is used and no server is contacted
  // The servers, as host or host:port, that may be contacted without TLS.
  std::vector<std::string> plain_http = {};
  // PEM files: the authorities to trust instead of the system's, and a client certificate with its key. An
  // empty client_key means that the certificate's file holds the key.
  std::string authorities_file = {};
  std::string client_certificate = {};
  std::string client_key = {};
  std::string proxy = {};     // [scheme://]host:port; empty: none
  std::string no_proxy = {};  // comma-separated host names that are contacted without the proxy
  // For https and oci: a user name with a password, or a bearer token. Both have priority over docker's.
  std::string user = {};
  std::string password = {};
  std::string token = {};
  DockerAccess docker = {};
  S3Access s3 = {};
};

// A bundle or a build cache on a server. A plain value.
struct ServerOptions {
  // "https://host/folder#channel", "s3://bucket/prefix#channel", "oci://host/name:channel",
  // "file:///folder#channel". "@sha256:" and the digest of a manifest may replace the channel.
  std::string reference;
  std::vector<std::string> mirrors = {};  // contacted next, in this order; references without a channel
  // The home that keeps fetched content, so that one process of a node fetches it for all. nullptr: not kept.
  std::shared_ptr<Home> home = nullptr;
  std::optional<TrustPolicy> policy = {};  // from find_trust_policy(); nullopt: any maker is trusted
  ServerAccess access = {};
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
