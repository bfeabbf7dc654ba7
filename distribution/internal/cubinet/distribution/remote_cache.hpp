// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/build_cache.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/connect.hpp>
#include <cubinet/transport/http_client.hpp>
#include <cubinet/trust/secret_key.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cubinet {

struct RemoteCacheOptions {
  // "https://host[:port]/base" or "s3://bucket/prefix", with ac/ and cas/ below it
  std::string reference;
  std::shared_ptr<HttpClient> client;
  // contains credentials; nullptr: the operating system's
  std::shared_ptr<FileSystem> files = nullptr;
  ServerCredentials credentials = {};
  std::optional<TrustPolicy> policy = {};
  std::optional<SecretKey> writer = {};  // signs what is written; nullopt: nothing is written
  std::shared_ptr<Home> home = nullptr;  // records the usage counters; nullptr: none
  // how long a server that gave no answer is skipped
  std::chrono::milliseconds rest = std::chrono::minutes(1);
  // The longest time that the destructor waits for pending uploads. The rest is dropped.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  LogSink log = {};
};

// Opens a cache of builds that nodes compile for each other, on an HTTP server in the layout of
// Bazel's remote cache (docs/formats/remote_cache.md). An entry is accepted if keys of the policy
// have signed its record, the record is of the requested build, and the image has its digest.
//
// Returns invalid_argument if the reference is not an HTTP server. Returns untrusted if no policy
// names the accepted writers: otherwise anyone with write access to the server could run code here.
Result<std::shared_ptr<BuildCache>> open_remote_cache(RemoteCacheOptions options);

// Returns the name of an entry below ac/.
Sha256Digest action_key(const KernelIdentity& identity, ImageKind kind, const BuildFingerprint& fingerprint);

}  // namespace cubinet
