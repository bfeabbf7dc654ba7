// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
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
  std::string reference;  // "https://host[:port]/base" or "s3://bucket/prefix": ac/ and cas/ lie below it
  std::shared_ptr<HttpClient> client;
  std::shared_ptr<FileSystem> files = nullptr;  // with credentials; nullptr: the operating system's
  ServerCredentials credentials = {};
  std::optional<TrustPolicy> policy = {};
  std::optional<SecretKey> writer = {};  // signs what is written; nullopt: nothing is
  std::shared_ptr<Home> home = nullptr;  // where what it was good for is noted; nullptr: nowhere
  std::chrono::milliseconds rest = std::chrono::minutes(1);  // of a server that gave no answer
  // Who closes the store waits so long for what is being sent; then the rest is dropped.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  LogSink log = {};
};

// Builds that nodes compile for each other, on a server over HTTP that keeps what Bazel's remote cache does
// (docs/formats/remote_cache.md). A store of the kind `cache`. An entry is taken where keys of the policy
// have signed its record, the record is of the very build that was asked for, and the image has its digest.
//
// invalid_argument for a reference that is no server over HTTP; untrusted where no policy names whose builds
// count: who may write to the server could run code here.
Result<std::shared_ptr<Store>> open_remote_cache(RemoteCacheOptions options);

// What an entry is called below ac/.
Sha256Digest action_key(const KernelIdentity& identity, ImageKind kind, const BuildFingerprint& fingerprint);

}  // namespace cubinet
