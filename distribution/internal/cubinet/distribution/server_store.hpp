// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace cubinet {

// Returns the default settings of on-demand requests. Their limits are short, because compiling a
// kernel is faster than a long wait.
HttpSettings on_demand(HttpSettings settings);

struct ServerStoreOptions {
  ServerReference reference;              // with a channel or a manifest
  std::shared_ptr<ContentServer> server;  // the server that it names, with its mirrors
  std::shared_ptr<HttpClient> client =
      // keeps its connections open during one lookup; may be null
      nullptr;
  std::shared_ptr<Home> home = nullptr;  // stores fetched content; nullptr: nothing is stored
  std::optional<TrustPolicy> policy = {};
  bool offline = false;
  // The time for which the manifest that a channel named is used without a new query.
  std::chrono::seconds fresh = std::chrono::hours(1);
  // The longest wait for another process's download.
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  // how long a server that gave no answer is skipped
  std::chrono::milliseconds rest = std::chrono::minutes(1);
  LogSink log = {};
  // stores the versions seen; nullptr: the operating system's
  std::shared_ptr<FileSystem> files = nullptr;
};

// Opens a bundle on a server as a store. Lookups read the root and the pages, and requested frames
// of the pack are fetched. The first lookup contacts the server. The policy is applied to the root
// before any part of the pack is fetched. The home stores root and pages, and images are published
// to it, so one process of a node fetches each of them for all.
//
// A server that gives no answer, or a bundle that the policy refuses, costs a bounded time once.
// For `rest`, every lookup then fails at once with unavailable or the reason of the refusal. Only
// one process of a node queries the server; the others wait for it and do not repeat the query. The
// store keeps using the bundle that it opened. Returns an error (invalid_argument) if the reference
// names neither channel nor manifest.
Result<std::shared_ptr<Store>> open_server_store(ServerStoreOptions options);
// Returns the bundle that a store is, or that a server store has opened. nullptr: there is none.
std::shared_ptr<Bundle> bundle_of(const std::shared_ptr<Store>& store);

}  // namespace cubinet
