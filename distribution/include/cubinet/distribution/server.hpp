// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/build_cache.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The credentials for S3 servers. If access_key is empty, a profile of AWS's own files is used. A
// plain value.
struct S3Access {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
  std::string region = {};  // empty: the profile's, or us-east-1
  // The endpoint of an S3 store other than Amazon's: https://host[:port]. Buckets are then paths of
  // it.
  std::string endpoint = {};
  std::string credentials_file = {};  // usually ~/.aws/credentials; empty: none
  std::string config_file = {};       // usually ~/.aws/config; empty: none
  std::string profile = {};           // empty: default
};

// The registry credentials that docker and similar tools keep. A plain value.
struct DockerAccess {
  std::string configuration_file = {};  // usually ~/.docker/config.json; empty: none
  // Searched for docker-credential-<name>, like PATH.
  std::vector<std::string> helper_folders = {};
  std::vector<std::string> helper_environment = {};  // NAME=value, the environment of such a helper
};

// The transport and credential settings of every request to a server. A plain value: the library
// never reads them from the environment (SessionOptions::from_environment does that for its
// caller).
struct ServerAccess {
  bool offline = false;  // if true, only kept content is used and no server is contacted
  // The servers, as host or host:port, that may be contacted without TLS.
  std::vector<std::string> plain_http = {};
  // PEM files: the authorities to trust instead of the system's, and a client certificate with its
  // key. An empty client_key means that the certificate's file holds the key.
  std::string authorities_file = {};
  std::string client_certificate = {};
  std::string client_key = {};
  std::string proxy = {};     // [scheme://]host:port; empty: none
  std::string no_proxy = {};  // comma-separated host names that are contacted without the proxy
  // For https and oci: a user name with a password, or a bearer token. Both have priority over
  // docker's.
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
  // tried after the reference, in this order; references without a channel
  std::vector<std::string> mirrors = {};
  // The home that stores fetched content, so that one process of a node fetches it for all.
  // nullptr: it is not stored.
  std::shared_ptr<Home> home = nullptr;
  std::optional<TrustPolicy> policy = {};  // from find_trust_policy(); nullopt: any maker is trusted
  ServerAccess access = {};
  LogSink log = {};
};

// Returns a store that contacts the server at its first lookup. It fetches root and pages once, and
// only those kernels that are loaded. A server that does not answer costs a bounded time, is
// skipped for a minute and is then contacted again (docs/distribution.md). Add it to
// RuntimeOptions::stores after the home. Returns an error (invalid_argument) for a reference that
// names no bundle.
Result<std::shared_ptr<Store>> open_server(const ServerOptions& options);

// Returns a cache of builds that nodes compile for each other, in the layout of bazel-remote. Its
// reference is a URL of https:// or s3://; its home records its usage counters. The Runtime queries
// one exact build just before compiling it, and keeps a hit in its home. If a secret key file is
// given (minisign's format), builds compiled here are signed and uploaded in the background; the
// destructor waits at most 10 s for that. Decrypting a key with a password takes seconds and up to
// 1 GiB. Returns an error (untrusted) without a policy, which names the writers whose builds are
// accepted. Add it to RuntimeOptions::caches.
Result<std::shared_ptr<BuildCache>> open_cache(const ServerOptions& options,
                                               const std::string& secret_key_file = {},
                                               const std::string& secret_key_password = {});

}  // namespace cubinet
